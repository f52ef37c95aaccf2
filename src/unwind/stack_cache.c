/* unwind/stack_cache.c - the validated path: see unwind.h for why it is exact.
 *
 * A call of malloc comes from nearly the same stack as the one before it. So: leave out the entries
 * of frames that are certainly gone (below the stack pointer); compare every other entry with
 * memory, outermost first, independent loads that cost a third of a nanosecond each; walk from
 * the innermost frame by rules until the walk arrives at a valid entry; join.
 *
 * Entries that were left out stay. If the program comes back to where they were, they are compared
 * like all others, and either they are what a walk would find, or they differ.
 *
 * A program that goes to and fro between a few callers at the end of a long path would walk the
 * same frames again and again. So what a walk found on its way to the cache is remembered in a memo,
 * together with every word that it read. The same start and the same words give the same walk: then
 * even the rules need not be looked at. What was walked also goes onto the cache, for other
 * starts to join; the memo does not depend on that. Where several branches have one start, the
 * words in which they were seen to differ choose among their memos. caller_hint.c is about stacks that
 * are too many for memos.
 *
 * Only stacks of the common kind are handled: on the thread's own stack, by simple rules, to the
 * end. Everything else is left to unwind_walk().
 */
#include "unwind/unwind_i.h"

_Static_assert(offsetof(struct unwind_thread, stack_cache) == 0,
	       "stack_cache.h takes one for the other");

#define LEARN_SELECTOR 64 /* one of so many may displace a word that tells stacks apart */
#define FORGET_SELECTOR 512 /* one of so many stacks not found forgets what told it from others */
#define MANY_WALKS 8 /* one of so many events: then it pays to tell stacks with one start apart */
#define SWAP_MEMOS 4 /* one of so many memos found in the second place moves to the first */

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

/* Number of entries of [0, n) that hold what they held. */
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

/* Of the first n entries, those whose extra words are unchanged as well. */
static NOINLINE size_t count_extra_equal(const struct stack_cache *c, size_t n)
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

static inline bool is_at(const struct stack_cache *c, size_t k, const struct frame *f)
{
	return c->entry[k].slot == f->sp + (uintptr_t)ARCH_RA_OFFSET &&
	       c->entry[k].addr == f->key && (!c->cold[k].uses_fp || c->cold[k].fp == f->fp);
}

static bool memo_fp_holds(struct walk_memo *m, const struct stack_cache_cold *join, uintptr_t fp)
{
	uintptr_t join_fp =
		m->join_fp_from < m->n_words ? *walk_memo_word(m, m->join_fp_from) : m->fp;

	return (!m->uses_fp || m->fp == fp) &&
	       (!join->uses_fp || (m->join_uses_fp && join_fp == join->fp));
}

static ALWAYS_INLINE uintptr_t extra_differs(const struct stack_cache_extra *x)
{
	return stack_word_load(x->addr) ^ x->value;
}

/* As stack_cache_any_differs(), without sentinels. */
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

NOINLINE bool walk_memo_rest_holds(const struct stack_cache *c, struct walk_memo *m, uintptr_t fp)
{
	const struct stack_cache_cold *join = &c->cold[m->join_n - 1];

	return memo_fp_holds(m, join, fp) &&
	       (!join->n_extra || stack_cache_extras_hold(c, m->join_n));
}

/* Would the walk be the memo's, given that the first n_valid entries of the cache hold? */
static bool memo_holds(struct unwind_thread *ut, struct walk_memo *m,
		       const struct unwind_start *start)
{
	const struct stack_cache *c = &ut->stack_cache;

	return walk_memo_is_of(ut, m, start) && walk_memo_joins_same(ut, m) &&
	       m->join_n <= c->n_valid && !walk_memo_differs(m, start->sp) &&
	       (!m->has_rest || memo_fp_holds(m, &c->cold[m->join_n - 1], start->fp));
}

/* The second place for a memo, in threads without forks. */
static inline struct walk_memo *memo_beside(struct stack_cache *c, const struct walk_memo *m)
{
	return &c->memo[(size_t)(m - c->memo) ^ 1];
}

static void swap_memos(struct walk_memo *a, struct walk_memo *b)
{
	struct walk_memo m = *a;

	*a = *b;
	*b = m;
}

/* The memo of this start's place does not hold. If two stacks differ in a word there, it tells them
 * apart from now on. */
static NOINLINE void learn_selector(struct stack_cache *c, const struct unwind_start *start)
{
	struct memo_selector *selector = memo_selector_of(c, start);
	struct walk_memo *m = c->memo_slot;
	uint16_t at = 0;

	if (m->pc != start->pc || m->sp != start->sp || m->epoch != c->epoch) {
		if (c->n_walks % FORGET_SELECTOR == 0)
			selector->at[0] = selector->at[1] = 0;
		return;
	}
	for (unsigned i = 0; i < m->n_words && !at; i++) {
		uint16_t word_at = *walk_memo_word_at(m, i);

		if (stack_word_load(walk_memo_word_addr(m->sp, word_at)) != *walk_memo_word(m, i))
			at = word_at;
	}
	if (!at || at == selector->at[0] || at == selector->at[1])
		return;
	if (selector->at[1] && c->n_walks % LEARN_SELECTOR)
		return; /* the memos of all these stacks would be looked for elsewhere */
	selector->at[1] = selector->at[0];
	selector->at[0] = at;
	c->memo_slot = walk_memo_slot((struct unwind_thread *)c, start);
}

/* Entries that are not below the stack pointer; mostly as many as the last time. */
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

/* Of two memos side by side the one that is wanted often comes first, sooner or later. */
static uint32_t find_by_memo(struct unwind_thread *ut, const struct unwind_start *start)
{
	struct stack_cache *c = &ut->stack_cache;
	struct walk_memo *m = c->memo_slot = walk_memo_slot(ut, start);

	if (!memo_holds(ut, m, start)) {
		m = memo_beside(c, m);
		if (!memo_holds(ut, m, start))
			return 0;
		if (c->n_known % SWAP_MEMOS == 0) {
			swap_memos(c->memo_slot, m);
			m = c->memo_slot;
		}
	}
	return m->id;
}

/* With forks a second place does not pay: more memory is looked at than it saves walks. But there are
 * starts that are on the cache themselves. */
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
	learn_selector(c, start);
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
		n = (uint32_t)count_extra_equal(c, n);
	if (unlikely(!n))
		return 0;
	c->n_valid = n;
	id = c->uses_selectors ? find_with_selectors(ut, start) : find_by_memo(ut, start);
	COUNT_ADD(c->n_known, id != 0);
	return id;
}

/* Puts the fresh frames, but for the n_left innermost ones, on top of those that were kept. */
static void push_fresh(struct stack_cache *c, uint32_t n_left)
{
	size_t k = c->n_kept;

	for (size_t i = c->n_fresh; i-- > n_left; k++) {
		const struct stack_cache_fresh *f = &c->fresh[i];
		const struct stack_cache_cold *out = k ? &c->cold[k - 1] : NULL;
		uint32_t n_extra = out ? out->n_extra : 0;

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
			.uses_fp = f->uses_fp || (!f->fp_at && out && out->uses_fp),
			.stack_hash = stack_hash_add(out ? out->stack_hash : 0, f->at.addr),
		};
	}
	for (size_t old = k; old < c->n; old++)
		c->stack_id[old] = (struct stack_cache_id){0};
	c->n = c->n_here = c->n_kept = (uint32_t)k;
	c->n_fresh = n_left;
}

/* One step by a simple rule, noting the words it read. False: the stack is not of our kind. */
static ALWAYS_INLINE bool step_noting(const struct memory *m, struct rule rule, struct frame *f,
				      struct stack_cache_fresh *note)
{
	enum rule_kind kind = rule_kind(rule);
	uintptr_t cfa = (kind == RULE_SP ? f->sp : f->fp) + (uintptr_t)rule_cfa_off(rule);
	uintptr_t fp_at = cfa + (uintptr_t)rule_fp_off(rule);

	note->at.slot = f->sp + (uintptr_t)ARCH_RA_OFFSET;
	note->at.addr = f->key;
	note->fp = f->fp;
	note->fp_at = 0;
	note->cfa_at = 0;
	note->uses_fp = kind != RULE_SP;
	if (unlikely(kind == RULE_FP_DEREF)) {
		if (!memory_is_own(m, cfa) || cfa % ARCH_STACK_ALIGN)
			return false;
		note->cfa_at = cfa;
		fp_at = f->fp + (uintptr_t)rule_fp_off(rule);
		cfa = stack_word_load(cfa);
	}
	if (unlikely(cfa <= f->sp || cfa % ARCH_STACK_ALIGN ||
		     !memory_is_own(m, cfa + (uintptr_t)ARCH_RA_OFFSET)))
		return false;
	if (rule_has_fp(rule)) {
		if (unlikely(!memory_is_own(m, fp_at) || fp_at % ARCH_STACK_ALIGN))
			return false;
		note->fp_at = fp_at;
		f->fp = stack_word_load(fp_at);
	}
	f->key = stack_word_load(cfa + (uintptr_t)ARCH_RA_OFFSET);
	f->sp = cfa;
	return true;
}

/* Walks until it arrives at one of the first n_valid entries or at the end; c->n_kept entries stay
 * and c->n_fresh frames are new. */
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
		if (unlikely(kind == RULE_NONE || kind > RULE_END))
			return STACK_CACHE_NOT_SIMPLE;
		if (unlikely(n == c->capacity))
			return STACK_CACHE_NO_ROOM;
		if (unlikely(kind == RULE_END)) {
			c->fresh[n++] = (struct stack_cache_fresh){.at = {slot, f.key}, .fp = f.fp};
			n_valid = 0;
			break;
		}
		if (unlikely(!step_noting(&ut->memory, rule, &f, &c->fresh[n])))
			return STACK_CACHE_NOT_SIMPLE;
		n++;
	}
	c->n_kept = (uint32_t)n_valid;
	c->n_fresh = (uint32_t)n;
	return n_valid + n > c->capacity ? STACK_CACHE_NO_ROOM : STACK_CACHE_OK;
}

/* Counts a walk. Too many of them: stacks with one start must be told apart. */
static inline void count_walk(struct stack_cache *c)
{
	uint64_t n_events;

	if (likely(++c->n_walks % STACK_CACHE_WINDOW))
		return;
	n_events = c->n_known - c->n_known_before + STACK_CACHE_WINDOW;
	c->uses_selectors |= n_events < MANY_WALKS * (uint64_t)STACK_CACHE_WINDOW;
	c->n_known_before = c->n_known;
}

/* Would all that the walk over the fresh frames read have room in a memo? memo_add_words() adds it. */
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
	return n <=
	       WALK_MEMO_WORDS + 1; /* the outermost return address is checked with the cache */
}

/* Puts the fresh frames onto the cache, where other starts will join them; but, once there are forks,
 * not the start itself: a memo or, for a leaf, its caller tells it at once. The memo of this stack
 * joins what was there before, if that is not too far. That part will hold for longer. */
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
	enum stack_cache_status result;

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
	result = walk_fresh(ut, start, c->n_valid);
	if (unlikely(result != STACK_CACHE_OK))
		return result;
	COUNT_ADD(ut->stats.n_cached_walks, 1);
	COUNT_ADD(ut->stats.n_fresh_frames, c->n_fresh);
	count_walk(c);
	push_and_join(c, start);
	ret->entry = c->entry;
	ret->stack_id = c->stack_id;
	ret->n_kept = c->n_kept;
	ret->n_fresh = c->n_fresh;
	return STACK_CACHE_OK;
}

/* Place of a word of the stack, as memos count it; false: out of their reach. */
static inline bool memo_place(const struct walk_memo *m, uintptr_t addr, uint16_t *ret)
{
	uintptr_t offset = addr - walk_memo_word_addr(m->sp, 0);

	*ret = (uint16_t)(offset / sizeof(uintptr_t));
	return offset % sizeof(uintptr_t) == 0 && offset / sizeof(uintptr_t) <= UINT16_MAX;
}

/* Adds a word to the memo; false when it cannot be. */
static inline bool memo_add(struct walk_memo *m, uintptr_t addr, uintptr_t value)
{
	uint16_t at;

	if (unlikely(m->n_words == WALK_MEMO_WORDS || !memo_place(m, addr, &at)))
		return false;
	*walk_memo_word_at(m, m->n_words) = at;
	*walk_memo_word(m, m->n_words++) = value;
	return true;
}

/* All words that the walk over the fresh frames read, outermost first; the return address at which
 * it joined the cache is checked with the cache. */
static bool memo_add_words(const struct stack_cache *c, struct walk_memo *m)
{
	const struct stack_cache_cold *join = &c->cold[c->memo_join_n - 1];
	struct stack_cache_entry out = c->entry[c->memo_join_n - 1];
	uintptr_t out_fp = join->fp;
	bool uses_fp = join->uses_fp;
	bool is_join_fp = true; /* out_fp is the one at the join */

	m->n_words = 0;
	m->keys = 0;
	m->join_fp_from = WALK_MEMO_WORDS;
	for (size_t i = c->memo_n_fresh; i-- > 0;) {
		const struct stack_cache_fresh *f = &c->fresh[i];

		if (i + 1 < c->memo_n_fresh) {
			m->keys |= 1u << m->n_words % WALK_MEMO_WORDS;
			if (!memo_add(m, out.slot, out.addr))
				return false;
		}
		if (f->cfa_at && !memo_add(m, f->cfa_at, out.slot - (uintptr_t)ARCH_RA_OFFSET))
			return false;
		if (f->fp_at && uses_fp) {
			if (is_join_fp)
				m->join_fp_from = m->n_words;
			if (!memo_add(m, f->fp_at, out_fp))
				return false;
		}
		is_join_fp = is_join_fp && !f->fp_at;
		uses_fp = f->uses_fp || (!f->fp_at && uses_fp);
		out = f->at;
		out_fp = f->fp;
	}
	m->uses_fp = uses_fp;
	m->join_uses_fp = join->uses_fp;
	m->has_rest = uses_fp || join->uses_fp || join->n_extra;
	return true;
}

/* Near words that are missing are copies of what is compared in any case: the start. */
static void memo_fill_up(struct walk_memo *m, const struct unwind_start *start)
{
	for (unsigned i = m->n_words; i < WALK_MEMO_NEAR; i++) {
		m->near_at[i] = 0;
		m->near[i] = start->pc;
	}
}

/* Of the two places for a memo the first is for the newer one. */
static struct walk_memo *make_place(struct stack_cache *c, const struct unwind_start *start)
{
	struct walk_memo *first =
		c->memo_slot ? c->memo_slot : walk_memo_slot((struct unwind_thread *)c, start);

	if (first->epoch == c->epoch && !c->uses_selectors)
		*memo_beside(c, first) = *first;
	return first;
}

void stack_cache_remember(struct unwind_thread *ut, const struct unwind_start *start, uint32_t id)
{
	struct stack_cache *c = &ut->stack_cache;
	struct walk_memo *m;

	if (!c->memo_join_n || c->memo_join_n > UINT16_MAX ||
	    (c->uses_selectors && (!c->memo_n_fresh || caller_hint_exists(ut, start))))
		return;
	m = make_place(c, start);
	m->epoch = 0;
	m->sp = start->sp;
	if (!memo_add_words(c, m))
		return;
	memo_fill_up(m, start);
	m->pc = start->pc;
	m->fp = start->fp;
	m->join_n = (uint16_t)c->memo_join_n;
	m->join = c->stack_id[c->memo_join_n - 1];
	m->id = id;
	m->suffix_id = 0;
	m->epoch = c->epoch;
}
