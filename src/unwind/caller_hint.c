/* unwind/caller_hint.c - which starts get a caller hint: see caller_hint.h.
 *
 * Whether a hint pays is seen start by start. A find raises the score of its hint by 1, a missing
 * caller lowers it by MISS. A hint whose score is used up is refused. It is tried again after 1024
 * walks that would have been finds, unless another start has taken its slot by then.
 */
#include "unwind/caller_hint.h"

#define FIRST_SCORE 32
#define MISS 3 /* so many finds make up for a caller that is missing */
#define REFUSED (-1024)

bool caller_hint_rest_holds(const struct stack_cache *c, const struct caller_hint *hint, uint32_t n,
			    uintptr_t base, uintptr_t fp)
{
	const struct stack_cache_cold *caller = &c->cold[n - 1];

	if (hint->fp_at)
		fp = stack_word_load(base + (hint->fp_at - 1u) * sizeof(uintptr_t));
	return (!caller->uses_fp || caller->fp == fp) &&
	       (!caller->n_extra || stack_cache_extras_hold(c, n));
}

void caller_hint_missed(struct stack_cache *c, struct caller_hint *hint)
{
	if (hint->score >= MISS) {
		hint->score -= MISS;
		return;
	}
	hint->score = REFUSED;
	c->n_hints--;
}

/* The hint that the last walk, of one fresh frame, gives. False when the caller is found in another
 * way than from the base, or is too far away. */
static bool hint_from_walk(const struct stack_cache *c, const struct unwind_start *start,
			   struct caller_hint *ret)
{
	const struct stack_cache_fresh *f = &c->fresh[0];
	struct caller_hint hint = {.pc = start->pc, .is_by_fp = f->uses_fp, .score = FIRST_SCORE};
	uintptr_t base = caller_hint_base(&hint, start);
	uintptr_t caller_at = c->entry[c->n_kept - 1].slot - base;
	uintptr_t fp_at = f->fp_at ? f->fp_at - base + sizeof(uintptr_t) : 0;

	if (f->cfa_at || f->is_guess || caller_at > INT32_MAX || fp_at > caller_at ||
	    fp_at % sizeof(uintptr_t) || fp_at / sizeof(uintptr_t) > UINT16_MAX)
		return false;
	hint.caller_at = caller_at & INT32_MAX;
	hint.fp_at = (uint16_t)(fp_at / sizeof(uintptr_t));
	*ret = hint;
	return true;
}

void caller_hint_learn(struct stack_cache *c, const struct unwind_start *start)
{
	struct caller_hint *hint = caller_hint_slot(c, start->pc);
	bool is_own = hint->pc == start->pc;
	bool is_used = hint->pc && hint->score >= 0;
	bool is_caller_cached = c->n_fresh == 1 && c->n_kept > 0;
	struct caller_hint seen;

	if (!is_caller_cached || (is_own && is_used) || !hint_from_walk(c, start, &seen))
		return;
	if (is_used && hint->score-- > 0)
		return; /* the slot of another start, which is of less use if this goes on */
	if (is_own && ++hint->score < 0)
		return;
	c->n_hints += !is_used;
	*hint = seen;
}

void caller_hint_forget_all(struct stack_cache *c)
{
	for (size_t i = 0; i < ARRAY_LEN(c->hint); i++)
		c->hint[i] = (struct caller_hint){0};
	c->n_hints = 0;
}
