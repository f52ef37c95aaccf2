/* A thread's stack cache with ids of its own, beside which every stack is walked in full. */
#ifndef STACK_CACHE_WORLD_H
#define STACK_CACHE_WORLD_H

#include "harness/test.h"
#include "unwind/stack_cache.h"
#include "unwind/unwind_thread_i.h"

/* What happened since stack_cache_world_start(): hooks, and how their stacks were found. */
extern struct stack_cache_world {
	struct unwind_thread *ut;
	uint64_t n_checked;
	uint64_t n_fast; /* by a memo as it was */
	uint64_t n_joined; /* by a memo that joined another stack ... */
	uint64_t n_rejoined; /* ... which such a suffix had joined before */
	uint64_t n_known; /* by whatever, without a walk */
	uint64_t n_hints; /* by their caller */
	uint64_t n_other; /* not simple */
	struct unwind_frames frames; /* of the last hook, by the walk in full */
} world;

/* At the beginning of each test. The path keeps what it has learnt. */
void stack_cache_world_start(void);

/* What a hook of the recorder does with the stack of its caller; fails the test when that is not
 * what a walk in full finds. */
void stack_cache_world_hook(void);

/* Ids begin anew, at another stack than before. */
void stack_cache_world_forget_ids(uint32_t n_left_out);

/* At the end of a function: its calls are none that the compiler may turn into jumps, and it is not
 * the same as another one with the same calls, which the compiler would make one of. */
#define STAY(name) __asm__ volatile("# " name)

#endif
