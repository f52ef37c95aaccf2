/* record/writer_process.h - the process that the writer is: how the target starts it, and how it
 * learns that the target is gone.
 *
 * The writer shares the memory of the target and nothing else: clone(CLONE_VM) without
 * CLONE_THREAD, CLONE_FILES and CLONE_FS. So the target has no additional thread. Some programs
 * would notice one: they count their threads, put all of them under a filter of system calls, or
 * call what only a process with one thread may call (unshare()). When the target has ended, by
 * whatever means, the writer goes on and completes the file.
 *
 * The target must not find an additional child either. So a process in between starts the writer
 * and ends at once, and the writer is an orphan:
 *
 *	target                       in between                   writer
 *	clone()               ---->  clone()               ---->  its parent is init or a subreaper
 *	wait4() for its pid   <----  ends
 *
 * If orphans come back to the target itself (it is process 1 of a container, or has called
 * prctl(PR_SET_CHILD_SUBREAPER)), the writer stays a child of the target. It sends no signal when
 * it ends, so wait() does not return it; only wait4(__WALL) does.
 *
 * The target ends: a second thread of the writer's process waits for a pidfd of the target, sets
 * is_target_gone and wakes the writer. Kernels before 5.3 have no pidfd; there the writer looks once
 * a second.
 *
 * The target calls exec: from then on it has other memory than the writer, and no pidfd reports
 * that. The writer compares the two memories once a second, and more often while an exec is due: by
 * kcmp(), or where kcmp() is forbidden by the sizes in /proc/PID/statm, which must differ three
 * times in a row.
 *
 * The writer may be killed, too. The kernel then sets recorder.writer_tid to 0; the next thread of
 * the target that needs the writer sees that, and starts another (writer_ensure()).
 */
#ifndef RECORD_WRITER_PROCESS_H
#define RECORD_WRITER_PROCESS_H

#include "record/record.h"

/* The caller sets the first four and keeps the struct and the stacks as long as the writer lives;
 * the other fields are private. Another writer may use the same struct when the first is dead. */
struct writer_process {
	struct recorder *rec;
	int (*main)(void *); /* what the writer does; the process ends when it returns */
	void *arg;
	uint8_t *stack; /* WRITER_PROCESS_STACKS_BYTES for the three tasks, zeroed at first */
	long error; /* -errno of the clone() in the process in between */
	long pid; /* of the writer last started, as the target sees it */
	int pidfd; /* of the target, in the writer's table; less than 0: none */
	_Atomic uint32_t is_target_gone; /* or has called exec */
	uint64_t next_look_ns; /* when to compare the two memories again */
	unsigned n_differences; /* in a row, of the sizes of the two memories */
};

#define WRITER_PROCESS_STACKS_BYTES (104 * 1024)

/* Starts main(arg) as the writer. Threads: one of the target at a time. 0, or -errno. May return
 * before the writer runs; the writer sets recorder.writer_tid before it calls main(). */
long writer_process_start(struct writer_process *p);

/* Waits for the end of a writer that is a child of the target, a second at most, and reaps it, so that
 * nothing of the writer is left in /proc. Threads: one of the target. */
void writer_process_await_end(struct writer_process *p);

/* Has a writer been ready (recorder.ready), and is it gone now? Threads: any. */
bool writer_process_is_dead(const struct recorder *rec);

/* Writer, before anything else: closes the copies of the target's descriptors, except stderr if
 * keep_stderr is set (the log goes there), and begins to wait for the end of the target. */
void writer_process_settle(struct writer_process *p, bool keep_stderr);

/* Writer: can it be relied on to outlive the target? False in a PID namespace other than the
 * machine's own (a container): the end of process 1 ends all processes there. */
bool writer_process_is_safe(void);

/* Writer: has the target ended, or called exec? Once true, always true. is_exec_due: the target is
 * about to call exec; then each call that comes 1 ms or more after the last one compares. */
bool writer_process_has_lost_target(struct writer_process *p, bool is_exec_due);

/* Writer: is the target stopped (SIGSTOP, Ctrl-Z)? Then nothing happens in it that needs writing. */
bool writer_process_target_is_stopped(const struct writer_process *p);

/* Writer: how the target ended, in the form that wait() gives; less than 0: not known. May take
 * 20 ms. */
int writer_process_target_status(const struct writer_process *p);

#endif
