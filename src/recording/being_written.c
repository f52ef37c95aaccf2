/* recording/being_written.c - see being_written.h.
 *
 * The kernel grants a read lease only while nobody has the file open for writing, in whatever
 * container. We give the lease back at once. If a writer comes in between, the kernel breaks the
 * lease with a signal that is ignored by default. (On overlay file systems a mapping alone does not
 * count; the recorder's writer has the file open as well.)
 */
#include "recording/being_written.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define QUIET_S 60 /* the system writes dirty pages back, and updates the time, well before that */

bool being_written(int fd)
{
	struct stat st;

	if (fcntl(fd, F_SETSIG, SIGURG) == 0 && fcntl(fd, F_SETLEASE, F_RDLCK) == 0) {
		fcntl(fd, F_SETLEASE, F_UNLCK);
		return false;
	}
	if (errno == EAGAIN || errno == EBUSY)
		return true;
	return fstat(fd, &st) < 0 || st.st_mtime + QUIET_S > time(NULL);
}
