/* record/fork.h - what must be done around a fork that we see.
 *
 * Most of it happens by itself: the child finds the recorder's memory wiped. What does not is a
 * fork from a signal handler that interrupted a hook of ours: in the child that hook goes on when
 * the handler returns, with pointers into wiped memory and to blocks that were not copied. For
 * that case the thread's state is kept across the fork and the blocks are replaced by scratch
 * memory, so that the interrupted hook writes its event nowhere and ends.
 */
#ifndef RECORD_FORK_H
#define RECORD_FORK_H

#include "record/thread.h"

struct fork_guard {
	bool was_in_hook;
};

void fork_prepare(struct fork_guard *guard);
void fork_in_parent(const struct fork_guard *guard);

/* In the child: repairs an interrupted hook, then starts the child's own recording or none. */
void fork_in_child(const struct fork_guard *guard);

#endif
