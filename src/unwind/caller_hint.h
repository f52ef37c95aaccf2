/* unwind/caller_hint.h - hints: how far the caller's slot lies from the start's sp or fp, for starts
 * whose caller mostly is on the cached stack.
 *
 * Some programs have too many stacks for memos. Example: the destructors of a tree free thousands of
 * blocks from as many stacks, each of which comes back rarely, and memos of all of them do not fit
 * into the caches of the CPU. But nearly all starts of such a program are called by a frame that is
 * on the cached stack:
 *
 *	cached stack   main, drop_tree, drop_node, drop_node    entry[3] has the slot base + caller_at
 *	start          drop_leaf, called by entry[3]; base = sp (or fp) of the start
 *	stack          that of entry[3], whose id is known, and one frame more: drop_leaf
 *
 * caller_at follows from the rule of the start alone, so each start (pc) has one hint.
 *
 * Hints are used where walks are frequent (stack_cache::uses_selectors). A hint is learnt when a
 * walk finds the caller on the cached stack, and given up when the caller is missing too often.
 * Threads: that of the cache.
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

/* Whether there is a hint for this start. If so, call caller_hint_find() and look at no memo. */
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

/* The id of the stack of the start's caller, and the hash of that stack: the stack of the event has
 * one frame more, start->pc. 0: the caller is not where the hint says; call stack_cache_find(). Only
 * after caller_hint_exists() was true.
 *
 * Exact: a walk would begin with the rule that the hint was made of and would arrive at this entry,
 * and what is outside the entry still holds. (If the frame pointer points below the stack pointer,
 * an old entry there may compare equal; the test of slot against sp refuses it.) */
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

/* After a walk, before its frames become entries: makes a hint for the start if the walk found the
 * start's caller on the cached stack, and if the hint's place in hint[] is free or little used. */
void caller_hint_learn(struct stack_cache *c, const struct unwind_start *start);

/* Empties all hints: the generation of loaded code, and so the rules, have changed. */
void caller_hint_forget_all(struct stack_cache *c);

#endif
