/* unwind/walk_memo.h - memos: a memo keeps a walk and its result, so that an event with the same
 * stack needs no walk.
 *
 * A memo holds the start of a walk, the entry of the cached stack that the walk joined, and every
 * word that the walk read before the join. stack_cache_tables.h has an example. A new walk would do
 * the same if the start and these words are the same, and if the cached stack is unchanged up to the
 * slot of the join. Then the stack of the event is the stack that ends with the entry of the join,
 * plus the memo's frames inside it. If the stack at the join is also the one that the memo found
 * last, the memo has the id of the whole stack; otherwise join_cache.h may know the id.
 *
 * A hash of the start leads to the memo. A start has two memos side by side, the newer first:
 * walk_memo_slot() gives the first, and stack_cache_find() also looks at the second. When walks
 * become frequent (stack_cache::uses_selectors), many stacks have one start: then the words in which
 * these stacks were seen to differ (struct memo_selector) are part of the hash, and a start has one
 * memo for each value of these words. The hash only says where to look: a memo is used after
 * everything that it holds was compared.
 *
 * How an event uses these functions:
 *
 *   m = walk_memo_slot(ut, start);
 *   if (walk_memo_is_of(ut, m, start))
 *           id = walk_memo_joins_same(ut, m) ? walk_memo_stack_id(ut, m, start)
 *                                            : join_cache_find(ut, m, start->fp, &outer);
 */
#ifndef UNWIND_WALK_MEMO_H
#define UNWIND_WALK_MEMO_H

#include <string.h>

#include "arch/arch.h"
#include "unwind/generation.h"
#include "unwind/stack_cache_tables.h"

/* i-th word of a memo, and its offset. */
static ALWAYS_INLINE uintptr_t *walk_memo_word(struct walk_memo *m, unsigned i)
{
	return i < WALK_MEMO_NEAR ? &m->near[i] : &m->far[i - WALK_MEMO_NEAR];
}

static ALWAYS_INLINE uint16_t *walk_memo_word_at(struct walk_memo *m, unsigned i)
{
	return i < WALK_MEMO_NEAR_AT ? &m->near_at[i] : &m->far_at[i - WALK_MEMO_NEAR_AT];
}

/* The address of the word at this offset, for a start with this stack pointer. */
static ALWAYS_INLINE uintptr_t walk_memo_word_addr(uintptr_t sp, uint32_t at)
{
	return sp + (uintptr_t)ARCH_RA_OFFSET + at * sizeof(uintptr_t);
}

static ALWAYS_INLINE uint64_t walk_memo_hash(const struct unwind_start *start)
{
	return (start->pc ^ start->sp << 16) * 0x9e3779b97f4a7c15ull;
}

static ALWAYS_INLINE struct memo_selector *memo_selector_of(struct stack_cache *c,
							    const struct unwind_start *start)
{
	return &c->selector[walk_memo_hash(start) >> (64 - MEMO_SELECTOR_BITS)];
}

/* The word at an offset of a selector, or 0 if the word lies outside the stack: the offset may come
 * from another start with the same hash. */
static ALWAYS_INLINE uintptr_t memo_selector_word(const struct stack_cache *c, uintptr_t sp,
						  uint16_t at)
{
	uintptr_t addr = walk_memo_word_addr(sp, at) & -sizeof(uintptr_t);

	return addr - c->own_lo < c->own_hi - c->own_lo ? stack_word_load(addr) : 0;
}

static ALWAYS_INLINE uint64_t memo_selector_hash(struct stack_cache *c,
						 const struct unwind_start *start)
{
	const struct memo_selector *selector = memo_selector_of(c, start);

	return (memo_selector_word(c, start->sp, selector->at[0]) * 0xc4ceb9fe1a85ec53ull) ^
	       (memo_selector_word(c, start->sp, selector->at[1]) * 0x94d049bb133111ebull);
}

/* Where the (newer) memo of this start lies, if there is one. Never NULL. */
static ALWAYS_INLINE struct walk_memo *walk_memo_slot(struct unwind_thread *ut,
						      const struct unwind_start *start)
{
	struct stack_cache *c = stack_cache_of(ut);
	uint64_t hash = walk_memo_hash(start);
	struct walk_memo *m;

	if (unlikely(c->uses_selectors))
		hash += memo_selector_hash(c, start);
	m = &c->memo[hash >> (64 - WALK_MEMO_BITS)];
	FORGET_ORIGIN(m); /* keep m in one register, not the values that m was computed from */
	return m;
}

/* The second memo of a start, while selectors are not in use. */
static ALWAYS_INLINE struct walk_memo *walk_memo_beside(struct stack_cache *c,
							const struct walk_memo *m)
{
	return &c->memo[(size_t)(m - c->memo) ^ 1];
}

/* Whether the memo is of this start, of the present generation of code and of the present epoch of
 * ids. True also says that the start lies in the thread's own stack: only such starts get memos. */
static ALWAYS_INLINE bool walk_memo_is_of(struct unwind_thread *ut, const struct walk_memo *m,
					  const struct unwind_start *start)
{
	const struct stack_cache *c = stack_cache_of(ut);

	return likely(c->generation == generation_now() && m->pc == start->pc &&
		      m->sp == start->sp && m->epoch == c->epoch);
}

/* The id of the entry that a memo of the cache's epoch joins. */
static ALWAYS_INLINE struct stack_cache_id *walk_memo_join(const struct stack_cache *c,
							   const struct walk_memo *m)
{
	return &c->stack_id[(size_t)m->join_n - 1];
}

/* Whether a memo of the cache's epoch joins the stack that it joined before. If not,
 * join_cache_find() must be asked. */
static ALWAYS_INLINE bool walk_memo_joins_same(struct unwind_thread *ut, const struct walk_memo *m)
{
	const struct stack_cache_id *join = walk_memo_join(stack_cache_of(ut), m);

	return likely(!memcmp(join, &m->join, sizeof(*join)));
}

/* 0 if all words of the memo still hold, for a start with this stack pointer. */
static ALWAYS_INLINE uintptr_t walk_memo_differs(struct walk_memo *m, uintptr_t sp)
{
	uintptr_t differ = 0;

	for (unsigned i = 0; i < WALK_MEMO_NEAR; i++)
		differ |= stack_word_load(walk_memo_word_addr(sp, m->near_at[i])) ^ m->near[i];
	for (unsigned i = WALK_MEMO_NEAR; i < m->n_words; i++)
		differ |= stack_word_load(walk_memo_word_addr(sp, *walk_memo_word_at(m, i))) ^
			  *walk_memo_word(m, i);
	return differ;
}

/* Whether the frame pointers and the extras that a memo depends on hold; fp is that of the
 * start. */
bool walk_memo_rest_holds(const struct stack_cache *c, struct walk_memo *m, uintptr_t fp);

/* The id of the stack, if the walk would be the memo's and the cached stack holds up to the join;
 * else 0. Only after walk_memo_is_of() and walk_memo_joins_same() were true. */
static ALWAYS_INLINE uint32_t walk_memo_stack_id(struct unwind_thread *ut, struct walk_memo *m,
						 const struct unwind_start *start)
{
	struct stack_cache *c = stack_cache_of(ut);

	if (unlikely(walk_memo_differs(m, start->sp) |
		     stack_cache_any_differs(c->entry, m->join_n)) ||
	    (unlikely(m->has_rest) && !walk_memo_rest_holds(c, m, start->fp)))
		return 0;
	COUNT_ADD(c->n_known, 1);
	if (!m->id)
		__builtin_unreachable();
	return m->id;
}

/* For stack_cache_find(), which has compared the entries: whether the walk would be the memo's, if the
 * first n_valid entries of the cache hold. */
bool walk_memo_holds(struct unwind_thread *ut, struct walk_memo *m,
		     const struct unwind_start *start);

/* Keeps the last walk as a memo, with the id that the caller gave to its stack. The ids of
 * entry[0 .. n_kept) must have been filled in. Keeps nothing of a walk that joined no entry, or
 * that a caller hint will answer the next time. A walk that read too many words for a memo leaves
 * the slot empty: the memo that was there moves beside it, or is lost while selectors are used. */
void walk_memo_add(struct unwind_thread *ut, const struct unwind_start *start, uint32_t id);

/* The memo in c->memo_slot is not that of this stack. If it has the same start, and the two stacks
 * differ in a word of the memo, that word becomes a selector and c->memo_slot changes accordingly.
 * Once both selectors of a start are set, a new one replaces an old one in 1 of 64 walks only. If the
 * memo has another start, 1 of 512 walks empties the selectors of this start: they do not help. */
void memo_selector_learn(struct stack_cache *c, const struct unwind_start *start);

#endif
