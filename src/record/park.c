/* record/park.c - see park.h. */
#include "record/park.h"

#include <linux/stat.h>
#include <string.h>

#include "base/text.h"
#include "record/record.h"
#include "record/sys.h"
#include "record/writer.h"

#define STEP_NS (10 * NS_PER_MS)
#define MAX_STEPS 100

/* This thread and the writer, nobody else? */
static bool is_alone(void)
{
	struct statx st = {0};

	return !arch_syscall5(SYS_statx, AT_FDCWD, "/proc/self/task", 0, STATX_NLINK, &st) &&
	       st.stx_nlink == 2 + 2;
}

static void set_state(struct park *p, enum park_state state)
{
	atomic_store(&p->state, state);
	sys_futex_wake_all(&p->state);
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

static void close_held(struct park *p)
{
	for (uint32_t i = 0; i < p->n; i++) {
		if (p->fd[i] >= 0)
			sys_close(p->fd[i]);
	}
}

static bool hold_files(struct park *p, uint32_t tid)
{
	bool ok = true;

	for (uint32_t i = 0; i < p->n; i++) {
		p->fd[i] = above_standard(open_again(tid, *p->slot[i], p->flags[i]));
		ok = ok && p->fd[i] >= 0;
	}
	if (!ok)
		close_held(p);
	return ok;
}

static bool wait_for_list(struct recorder *rec)
{
	struct park *p = &rec->park;
	uint32_t wanted = PARK_WANTED;

	set_state(p, PARK_WANTED);
	record_wake_writer(rec);
	for (unsigned i = 0; i < MAX_STEPS && atomic_load(&p->state) == PARK_WANTED; i++)
		sys_futex_wait(&p->state, PARK_WANTED, STEP_NS);
	/* Either we take the wish back, or it has been heard. */
	return !atomic_compare_exchange_strong(&p->state, &wanted, PARK_NONE);
}

/* Out of the kernel's list of threads, not only at its end. A writer that hangs in the kernel (a
 * network file system) is not waited for. */
static void wait_until_gone(const struct recorder *rec, uint32_t tid)
{
	const struct timespec pause = {.tv_nsec = 20000};

	for (unsigned i = 0; i < 50000; i++) {
		if (arch_syscall3(SYS_tgkill, rec->pid, tid, 0) == SYS_ESRCH)
			return;
		arch_syscall2(SYS_nanosleep, &pause, NULL);
	}
}

void park_for_good(struct recorder *rec)
{
	set_state(&rec->park, PARK_GO);
	record_wake_writer(rec);
	wait_until_gone(rec, atomic_load(&rec->writer_tid));
}

bool park_begin(struct recorder *rec)
{
	struct park *p = &rec->park;
	uint32_t tid = atomic_load(&rec->writer_tid);

	if (!is_alone())
		return false;
	p->signal_mask = sys_block_signals();
	if (wait_for_list(rec)) {
		if (p->n <= PARK_MAX_FDS && hold_files(p, tid)) {
			set_state(p, PARK_GO);
			wait_until_gone(rec, tid);
			return true;
		}
		set_state(p, PARK_NONE);
	}
	sys_restore_signals(p->signal_mask);
	return false;
}

void park_end(struct recorder *rec)
{
	struct park *p = &rec->park;

	set_state(p, PARK_NONE); /* before it is started: PARK_GO would end it at once */
	if (!writer_restart(rec)) {
		/* What was published is in the file; nothing more can be moved there. */
		atomic_store(&record_mode, RECORD_OFF);
		atomic_fetch_add(&record_epoch, 1);
	}
	close_held(p); /* the writer has copies */
	sys_restore_signals(p->signal_mask);
}

void park_forget_files(struct park *p)
{
	p->n = 0;
	p->stderr_slot = NULL;
}

static bool get_id(int fd, uint64_t id[2])
{
	struct stat st = {0};
	bool ok = !arch_syscall2(SYS_fstat, fd, &st);

	id[0] = st.st_dev;
	id[1] = st.st_ino;
	return ok;
}

void park_add_file(struct park *p, int *slot)
{
	if (*slot == 2) {
		p->stderr_slot = get_id(2, p->stderr_id) ? slot : NULL;
		return;
	}
	if (*slot < 0)
		return;
	if (p->n < PARK_MAX_FDS) {
		p->slot[p->n] = slot;
		p->flags[p->n] = (int)arch_syscall3(SYS_fcntl, *slot, F_GETFL, 0) &
				 (O_ACCMODE | O_APPEND | O_NONBLOCK);
	}
	p->n++;
}

bool park_step_aside(struct park *p)
{
	set_state(p, PARK_LISTED);
	while (atomic_load(&p->state) == PARK_LISTED)
		sys_futex_wait(&p->state, PARK_LISTED, STEP_NS);
	return atomic_load(&p->state) == PARK_GO;
}

static bool is_kept(const struct park *p, unsigned number)
{
	uint64_t id[2];

	for (uint32_t i = 0; i < p->n; i++) {
		if (p->fd[i] == (int)number)
			return true;
	}
	return number == 2 && p->stderr_slot && get_id(2, id) &&
	       !memcmp(id, p->stderr_id, sizeof(id));
}

static void close_all(unsigned first, unsigned last)
{
	if (arch_syscall3(SYS_close_range, first, last, 0) != SYS_ENOSYS)
		return;
	for (unsigned fd = first; fd <= last && fd < 65536; fd++)
		sys_close((int)fd);
}

void park_take_over(struct park *p)
{
	unsigned first = 0, greatest = 2;

	for (uint32_t i = 0; i < p->n; i++) {
		if (p->fd[i] > (int)greatest)
			greatest = (unsigned)p->fd[i];
	}
	if (p->stderr_slot && !is_kept(p, 2))
		*p->stderr_slot = -1;
	for (unsigned fd = 0; fd <= greatest; fd++) {
		if (!is_kept(p, fd))
			continue;
		if (fd > first)
			close_all(first, fd - 1);
		first = fd + 1;
	}
	close_all(first, ~0u);
	for (uint32_t i = 0; i < p->n; i++)
		*p->slot[i] = p->fd[i];
}
