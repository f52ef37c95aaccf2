/* unwind/stack_cache.h - the validated path and its memos, and the question that every event asks of them.
 *
 * unwind.h says why a path is exact. A memo is a branch of it that was seen before: a start, the frame
 * of the cache that its walk joined, and every word that it read on the way there. Where the start
 * and these words are the same, and there is an entry of the cache that holds where it joined, the
 * walk would be the same up to there: the stack is the one that ends with that entry, and the
 * memo's frames. Mostly it also is the stack that the memo saw last, so that its id is at hand;
 * else it mostly is one that such a branch made of that entry's stack before (join_cache.c).
 * Nearly every event is told like this, hence inline: one place to look at, found from the
 * start alone, and loads that do not wait for one another.
 *
 * A program that takes apart a large structure has too many branches for that, but nearly all of its
 * starts are called by a frame that is on the cache. Such starts are leaves: their caller's place is
 * known from the rule alone, and the stack is that of the caller and one frame more. Everything else is
 * in stack_cache.c, join_cache.c and caller_hint.c.
 */
#ifndef UNWIND_STACK_CACHE_H
#define UNWIND_STACK_CACHE_H

#include <stdatomic.h>
#include <string.h>

#include "arch/arch.h"
#include "unwind/stack_cache_tables.h"
#include "unwind/stack_word.h"

/* Low half: unwind_generation(). See generation.c. */
extern HIDDEN _Atomic uint64_t generation_state;

static ALWAYS_INLINE uint32_t generation_now(void)
{
	return (uint32_t)atomic_load_explicit(&generation_state, memory_order_acquire);
}

/* A hash of the stack that ends with this frame, made of nothing but addresses. */
static ALWAYS_INLINE uint32_t stack_hash_add(uint32_t outer, uintptr_t addr)
{
	return ((outer << 15 | outer >> 17) ^ (uint32_t)addr) * 0x9e3779b1u;
}

/* A call from a stack as one word. Two calls from one stack are the same word only if they are the same;
 * calls from different stacks hardly ever are. So a table of calls can be looked into before the
 * id of the calling stack is known. */
static ALWAYS_INLINE uint64_t stack_hash_edge_key(uint32_t stack_hash, uintptr_t addr)
{
	return addr ^ (uint64_t)stack_hash << 32;
}

static ALWAYS_INLINE uint64_t walk_memo_hash(const struct unwind_start *start)
{
	return (start->pc ^ start->sp << 16) * 0x9e3779b97f4a7c15ull;
}

static ALWAYS_INLINE uintptr_t walk_memo_word_addr(uintptr_t sp, uint32_t at)
{
	return sp + (uintptr_t)ARCH_RA_OFFSET + at * sizeof(uintptr_t);
}

static ALWAYS_INLINE struct memo_selector *memo_selector_of(struct stack_cache *c,
							    const struct unwind_start *start)
{
	return &c->selector[walk_memo_hash(start) >> (64 - MEMO_SELECTOR_BITS)];
}

/* What another start has left here may lead out of the stack. */
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

/* The place of a memo comes from its start alone, until too many stacks have one start: then also from
 * the words in which those were seen to differ. A place is no more than a guess where to look: a memo
 * is compared with everything that it stands for. */
static ALWAYS_INLINE struct walk_memo *walk_memo_slot(struct unwind_thread *ut,
						      const struct unwind_start *start)
{
	struct stack_cache *c = (struct stack_cache *)ut;
	uint64_t hash = walk_memo_hash(start);
	struct walk_memo *m;

	if (unlikely(c->uses_selectors))
		hash += memo_selector_hash(c, start);
	m = &c->memo[hash >> (64 - WALK_MEMO_BITS)];
	FORGET_ORIGIN(m); /* one register to keep, not what it was made of */
	return m;
}

/* Is a return address not what it was? 0 = it is. */
static ALWAYS_INLINE uintptr_t stack_cache_entry_differs(const struct stack_cache_entry *e)
{
	return stack_word_load(e->slot) ^ e->addr;
}

/* The same of the first n entries. Four at a time; the last four may overlap those before them, so
 * that a path one frame longer or shorter does not surprise the CPU. In front of the first entry lie
 * STACK_CACHE_SENTINELS that never differ. */
#define STACK_CACHE_SENTINELS 4

static ALWAYS_INLINE uintptr_t stack_cache_any_differs(const struct stack_cache_entry *e,
						       uint32_t n)
{
	const struct stack_cache_entry *last = e + n - 4;
	uintptr_t differ = 0;

	for (; e < last; e += 4)
		differ |= stack_cache_entry_differs(e) | stack_cache_entry_differs(e + 1) |
			  stack_cache_entry_differs(e + 2) | stack_cache_entry_differs(e + 3);
	return differ | stack_cache_entry_differs(last) | stack_cache_entry_differs(last + 1) |
	       stack_cache_entry_differs(last + 2) | stack_cache_entry_differs(last + 3);
}

/* Does the memo belong to this start? That this lies in the thread's own stack need not be asked: the
 * memo's did. */
static ALWAYS_INLINE bool walk_memo_is_of(struct unwind_thread *ut, const struct walk_memo *m,
					  const struct unwind_start *start)
{
	const struct stack_cache *c = (const struct stack_cache *)ut;

	return likely(c->generation == generation_now() && m->pc == start->pc &&
		      m->sp == start->sp && m->epoch == c->epoch);
}

/* The name of the entry that a memo of the cache's epoch joins. */
static ALWAYS_INLINE struct stack_cache_id *walk_memo_join(const struct stack_cache *c,
							   const struct walk_memo *m)
{
	return &c->stack_id[(size_t)m->join_n - 1];
}

/* Does a memo of the cache's epoch join the stack that it joined before? Else join_cache_find() must be
 * asked. */
static ALWAYS_INLINE bool walk_memo_joins_same(struct unwind_thread *ut, const struct walk_memo *m)
{
	const struct stack_cache_id *join = walk_memo_join((const struct stack_cache *)ut, m);

	return likely(!memcmp(join, &m->join, sizeof(*join)));
}

/* The words of the memo that do not hold: 0 = they do. */
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

/* Frame pointers and extras. */
bool walk_memo_rest_holds(const struct stack_cache *c, struct walk_memo *m, uintptr_t fp);

/* The id of the stack, if the memo is of this start and joins what it joined before; else 0. Would the
 * walk be the memo's, up to where it joins the cache, and does the cache hold there? */
static ALWAYS_INLINE uint32_t walk_memo_stack_id(struct unwind_thread *ut, struct walk_memo *m,
						 const struct unwind_start *start)
{
	struct stack_cache *c = (struct stack_cache *)ut;

	if (unlikely(walk_memo_differs(m, start->sp) |
		     stack_cache_any_differs(c->entry, m->join_n)) ||
	    (unlikely(m->has_rest) && !walk_memo_rest_holds(c, m, start->fp)))
		return 0;
	COUNT_ADD(c->n_known, 1);
	if (!m->id)
		__builtin_unreachable();
	return m->id;
}

/* The id of the stack that a memo of this start makes of the one that it joins now, if that was told before.
 * Else 0, and *ret_outer is the id of the stack that it joins: memo_suffix_frames() tells the
 * frames inside of it, and join_cache_add() is to be told what they make of it. If that is 0 too,
 * the memo does not hold. */
uint32_t join_cache_find(struct unwind_thread *ut, struct walk_memo *m, uintptr_t fp,
			 uint32_t *ret_outer);

/* The addresses of the memo's frames inside of the join, outermost first; returns how many. */
unsigned memo_suffix_frames(struct walk_memo *m, uintptr_t *ret);

/* The memo is that of this stack from now on. */
void join_cache_add(struct unwind_thread *ut, struct walk_memo *m, uint32_t id);

static ALWAYS_INLINE struct caller_hint *caller_hint_slot(struct stack_cache *c, uintptr_t pc)
{
	return &c->hint[pc * 0x9e3779b97f4a7c15ull >> (64 - CALLER_HINT_BITS)];
}

static ALWAYS_INLINE uintptr_t caller_hint_base(const struct caller_hint *hint,
						const struct unwind_start *start)
{
	return hint->is_by_fp ? start->fp : start->sp;
}

static ALWAYS_INLINE uint16_t *stack_cache_index_of(struct stack_cache *c, uintptr_t slot)
{
	return &c->index_of[(slot >> 4) % STACK_CACHE_INDEXES];
}

/* Should caller_hint_find() be asked, and no memo? */
static ALWAYS_INLINE bool caller_hint_exists(struct unwind_thread *ut,
					     const struct unwind_start *start)
{
	struct stack_cache *c = (struct stack_cache *)ut;
	const struct caller_hint *hint = caller_hint_slot(c, start->pc);

	return unlikely(c->uses_selectors) && c->n_hints && hint->pc == start->pc &&
	       hint->score >= 0;
}

/* The rest of caller_hint_find(), for callers that depend on a frame pointer or on extras. */
bool caller_hint_rest_holds(const struct stack_cache *c, const struct caller_hint *hint, uint32_t n,
			    uintptr_t base, uintptr_t fp);
void caller_hint_missed(struct stack_cache *c, struct caller_hint *hint);

/* The stack_hash of the stack that ends with the n-th entry, counted from 1; of none: 0. */
static ALWAYS_INLINE uint32_t stack_cache_hash(const struct unwind_thread *ut, size_t n)
{
	return n ? ((const struct stack_cache *)ut)->cold[n - 1].stack_hash : 0;
}

/* The id of the stack of a leaf's caller, else 0: then stack_cache_find() must be asked. The walk would
 * begin with the leaf's rule and arrive at this entry, and what is outside of it still holds. (Below
 * the stack pointer, where a stray frame pointer may lead, words hold that mean nothing.) */
static ALWAYS_INLINE uint32_t caller_hint_find(struct unwind_thread *ut,
					       const struct unwind_start *start, uint32_t *ret_hash)
{
	struct stack_cache *c = (struct stack_cache *)ut;
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

/* The stack that came of it was known. */
static ALWAYS_INLINE void stack_cache_count_hit(struct unwind_thread *ut)
{
	COUNT_ADD(((struct stack_cache *)ut)->n_known, 1);
}

#endif
