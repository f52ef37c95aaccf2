/* unwind/stack_cache.c - compares, walks what has changed, and keeps it: see stack_cache.h.
 *
 * One event, when neither a hint nor a memo knew the stack at once:
 *   1. Leave out the entries of frames that are certainly gone (below the stack pointer).
 *   2. Compare every other entry with memory, outermost first: independent loads, which cost a
 *      third of a nanosecond each.
 *   3. Walk from the innermost frame by rules until the walk arrives at a valid entry.
 *   4. Put the frames of the walk onto the cached stack, for other starts to join.
 *   5. Keep the walk as a memo (walk_memo.h), which does not depend on step 4: a program that goes
 *      to and fro between a few callers at the end of a long stack would walk the same frames again
 *      and again.
 */
#include "unwind/stack_cache.h"

#include "unwind/caller_hint.h"
#include "unwind/learned_i.h"
#include "unwind/stack_hash.h"
#include "unwind/unwind_thread_i.h"
#include "unwind/walk_i.h"
#include "unwind/walk_memo.h"

_Static_assert(offsetof(struct unwind_thread, stack_cache) == 0, "see stack_cache_of()");

#define MANY_WALKS 8 /* if more than one of so many events needs a walk, selectors and hints pay */
#define SWAP_MEMOS 4 /* one of so many memos found in the second slot moves to the first */

static const uintptr_t sentinel_word = 1; /* see stack_cache_any_differs() */

void stack_cache_set_memory(struct unwind_thread *ut, void *memory, size_t capacity)
{
	struct stack_cache *c = &ut->stack_cache;

	_Static_assert(sizeof(struct stack_cache_entry) + sizeof(struct stack_cache_cold) +
				       2 * sizeof(struct stack_cache_extra) +
				       sizeof(struct stack_cache_fresh) +
				       sizeof(struct stack_cache_id) <=
			       STACK_CACHE_BYTES(1) - STACK_CACHE_BYTES(0),
		       "STACK_CACHE_BYTES");
	_Static_assert(STACK_CACHE_SENTINELS * sizeof(struct stack_cache_entry) +
				       sizeof(struct stack_cache_id) <=
			       STACK_CACHE_BYTES(0),
		       "STACK_CACHE_BYTES");
	c->entry = memory;
	for (unsigned i = 0; i < STACK_CACHE_SENTINELS; i++)
		*c->entry++ = (struct stack_cache_entry){(uintptr_t)&sentinel_word, sentinel_word};
	c->cold = (struct stack_cache_cold *)(c->entry + capacity);
	c->extra = (struct stack_cache_extra *)(c->cold + capacity);
	c->fresh = (struct stack_cache_fresh *)(c->extra + 2 * capacity);
	/* One in front of the first: an empty memo has a join_n of 0. */
	c->stack_id = (struct stack_cache_id *)(c->fresh + capacity) + 1;
	c->capacity = capacity;
	c->n = c->n_here = 0;
	c->epoch++;
}

void stack_cache_forget_ids(struct unwind_thread *ut)
{
	ut->stack_cache.epoch++;
	for (size_t k = 0; k < ut->stack_cache.n; k++)
		ut->stack_cache.stack_id[k].id = 0;
}

uintptr_t stack_cache_fresh_addr(const struct unwind_thread *ut, size_t i)
{
	return ut->stack_cache.fresh[i].at.addr;
}

bool stack_cache_is_fresh_guess(const struct unwind_thread *ut, size_t i)
{
	return ut->stack_cache.fresh[i].is_guess;
}

/* How many of the first n entries hold what they held, before the first that does not. */
static size_t count_equal(const struct stack_cache_entry *e, size_t n)
{
	size_t k = 0;

	while (k + 4 <= n &&
	       !(stack_cache_entry_differs(&e[k]) | stack_cache_entry_differs(&e[k + 1]) |
		 stack_cache_entry_differs(&e[k + 2]) | stack_cache_entry_differs(&e[k + 3])))
		k += 4;
	while (k < n && !stack_cache_entry_differs(&e[k]))
		k++;
	return k;
}

/* Whether the frame f is entry[k]. */
static inline bool is_at(const struct stack_cache *c, size_t k, const struct frame *f)
{
	return c->entry[k].slot == f->sp + (uintptr_t)ARCH_RA_OFFSET &&
	       c->entry[k].addr == f->key && (!c->cold[k].uses_fp || c->cold[k].fp == f->fp);
}

static void swap_memos(struct walk_memo *a, struct walk_memo *b)
{
	struct walk_memo m = *a;

	*a = *b;
	*b = m;
}

/* How many entries are not below the stack pointer: mostly as many as the last time. */
static inline uint32_t count_here(struct stack_cache *c, const struct unwind_start *start)
{
	uintptr_t slot = walk_memo_word_addr(start->sp, 0);
	uint32_t n = c->n_here;

	while (n < c->n && c->entry[n].slot >= slot)
		n++;
	while (n && c->entry[n - 1].slot < slot)
		n--;
	c->n_here = n;
	return n;
}

/* The id of the stack by one of the two memos of the start; 0 = neither holds. Of the two, the one
 * that is wanted more often comes first, sooner or later. */
static uint32_t find_by_memo(struct unwind_thread *ut, const struct unwind_start *start)
{
	struct stack_cache *c = &ut->stack_cache;
	struct walk_memo *m = c->memo_slot = walk_memo_slot(ut, start);

	if (!walk_memo_holds(ut, m, start)) {
		m = walk_memo_beside(c, m);
		if (!walk_memo_holds(ut, m, start))
			return 0;
		if (c->n_known % SWAP_MEMOS == 0) {
			swap_memos(c->memo_slot, m);
			m = c->memo_slot;
		}
	}
	return m->id;
}

/* The same while selectors are in use. A second memo per start does not pay then: looking at it
 * costs more than the walks that it saves. But the start itself may be the last valid entry.
 * Otherwise, what distinguishes this stack from the one in the memo becomes a selector. */
static uint32_t find_with_selectors(struct unwind_thread *ut, const struct unwind_start *start)
{
	const struct frame f = {.key = start->pc, .sp = start->sp, .fp = start->fp};
	struct stack_cache *c = &ut->stack_cache;
	uint32_t n = c->n_valid;

	if (n == c->n_here && is_at(c, n - 1, &f))
		return c->stack_id[n - 1].id;
	if (caller_hint_exists(ut, start))
		return 0;
	c->memo_slot = walk_memo_slot(ut, start);
	memo_selector_learn(c, start);
	return 0;
}

uint32_t stack_cache_find(struct unwind_thread *ut, const struct unwind_start *start)
{
	struct stack_cache *c = &ut->stack_cache;
	uint32_t n, id;

	c->n_valid = 0;
	c->memo_slot = NULL;
	if (unlikely(c->generation != generation_now()))
		return 0;
	n = (uint32_t)count_equal(c->entry, count_here(c, start));
	if (n && c->cold[n - 1].n_extra && !stack_cache_extras_hold(c, n))
		n = (uint32_t)stack_cache_count_extras_hold(c, n);
	if (unlikely(!n))
		return 0;
	c->n_valid = n;
	id = c->uses_selectors ? find_with_selectors(ut, start) : find_by_memo(ut, start);
	COUNT_ADD(c->n_known, id != 0);
	return id;
}

/* Makes entries of the fresh frames, inside the entries that were kept. The n_left innermost frames
 * stay fresh. Entries that lay there before are gone. */
static void push_fresh(struct stack_cache *c, uint32_t n_left)
{
	size_t k = c->n_kept;

	for (size_t i = c->n_fresh; i-- > n_left; k++) {
		const struct stack_cache_fresh *f = &c->fresh[i];
		const struct stack_cache_cold *out = k ? &c->cold[k - 1] : NULL;
		uint32_t n_extra = out ? out->n_extra : 0;

		if (unlikely(f->fp_at && !out)) /* the word that cuts the stack off */
			c->extra[n_extra++] =
				(struct stack_cache_extra){f->fp_at, stack_word_load(f->fp_at)};
		if (f->cfa_at && out)
			c->extra[n_extra++] = (struct stack_cache_extra){
				f->cfa_at, c->entry[k - 1].slot - (uintptr_t)ARCH_RA_OFFSET};
		if (f->fp_at && out && out->uses_fp)
			c->extra[n_extra++] = (struct stack_cache_extra){f->fp_at, out->fp};
		c->entry[k] = f->at;
		*stack_cache_index_of(c, f->at.slot) = (uint16_t)(k + 1);
		c->stack_id[k] = (struct stack_cache_id){.slot = (uint32_t)f->at.slot};
		c->cold[k] = (struct stack_cache_cold){
			.fp = f->fp,
			.n_extra = n_extra,
			.end = f->end & 15,
			.is_guess = f->is_guess,
			.uses_fp = f->uses_fp || (!f->fp_at && out && out->uses_fp),
			.stack_hash = stack_hash_add(out ? out->stack_hash : 0, f->at.addr),
		};
	}
	for (size_t old = k; old < c->n; old++)
		c->stack_id[old] = (struct stack_cache_id){0};
	c->n = c->n_here = c->n_kept = (uint32_t)k;
	c->n_fresh = n_left;
}

/* One step outwards from the frame f by a simple rule. *ret describes f and the words that the step
 * read; f becomes its caller. False: the stack is not simple. */
static ALWAYS_INLINE bool step_simple(const struct memory *m, struct rule rule, struct frame *f,
				      struct stack_cache_fresh *ret)
{
	enum rule_kind kind = rule_kind(rule);
	uintptr_t cfa = (kind == RULE_SP ? f->sp : f->fp) + (uintptr_t)rule_cfa_off(rule);
	uintptr_t fp_at = cfa + (uintptr_t)rule_fp_off(rule);

	ret->at.slot = f->sp + (uintptr_t)ARCH_RA_OFFSET;
	ret->at.addr = f->key;
	ret->fp = f->fp;
	ret->fp_at = 0;
	ret->cfa_at = 0;
	ret->uses_fp = kind != RULE_SP;
	ret->is_guess = false;
	ret->end = UNWIND_COMPLETE;
	if (unlikely(kind == RULE_FP_DEREF)) {
		if (!memory_is_own(m, cfa) || cfa % ARCH_STACK_ALIGN)
			return false;
		ret->cfa_at = cfa;
		fp_at = f->fp + (uintptr_t)rule_fp_off(rule);
		cfa = stack_word_load(cfa);
	}
	if (unlikely(cfa <= f->sp || cfa % ARCH_STACK_ALIGN ||
		     !memory_is_own(m, cfa + (uintptr_t)ARCH_RA_OFFSET)))
		return false;
	if (rule_has_fp(rule)) {
		if (unlikely(!memory_is_own(m, fp_at) || fp_at % ARCH_STACK_ALIGN))
			return false;
		ret->fp_at = fp_at;
		f->fp = stack_word_load(fp_at);
	}
	f->key = stack_word_load(cfa + (uintptr_t)ARCH_RA_OFFSET);
	f->sp = cfa;
	return true;
}

/* The same by RULE_GUESS, as fp_walk_guess() steps. If the frame pointer points at no pair, the stack
 * ends here. */
static bool step_guess(const struct memory *m, struct frame *f, struct stack_cache_fresh *ret)
{
	uintptr_t fp = f->fp;

	*ret = (struct stack_cache_fresh){
		.at = {f->sp + (uintptr_t)ARCH_RA_OFFSET, f->key},
		.fp = fp,
		.uses_fp = true,
	};
	if (!fp_walk_is_pair(m, f->sp, fp) || !memory_is_own(m, fp + sizeof(uintptr_t))) {
		ret->end = UNWIND_NO_INFO;
		return false;
	}
	ret->fp_at = fp;
	ret->is_guess = true;
	f->fp = stack_word_load(fp);
	f->key = stack_word_load(fp + sizeof(uintptr_t));
	f->sp = fp + 2 * sizeof(uintptr_t);
	return true;
}

/* The walk has arrived at a key that no call precedes, so the frame before, whose rule led there, is
 * the last. */
static void cut_before(const struct frame *f, struct stack_cache_fresh *last)
{
	last->end = last->is_guess ? UNWIND_NO_INFO : UNWIND_BAD_INFO;
	last->is_guess = false;
	last->cfa_at = 0;
	last->fp_at = f->sp + (uintptr_t)ARCH_RA_OFFSET;
}

/* Walks until the walk arrives at one of the first n_valid entries or at the outermost frame. Then
 * n_kept entries stay and n_fresh frames are new. */
static enum stack_cache_status walk_fresh(struct unwind_thread *ut,
					  const struct unwind_start *start, size_t n_valid)
{
	struct stack_cache *c = &ut->stack_cache;
	struct frame f = {.key = start->pc, .sp = start->sp, .fp = start->fp};
	size_t n = 0;

	for (;;) {
		uintptr_t slot = f.sp + (uintptr_t)ARCH_RA_OFFSET;
		struct rule rule;
		enum rule_kind kind;

		while (n_valid && c->entry[n_valid - 1].slot < slot)
			n_valid--;
		if (n_valid && is_at(c, n_valid - 1, &f))
			break;
		rule = rule_cache_find(&ut->rules, f.key, ut->generation);
		kind = rule_kind(rule);
		if (unlikely(kind == RULE_NONE || (kind > RULE_END && kind != RULE_GUESS)))
			return STACK_CACHE_NOT_SIMPLE;
		if (unlikely(n == c->capacity))
			return STACK_CACHE_NO_ROOM;
		if (unlikely(kind == RULE_END)) {
			n_valid = 0;
			if (rule_end(rule) == RULE_NOT_CALLED) {
				if (n == 0)
					return STACK_CACHE_NOT_SIMPLE;
				cut_before(&f, &c->fresh[n - 1]);
				break;
			}
			c->fresh[n++] = (struct stack_cache_fresh){
				.at = {slot, f.key}, .fp = f.fp, .end = rule_end(rule) & 15};
			break;
		}
		if (unlikely(kind == RULE_GUESS)) {
			bool is_cut = !step_guess(&ut->memory, &f, &c->fresh[n++]);

			if (!is_cut)
				continue;
			n_valid = 0;
			break;
		}
		if (unlikely(!step_simple(&ut->memory, rule, &f, &c->fresh[n])))
			return STACK_CACHE_NOT_SIMPLE;
		n++;
	}
	c->n_kept = (uint32_t)n_valid;
	c->n_fresh = (uint32_t)n;
	return n_valid + n > c->capacity ? STACK_CACHE_NO_ROOM : STACK_CACHE_OK;
}

/* Counts a walk. If too many events need one, selectors are used from now on. */
static inline void count_walk(struct stack_cache *c)
{
	uint64_t n_events;

	if (likely(++c->n_walks % STACK_CACHE_WINDOW))
		return;
	learned_reconsider();
	n_events = c->n_known - c->n_known_before + STACK_CACHE_WINDOW;
	c->uses_selectors |= n_events < MANY_WALKS * (uint64_t)STACK_CACHE_WINDOW;
	c->n_known_before = c->n_known;
}

/* Whether all words that the walk over the fresh frames read fit into a memo, as memo_add_words()
 * in walk_memo.c adds them. */
static inline bool fits_memo(const struct stack_cache *c, const struct unwind_start *start)
{
	const uint32_t always_fit = (WALK_MEMO_WORDS + 1) / 3;
	uintptr_t reach_bytes = c->entry[c->n_kept - 1].slot - walk_memo_word_addr(start->sp, 0);
	bool uses_fp = c->cold[c->n_kept - 1].uses_fp;
	uint32_t n = c->n_fresh;

	if (unlikely(reach_bytes > UINT16_MAX * sizeof(uintptr_t)))
		return false;
	for (size_t i = c->n_fresh; c->n_fresh > always_fit && i-- > 0;) {
		const struct stack_cache_fresh *f = &c->fresh[i];

		n += (f->cfa_at != 0) + (f->fp_at && uses_fp);
		uses_fp = f->uses_fp || (!f->fp_at && uses_fp);
	}
	/* One more: the return address of the join is no word of the memo. */
	return n <= WALK_MEMO_WORDS + 1;
}

/* Puts the fresh frames onto the cached stack, where other starts can join them. While selectors
 * are in use the start itself is left out: a memo, or the hint for its caller, will know it at
 * once. The memo of this walk joins what was kept, if that is not too far: that part holds for
 * longer. */
static inline void push_and_join(struct stack_cache *c, const struct unwind_start *start)
{
	bool is_near = c->n_kept && fits_memo(c, start);

	c->memo_join_n = c->n_kept;
	c->memo_n_fresh = c->n_fresh;
	if (c->uses_selectors)
		caller_hint_learn(c, start);
	push_fresh(c, c->uses_selectors && c->n_fresh > 1);
	if (is_near)
		return;
	c->memo_join_n = c->n_kept;
	c->memo_n_fresh = c->n_fresh;
}

enum stack_cache_status stack_cache_walk(struct unwind_thread *ut, const struct unwind_start *start,
					 uint32_t generation, struct stack_cache_stack *ret)
{
	struct stack_cache *c = &ut->stack_cache;
	enum stack_cache_status status;

	if (unlikely(generation & 1 || !ut->use_cache ||
		     !memory_is_own(&ut->memory, start->sp + (uintptr_t)ARCH_RA_OFFSET) ||
		     ut->memory.own.hi - ut->memory.own.lo > UINT32_MAX))
		return STACK_CACHE_NOT_SIMPLE;
	if (unlikely(generation != c->generation)) {
		c->generation = generation;
		c->n = c->n_here = c->n_valid = 0;
		c->epoch++;
		caller_hint_forget_all(c);
	}
	ut->generation = generation;
	c->own_lo = ut->memory.own.lo;
	c->own_hi = ut->memory.own.hi;
	status = walk_fresh(ut, start, c->n_valid);
	if (unlikely(status != STACK_CACHE_OK))
		return status;
	COUNT_ADD(ut->stats.n_cached_walks, 1);
	COUNT_ADD(ut->stats.n_fresh_frames, c->n_fresh);
	count_walk(c);
	push_and_join(c, start);
	if (CONFIG_CHECKS > 1)
		stack_cache_check(c);
	ret->entry = c->entry;
	ret->stack_id = c->stack_id;
	ret->n_kept = c->n_kept;
	ret->n_fresh = c->n_fresh;
	return STACK_CACHE_OK;
}
