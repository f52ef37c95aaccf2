/* unwind/caller_hint.h - where the caller of a start lies, if it is mostly on the cached stack.
 *
 * A program that takes a large structure apart has too many stacks for memos: the destructors of a
 * tree give back thousands of blocks by as many stacks, each of which comes once in a while, and
 * memos of all of them do not fit into the caches of the CPU. But nearly all starts of such a
 * program are called by a frame that is on the cached stack. A hint says where this caller's slot
 * lies, from the rule of the start alone. The stack is then the caller's stack and one frame more.
 *
 * Hints are used where walks are frequent (stack_cache::uses_selectors). A hint is learnt when a
 * walk finds the caller on the cached stack, and given up when the caller is missing too often.
 */
#ifndef UNWIND_CALLER_HINT_H
#define UNWIND_CALLER_HINT_H

#include "unwind/generation.h"
#include "unwind/stack_cache_tables.h"

static ALWAYS_INLINE struct caller_hint *caller_hint_slot(struct stack_cache *c, uintptr_t pc)
{
	return &c->hint[pc * 0x9e3779b97f4a7c15ull >> (64 - CALLER_HINT_BITS)];
}

static ALWAYS_INLINE uintptr_t caller_hint_base(const struct caller_hint *hint,
						const struct unwind_start *start)
{
	return hint->is_by_fp ? start->fp : start->sp;
}

/* Whether there is a hint for this start: then caller_hint_find() is to be asked, and no memo. */
static ALWAYS_INLINE bool caller_hint_exists(struct unwind_thread *ut,
					     const struct unwind_start *start)
{
	struct stack_cache *c = stack_cache_of(ut);
	const struct caller_hint *hint = caller_hint_slot(c, start->pc);

	return unlikely(c->uses_selectors) && c->n_hints && hint->pc == start->pc &&
	       hint->score >= 0;
}

/* Part of caller_hint_find(), for callers that depend on a frame pointer or on extras. */
bool caller_hint_rest_holds(const struct stack_cache *c, const struct caller_hint *hint, uint32_t n,
			    uintptr_t base, uintptr_t fp);

/* The caller was not where the hint says: lowers the score, or gives the hint up. */
void caller_hint_missed(struct stack_cache *c, struct caller_hint *hint);

/* The id of the stack of the start's caller, and the hash of that stack; 0 when it is not known:
 * then stack_cache_find() must be asked. Only after caller_hint_exists() was true.
 *
 * Exact: a walk would begin with the rule that the hint was made of and would arrive at this entry,
 * and what is outside the entry still holds. (A stray frame pointer may lead below the stack
 * pointer, where words may hold that mean nothing: such a slot is refused.) */
static ALWAYS_INLINE uint32_t caller_hint_find(struct unwind_thread *ut,
					       const struct unwind_start *start, uint32_t *ret_hash)
{
	struct stack_cache *c = stack_cache_of(ut);
	struct caller_hint *hint = caller_hint_slot(c, start->pc);
	uintptr_t base = caller_hint_base(hint, start);
	uintptr_t slot = base + hint->caller_at;
	uint32_t n = *stack_cache_index_of(c, slot);
	const struct stack_cache_cold *cold = &c->cold[(ptrdiff_t)n - 1];

	if (unlikely(n == 0 || n > c->n || c->entry[n - 1].slot != slot || slot <= start->sp ||
		     c->generation != generation_now() || stack_cache_any_differs(c->entry, n)) ||
	    (unlikely(cold->n_extra || cold->uses_fp) &&
	     !caller_hint_rest_holds(c, hint, n, base, start->fp))) {
		caller_hint_missed(c, hint);
		return 0;
	}
	hint->score += hint->score < CALLER_HINT_MAX_SCORE;
	*ret_hash = cold->stack_hash;
	return c->stack_id[n - 1].id;
}

/* After a walk, before its frames go onto the cached stack: makes a hint for the start, if the walk
 * found its caller right there and the hint's slot is free or of less use. */
void caller_hint_learn(struct stack_cache *c, const struct unwind_start *start);

/* The rules have changed. */
void caller_hint_forget_all(struct stack_cache *c);

#endif
