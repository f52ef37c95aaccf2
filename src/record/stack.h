/* record/stack.h - the stack of an event: walk it, name it by an id of the lane. */
#ifndef RECORD_STACK_H
#define RECORD_STACK_H

#include "record/thread.h"

/* The rest of stack_capture(), for when unwind_path_quick() did not know the stack. */
uint32_t stack_capture_behind(struct lane *lane, const struct unwind_start *at);
uint32_t stack_audit_known(struct lane *lane, const struct unwind_start *at, uint32_t id);

/* Walks the stack from at, defines in the lane's block what is new of it, and returns its id.
 * 0 only when the stack is empty or there was no room to define it.
 *
 * Ids that the path knows are of its generation, which is the lane's: both change in
 * stack_capture_behind() only, together. */
static ALWAYS_INLINE uint32_t stack_capture(struct lane *lane, const struct unwind_start *at)
{
	uint32_t id = unwind_path_quick(lane_unwinder(lane),
					unwind_path_look_for(lane_unwinder(lane), at), at);

	if (CONFIG_AUDIT && id)
		return stack_audit_known(lane, at, id);
	return likely(id) ? id : stack_capture_behind(lane, at);
}

/* Forgets all ids: code was replaced, or a block with definitions was lost. Stacks are defined anew
 * from here on. */
void stack_forget(struct lane *lane);

#endif
