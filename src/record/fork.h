/* record/fork.h - what the hooks of fork() and the like do around the fork.
 *
 * Little: the child finds the recorder's memory wiped, and its next hook notices that it is a new
 * process, also after a fork that no hook saw (start_check_fork() in start.h). One case needs care: a
 * fork from a signal handler that interrupted a hook. In the child that hook goes on when the
 * handler returns, with pointers into wiped memory and to blocks that were not copied. For that
 * case the state of the thread is kept across the fork, and the blocks are replaced by scratch
 * memory. So the interrupted hook writes its event nowhere, and ends.
 */
#ifndef RECORD_FORK_H
#define RECORD_FORK_H

#include "record/thread.h"

struct fork_guard {
	bool was_in_hook; /* a hook was interrupted, and its state is kept */
};

/* Before the fork. */
void fork_prepare(struct fork_guard *guard);

/* After the fork, or after it failed, in the parent. */
void fork_in_parent(const struct fork_guard *guard);

/* In the child: repairs an interrupted hook; or starts the child's own recording, or none. */
void fork_in_child(const struct fork_guard *guard);

#endif
