/* record/writer_process.h - the process that the writer is: how it starts, and how it learns that
 * the target is gone.
 *
 * The writer shares the memory of the target and nothing else: clone(CLONE_VM) without
 * CLONE_THREAD, CLONE_FILES and CLONE_FS, with no signal at its end. So the target has no thread
 * more than bare: what counts threads, filters the system calls of all threads or is open to
 * processes with one thread only does what it would do bare. The writer goes on when the target has
 * ended, by whatever means, and finishes the file. Nobody waits for it:
 *
 *	target                       in between                   writer
 *	clone(CLONE_VFORK)    ---->  clone()               ---->  its parent is init, or what stands
 *	wait, by pid          <----  ends                         in for init
 *
 * Where orphans come back to the recorded program itself (it is process 1 of a container, or called
 * prctl(PR_SET_CHILD_SUBREAPER)), the writer stays the program's own child: without a signal at its
 * end it is invisible to wait(), and only wait(__WALL) sees it.
 *
 * The end of the target. A second thread of the writer's process sleeps on a pidfd of the target
 * and wakes the writer. Kernels before 5.3 have none; there the writer looks every 100 ms. An exec
 * takes the memory from the target: the writer compares from time to time.
 *
 * The end of the writer (somebody may kill it). The kernel clears recorder.writer_tid then; a
 * thread that needs the writer notices, and starts another (writer.h).
 */
#ifndef RECORD_WRITER_PROCESS_H
#define RECORD_WRITER_PROCESS_H

#include "record/record.h"

struct writer_process {
	struct recorder *rec;
	int (*main)(void *); /* what the writer does; returns when its process shall end */
	void *arg;
	uint8_t *stack; /* WRITER_PROCESS_STACKS_BYTES, zeroed */
	long error; /* -errno of the clone in between */
	int pidfd; /* of the target, in the writer's table; less than 0: none */
	_Atomic uint32_t is_target_gone;
	uint64_t next_look_ns; /* when to compare memories again */
	unsigned n_differences;
};

#define WRITER_PROCESS_STACKS_BYTES (104 * 1024)

/* Threads of the target: starts main(arg) as the writer. 0, or -errno. recorder.writer_tid is set
 * when the writer runs. */
long writer_process_start(struct writer_process *p);

/* Is the writer gone, which had started? Threads: any. */
bool writer_process_is_dead(const struct recorder *rec);

/* Writer, first of all: closes what was copied from the target's descriptor table, but stderr if it
 * is to be kept; begins to watch the target. */
void writer_process_settle(struct writer_process *p, bool keep_stderr);

/* Writer: will it outlive the target? In a container, whoever ends the first process ends all. */
bool writer_process_is_safe(void);

/* Writer: has the target ended, or become another program? is_exec_due: it is about to. */
bool writer_process_has_lost_target(struct writer_process *p, bool is_exec_due);

/* Writer: is the target stopped (SIGSTOP, Ctrl-Z)? Then nothing happens in it that needs writing. */
bool writer_process_target_is_stopped(const struct writer_process *p);

/* Writer: how the target ended, as wait() would say; less than 0: not known. */
int writer_process_target_status(const struct writer_process *p);

#endif
