/* unwind/generation.h - the generation of the loaded code, as the record path reads it.
 *
 * unwind.h says what a generation is; generation.c says why rules of one are safe to keep.
 */
#ifndef UNWIND_GENERATION_H
#define UNWIND_GENERATION_H

#include <stdatomic.h>

#include "base/compiler.h"

/* Low half: the generation. High half: how many removals of code are under way. */
extern HIDDEN _Atomic uint64_t generation_state;

/* Once per process and again in a forked child, where removals that other threads had begun are
 * over. */
void generation_init(void);

/* The same as unwind_generation(), inline. Even: nothing changes. Odd: code is being removed. */
static ALWAYS_INLINE uint32_t generation_now(void)
{
	return (uint32_t)atomic_load_explicit(&generation_state, memory_order_acquire);
}

#endif
