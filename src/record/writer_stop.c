/* record/writer_stop.c - see writer_stop.h. */
#include "record/writer_stop.h"

#include <linux/stat.h>

#include "record/sys.h"
#include "record/writer.h"

/* Are this thread and the writer all threads of the process? */
static bool is_alone(void)
{
	struct statx st = {0};

	return !arch_syscall5(SYS_statx, AT_FDCWD, "/proc/self/task", 0, STATX_NLINK, &st) &&
	       st.stx_nlink == 2 + 2;
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

void writer_stop_for_good(struct recorder *rec)
{
	fd_handover_go(&rec->handover);
	record_wake_writer(rec);
	wait_until_gone(rec, atomic_load(&rec->writer_tid));
}

bool writer_stop_begin(struct recorder *rec)
{
	struct fd_handover *h = &rec->handover;
	uint32_t tid = atomic_load(&rec->writer_tid);

	if (!is_alone())
		return false;
	rec->signal_mask = sys_block_signals();
	fd_handover_request(h);
	record_wake_writer(rec);
	if (fd_handover_wait_listed(h)) {
		if (fd_handover_hold(h, tid)) {
			fd_handover_go(h);
			wait_until_gone(rec, tid);
			return true;
		}
		fd_handover_cancel(h);
	}
	sys_restore_signals(rec->signal_mask);
	return false;
}

void writer_stop_end(struct recorder *rec)
{
	fd_handover_cancel(
		&rec->handover); /* first: FD_HANDOVER_GO would end the new writer at once */
	if (!writer_restart(rec)) {
		/* What was published is in the file; nothing more can be moved there. */
		atomic_store(&record_mode, RECORD_OFF);
		atomic_fetch_add(&record_epoch, 1);
	}
	fd_handover_close(&rec->handover); /* the writer has copies */
	sys_restore_signals(rec->signal_mask);
}
