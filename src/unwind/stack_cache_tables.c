/* unwind/stack_cache_tables.c - see stack_cache_tables.h. */
#include "unwind/stack_cache_tables.h"

static ALWAYS_INLINE uintptr_t extra_differs(const struct stack_cache_extra *x)
{
	return stack_word_load(x->addr) ^ x->value;
}

/* Four at a time, as in stack_cache_any_differs(), but there are no sentinels in front of
 * extras. */
bool stack_cache_extras_hold(const struct stack_cache *c, size_t n)
{
	size_t n_extra = c->cold[n - 1].n_extra;
	const struct stack_cache_extra *x = c->extra, *end = x + n_extra;
	uintptr_t differ = 0;

	for (; end - x >= 4; x += 4)
		differ |= extra_differs(x) | extra_differs(x + 1) | extra_differs(x + 2) |
			  extra_differs(x + 3);
	if (n_extra >= 4)
		x = end - 4;
	for (; x < end; x++)
		differ |= extra_differs(x);
	return !differ;
}

size_t stack_cache_count_extras_hold(const struct stack_cache *c, size_t n)
{
	size_t k = 0;

	for (size_t i = 0; i < c->cold[n - 1].n_extra; i++) {
		if (stack_word_load(c->extra[i].addr) == c->extra[i].value)
			continue;
		while (c->cold[k].n_extra <= i)
			k++;
		return k;
	}
	return n;
}

void stack_cache_check(const struct stack_cache *c)
{
	uint32_t n_extra = 0;

	ASSERT(c->n_here <= c->n && c->n <= c->capacity);
	for (size_t k = 0; k < c->n; k++) {
		uintptr_t slot = c->entry[k].slot;

		ASSERT(slot >= c->own_lo && slot < c->own_hi);
		ASSERT(k == 0 || slot < c->entry[k - 1].slot);
		ASSERT(c->stack_id[k].slot == (uint32_t)slot);
		ASSERT(c->cold[k].n_extra >= n_extra && c->cold[k].n_extra <= n_extra + 2);
		n_extra = c->cold[k].n_extra;
	}
	for (unsigned i = 1; c->capacity && i <= STACK_CACHE_SENTINELS; i++)
		ASSERT(!stack_cache_entry_differs(c->entry - i));
}
