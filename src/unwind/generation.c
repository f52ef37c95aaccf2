/* unwind/generation.c - which state of the loaded code a cached rule belongs to.
 *
 * Low half: the generation, odd while code is being removed. High half: how many removals are
 * under way. They change together in one word. Every beginning and every end of a removal makes a
 * new generation, also while others are under way: it then stays odd, and grows.
 *
 * Why caches are not used while it is odd, and are empty afterwards: thread 1 unmaps library A in
 * dlclose(), thread 2 maps B at the same place and runs it before thread 1 returns. To have got
 * A's place, thread 2 came after the unmapping, so it sees the odd number or a later one, never
 * the one that A's rules carry. Rules found meanwhile are not kept, since nobody can tell which
 * side of the change they are from.
 */
#include "unwind/generation.h"
#include "unwind/unwind.h"

#define ONE_CHANGE (1ull << 32)

HOT_DATA _Atomic uint64_t generation_state =
	2; /* 0 means "never" in caches, so it is no generation */

static uint64_t make_state(uint64_t n_changes, uint32_t generation)
{
	return n_changes << 32 | (generation ? generation : 2);
}

/* The even generation after this one. */
static uint32_t even_after(uint64_t old)
{
	return ((uint32_t)old | 1) + 1;
}

void unwind_code_changing(void)
{
	uint64_t old = atomic_load(&generation_state);
	uint64_t new;

	do
		new = make_state((old >> 32) + 1, ((uint32_t)old + 1) | 1);
	while (!atomic_compare_exchange_weak(&generation_state, &old, new));
}

void unwind_code_changed(void)
{
	uint64_t old = atomic_load(&generation_state);
	uint64_t new;

	do {
		if (old >> 32 > 1)
			new = make_state((old >> 32) - 1, (uint32_t)old + 2);
		else /* none at all: we are a forked child and generation_init() was here first */
			new = make_state(0, even_after(old));
	} while (!atomic_compare_exchange_weak(&generation_state, &old, new));
}

void generation_init(void)
{
	uint64_t old = atomic_load(&generation_state);

	/* Whoever was changing code is not in this process. */
	while (old >> 32 && !atomic_compare_exchange_weak(&generation_state, &old,
							  make_state(0, even_after(old))))
		;
}

uint32_t unwind_generation(void)
{
	return generation_now();
}
