/* recording/writer_wait.c - see writer_wait.h. */
#include "recording/writer_wait.h"

#include <errno.h>
#include <signal.h>
#include <sys/file.h>
#include <time.h>

#include "base/units.h"
#include "recording/header_page.h"

#define STEP_NS (5 * NS_PER_MS)
#define PATIENCE_NS (3 * NS_PER_S)
#define PULSES_OF_LIFE 3 /* a writer that records writes its status every 100 ms */

static bool is_locked(const struct file *f)
{
	if (flock(f->fd, LOCK_SH | LOCK_NB) < 0)
		return errno == EWOULDBLOCK;
	flock(f->fd, LOCK_UN);
	return false;
}

void writer_wait(struct file *f)
{
	const struct timespec step = {.tv_nsec = STEP_NS};
	struct header_page page;
	uint64_t first = 0;

	for (uint64_t waited_ns = 0; waited_ns < PATIENCE_NS && is_locked(f);
	     waited_ns += STEP_NS) {
		uint64_t sequence;

		if (header_page_read(f, &page, NULL) < 0)
			return;
		if (kill((pid_t)page.header.pid, 0) == 0 || errno != ESRCH)
			return;
		/* The process may be in another pid namespace, and not gone at all. */
		sequence = page.has_status ? page.status.sequence : 0;
		if (waited_ns == 0)
			first = sequence;
		if (sequence >= first + PULSES_OF_LIFE)
			break;
		nanosleep(&step, NULL);
	}
	file_update_size(f, NULL);
}
