/* unwind/caller_hint.c - which starts are leaves: see stack_cache.h.
 *
 * The destructors of a tree give back thousands of blocks by as many stacks, each of which comes once
 * in a while. Memos of all of them have no room in the CPU's caches. But one such call follows
 * another in the same function or in its caller. So, where memos do not do, the cache is made to
 * hold everything but the start itself, and the start needs its caller there and no memo.
 *
 * Whether that is so is seen start by start: where the caller was on the cache when the start was
 * walked, it is tried, and given up when the caller is missing too often.
 */
#include "unwind/unwind_i.h"

#define FIRST_SCORE 32
#define MISS 3 /* so many finds make up for a caller that is missing */
#define REFUSED (-1024) /* walks that would have been finds before it is tried again */
#define TRY_LEAF 16 /* in one of so many walks the cache is made as for a leaf, to see */

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

/* As told by the frames of the last walk. False: its caller is found in another way, or is far. */
static bool hint_from_walk(const struct stack_cache *c, const struct unwind_start *start,
			   struct caller_hint *ret)
{
	const struct stack_cache_fresh *f = &c->fresh[0];
	struct caller_hint hint = {.pc = start->pc, .is_by_fp = f->uses_fp, .score = FIRST_SCORE};
	uintptr_t base = caller_hint_base(&hint, start);
	uintptr_t caller_slot = c->n_fresh > 1 ? c->fresh[1].at.slot : c->entry[c->n_kept - 1].slot;
	uintptr_t caller_at = caller_slot - base;
	uintptr_t fp_at = f->fp_at ? f->fp_at - base + sizeof(uintptr_t) : 0;

	if (f->cfa_at || caller_at > INT32_MAX || fp_at > caller_at || fp_at % sizeof(uintptr_t) ||
	    fp_at / sizeof(uintptr_t) > UINT16_MAX)
		return false;
	hint.caller_at = caller_at & INT32_MAX;
	hint.fp_at = (uint16_t)(fp_at / sizeof(uintptr_t));
	*ret = hint;
	return true;
}

bool caller_hint_learn(struct stack_cache *c, const struct unwind_start *start)
{
	struct caller_hint *hint = caller_hint_slot(c, start->pc);
	bool is_own = hint->pc == start->pc;
	bool is_used = hint->pc && hint->score >= 0;
	bool is_caller_on_path = c->n_fresh == 1 && c->n_kept > 0;
	struct caller_hint seen;

	if (c->n_fresh == 0 || c->n_fresh + c->n_kept < 2 || !hint_from_walk(c, start, &seen))
		return false;
	if (is_own && is_used)
		return true;
	if (!is_caller_on_path)
		return !is_own && c->n_walks % TRY_LEAF == 0;
	if (is_used && hint->score-- > 0)
		return false; /* another's place, which is of less use if this goes on */
	if (is_own && ++hint->score < 0)
		return false;
	c->n_hints += !is_used;
	*hint = seen;
	return true;
}

void caller_hint_forget_all(struct stack_cache *c)
{
	for (size_t i = 0; i < ARRAY_LEN(c->hint); i++)
		c->hint[i] = (struct caller_hint){0};
	c->n_hints = 0;
}
