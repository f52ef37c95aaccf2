/* record/fd_handover.c - see fd_handover.h. */
#include "record/fd_handover.h"

#include <string.h>

#include "base/text.h"
#include "record/sys.h"

#define STEP_NS (10 * NS_PER_MS)
#define MAX_STEPS 100

static void set_state(struct fd_handover *h, enum fd_handover_state state)
{
	atomic_store(&h->state, state);
	sys_futex_wake_all(&h->state);
}

static int open_again(uint32_t tid, int number, int flags)
{
	char path[64];
	struct text text = text_make(path, sizeof(path));

	text_put(&text, "/proc/self/task/");
	text_put_u64(&text, tid);
	text_put(&text, "/fd/");
	text_put_u64(&text, (uint64_t)number);
	return (int)sys_open(path, flags, 0);
}

/* Where descriptors 0 to 2 are closed, they stay so: the writer's stderr is not to be mixed up. */
static int above_standard(int fd)
{
	long higher = fd;

	if (fd >= 0 && fd <= 2) {
		higher = arch_syscall3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 3);
		sys_close(fd);
	}
	return (int)higher;
}

void fd_handover_close(struct fd_handover *h)
{
	for (uint32_t i = 0; i < h->n; i++) {
		if (h->fd[i] >= 0)
			sys_close(h->fd[i]);
	}
}

bool fd_handover_hold(struct fd_handover *h, uint32_t writer_tid)
{
	bool ok = true;

	if (h->n > FD_HANDOVER_MAX)
		return false;
	for (uint32_t i = 0; i < h->n; i++) {
		h->fd[i] = above_standard(open_again(writer_tid, *h->number[i], h->flags[i]));
		ok = ok && h->fd[i] >= 0;
	}
	if (!ok)
		fd_handover_close(h);
	return ok;
}

void fd_handover_request(struct fd_handover *h)
{
	set_state(h, FD_HANDOVER_WANTED);
}

bool fd_handover_wait_listed(struct fd_handover *h)
{
	uint32_t wanted = FD_HANDOVER_WANTED;

	for (unsigned i = 0; i < MAX_STEPS && atomic_load(&h->state) == FD_HANDOVER_WANTED; i++)
		sys_futex_wait(&h->state, FD_HANDOVER_WANTED, STEP_NS);
	/* Either the request is taken back here, or the writer has seen it. */
	return !atomic_compare_exchange_strong(&h->state, &wanted, FD_HANDOVER_NONE);
}

void fd_handover_go(struct fd_handover *h)
{
	set_state(h, FD_HANDOVER_GO);
}

void fd_handover_cancel(struct fd_handover *h)
{
	set_state(h, FD_HANDOVER_NONE);
}

void fd_handover_clear(struct fd_handover *h)
{
	h->n = 0;
	h->stderr_number = NULL;
}

static bool get_id(int fd, uint64_t id[2])
{
	struct stat st = {0};
	bool ok = !arch_syscall2(SYS_fstat, fd, &st);

	id[0] = st.st_dev;
	id[1] = st.st_ino;
	return ok;
}

void fd_handover_add(struct fd_handover *h, int *number)
{
	if (*number == 2) {
		h->stderr_number = get_id(2, h->stderr_id) ? number : NULL;
		return;
	}
	if (*number < 0)
		return;
	if (h->n < FD_HANDOVER_MAX) {
		h->number[h->n] = number;
		h->flags[h->n] = (int)arch_syscall3(SYS_fcntl, *number, F_GETFL, 0) &
				 (O_ACCMODE | O_APPEND | O_NONBLOCK);
	}
	h->n++;
}

bool fd_handover_offer(struct fd_handover *h)
{
	set_state(h, FD_HANDOVER_LISTED);
	while (atomic_load(&h->state) == FD_HANDOVER_LISTED)
		sys_futex_wait(&h->state, FD_HANDOVER_LISTED, STEP_NS);
	return atomic_load(&h->state) == FD_HANDOVER_GO;
}

static bool is_kept(const struct fd_handover *h, unsigned number)
{
	uint64_t id[2];

	for (uint32_t i = 0; i < h->n; i++) {
		if (h->fd[i] == (int)number)
			return true;
	}
	return number == 2 && h->stderr_number && get_id(2, id) &&
	       !memcmp(id, h->stderr_id, sizeof(id));
}

static void close_all(unsigned first, unsigned last)
{
	if (arch_syscall3(SYS_close_range, first, last, 0) != SYS_ENOSYS)
		return;
	for (unsigned fd = first; fd <= last && fd < 65536; fd++)
		sys_close((int)fd);
}

void fd_handover_adopt(struct fd_handover *h)
{
	unsigned first = 0, greatest = 2;

	for (uint32_t i = 0; i < h->n; i++) {
		if (h->fd[i] > (int)greatest)
			greatest = (unsigned)h->fd[i];
	}
	if (h->stderr_number && !is_kept(h, 2))
		*h->stderr_number = -1;
	for (unsigned fd = 0; fd <= greatest; fd++) {
		if (!is_kept(h, fd))
			continue;
		if (fd > first)
			close_all(first, fd - 1);
		first = fd + 1;
	}
	close_all(first, ~0u);
	for (uint32_t i = 0; i < h->n; i++)
		*h->number[i] = h->fd[i];
}
