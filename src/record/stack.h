/* record/stack.h - the stack of an event: walk it, name it by an id of the lane. */
#ifndef RECORD_STACK_H
#define RECORD_STACK_H

#include "record/thread.h"

/* Walks the stack from at, defines in the lane's block what is new of it, and returns its id.
 * 0 only when the stack is empty or there was no room to define it. */
uint32_t stack_capture(struct lane *lane, const struct unwind_start *at);

/* Forgets all ids: code was replaced, or a block with definitions was lost. Stacks are defined anew
 * from here on. */
void stack_forget(struct lane *lane);

#endif
