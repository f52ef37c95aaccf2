/* unwind/generation.c - which state of the loaded code a cached rule belongs to.
 *
 * Low half of generation_state: the generation, odd while code is being removed. High half: how
 * many removals are under way. Both change together in one word. Every beginning and every end of a
 * removal makes a new generation. While other removals are under way the generation stays odd.
 *
 * Why caches are not used while the generation is odd, and are empty afterwards:
 *   1. Thread 1 unmaps library A in dlclose(). Thread 2 maps library B at the same address and runs
 *      it before thread 1 returns.
 *   2. Thread 2 got A's addresses, so it came after the unmapping. So thread 2 sees the odd
 *      generation or a later one, never the generation that the rules of A carry.
 *   3. Rules found while the generation is odd are not kept: nobody knows on which side of the
 *      change they were found.
 */
#include "unwind/generation.h"
#include "unwind/unwind.h"

#define ONE_CHANGE (1ull << 32)

/* Begins at 2: in caches 0 means "never". */
HOT_DATA _Atomic uint64_t generation_state = 2;

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
