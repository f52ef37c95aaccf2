/* recording/being_written.c - see being_written.h.
 *
 * A read lease can be had only while nobody has the file open for writing, in whatever container. It
 * is given back at once. Should a writer come in between, the signal that breaks the lease is one
 * that is ignored unless somebody handles it. (On overlay file systems a mapping alone does not
 * count; the recorder's writer has the file open as well.)
 */
#include "recording/being_written.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define QUIET_S 60 /* the system writes dirty pages back, and notes the time, well before that */

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
