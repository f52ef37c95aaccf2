/* unwind/walk_memo.c - see walk_memo.h. */
#include "unwind/walk_memo.h"

#include "unwind/caller_hint.h"

#define LEARN_SELECTOR 64 /* in one of so many walks a new selector may displace an old one */
#define FORGET_SELECTOR 512 /* in one of so many walks a selector without success is forgotten */

/* Whether the frame pointer of the start and the one at the join are those that the memo saw. */
static bool memo_fp_holds(struct walk_memo *m, const struct stack_cache_cold *join, uintptr_t fp)
{
	uintptr_t join_fp =
		m->join_fp_from < m->n_words ? *walk_memo_word(m, m->join_fp_from) : m->fp;

	return (!m->uses_fp || m->fp == fp) &&
	       (!join->uses_fp || (m->join_uses_fp && join_fp == join->fp));
}

NOINLINE bool walk_memo_rest_holds(const struct stack_cache *c, struct walk_memo *m, uintptr_t fp)
{
	const struct stack_cache_cold *join = &c->cold[m->join_n - 1];

	return memo_fp_holds(m, join, fp) &&
	       (!join->n_extra || stack_cache_extras_hold(c, m->join_n));
}

bool walk_memo_holds(struct unwind_thread *ut, struct walk_memo *m,
		     const struct unwind_start *start)
{
	const struct stack_cache *c = stack_cache_of(ut);

	return walk_memo_is_of(ut, m, start) && walk_memo_joins_same(ut, m) &&
	       m->join_n <= c->n_valid && !walk_memo_differs(m, start->sp) &&
	       (!m->has_rest || memo_fp_holds(m, &c->cold[m->join_n - 1], start->fp));
}

void memo_selector_learn(struct stack_cache *c, const struct unwind_start *start)
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
		return; /* a new selector moves the slots of all these memos: rarely */
	selector->at[1] = selector->at[0];
	selector->at[0] = at;
	c->memo_slot = walk_memo_slot((struct unwind_thread *)c, start);
}

/* The offset of a word of the stack, as memos count it. False when the word is out of reach. */
static inline bool memo_word_at(const struct walk_memo *m, uintptr_t addr, uint16_t *ret)
{
	uintptr_t offset = addr - walk_memo_word_addr(m->sp, 0);

	*ret = (uint16_t)(offset / sizeof(uintptr_t));
	return offset % sizeof(uintptr_t) == 0 && offset / sizeof(uintptr_t) <= UINT16_MAX;
}

/* Adds a word to the memo. False when the memo is full or the word is out of reach. */
static inline bool memo_add_word(struct walk_memo *m, uintptr_t addr, uintptr_t value)
{
	uint16_t at;

	if (unlikely(m->n_words == WALK_MEMO_WORDS || !memo_word_at(m, addr, &at)))
		return false;
	*walk_memo_word_at(m, m->n_words) = at;
	*walk_memo_word(m, m->n_words++) = value;
	return true;
}

/* Adds all words that the walk over the fresh frames read, outermost first. The return address of
 * the join is left out: it is compared with the cached stack. False when there are too many. */
static bool memo_add_words(const struct stack_cache *c, struct walk_memo *m)
{
	const struct stack_cache_cold *join = &c->cold[c->memo_join_n - 1];
	struct stack_cache_entry out = c->entry[c->memo_join_n - 1];
	uintptr_t out_fp = join->fp;
	bool uses_fp = join->uses_fp;
	bool is_join_fp = true; /* out_fp is the one at the join */

	m->n_words = 0;
	m->has_guess = false;
	m->return_words = 0;
	m->join_fp_from = WALK_MEMO_WORDS;
	for (size_t i = c->memo_n_fresh; i-- > 0;) {
		const struct stack_cache_fresh *f = &c->fresh[i];

		if (i + 1 < c->memo_n_fresh) {
			m->return_words |= 1u << m->n_words % WALK_MEMO_WORDS;
			if (!memo_add_word(m, out.slot, out.addr))
				return false;
		}
		m->has_guess |= f->is_guess;
		if (f->cfa_at && !memo_add_word(m, f->cfa_at, out.slot - (uintptr_t)ARCH_RA_OFFSET))
			return false;
		if (f->fp_at && uses_fp) {
			if (is_join_fp)
				m->join_fp_from = m->n_words;
			if (!memo_add_word(m, f->fp_at, out_fp))
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

/* Near words that are missing become copies of what always holds: the start's return address. */
static void memo_fill_up(struct walk_memo *m, const struct unwind_start *start)
{
	for (unsigned i = m->n_words; i < WALK_MEMO_NEAR; i++) {
		m->near_at[i] = 0;
		m->near[i] = start->pc;
	}
}

/* The slot for a new memo. The memo that lies there moves beside it: the newer one comes first. */
static struct walk_memo *make_room(struct stack_cache *c, const struct unwind_start *start)
{
	struct walk_memo *first =
		c->memo_slot ? c->memo_slot : walk_memo_slot((struct unwind_thread *)c, start);

	if (first->epoch == c->epoch && !c->uses_selectors)
		*walk_memo_beside(c, first) = *first;
	return first;
}

void walk_memo_add(struct unwind_thread *ut, const struct unwind_start *start, uint32_t id)
{
	struct stack_cache *c = stack_cache_of(ut);
	struct walk_memo *m;

	if (!c->memo_join_n || c->memo_join_n > UINT16_MAX ||
	    (c->uses_selectors && (!c->memo_n_fresh || caller_hint_exists(ut, start))))
		return;
	m = make_room(c, start);
	m->epoch = 0; /* empty, should a word not fit */
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
