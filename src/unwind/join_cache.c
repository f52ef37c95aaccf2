/* unwind/join_cache.c - see join_cache.h. */
#include "unwind/join_cache.h"

#include "unwind/unwind_thread_i.h"
#include "unwind/walk_memo.h"

unsigned memo_suffix_frames(struct walk_memo *m, uintptr_t *ret)
{
	unsigned n = 0;

	for (unsigned i = 0; i < m->n_words; i++) {
		if (m->return_words >> i & 1)
			ret[n++] = *walk_memo_word(m, i);
	}
	if (m->join.slot != (uint32_t)walk_memo_word_addr(m->sp, 0))
		ret[n++] = m->pc; /* else the memo joins at the start itself */
	return n;
}

bool memo_suffix_guesses(struct unwind_thread *ut, const uintptr_t *addr, unsigned n, unsigned *ret)
{
	*ret = 0;
	for (unsigned i = 0; i < n; i++) {
		struct rule rule = rule_cache_find(&ut->rules, addr[i], ut->stack_cache.generation);

		if (rule_kind(rule) == RULE_NONE)
			return false;
		*ret |= (unsigned)(rule_kind(rule) == RULE_GUESS) << i;
	}
	return true;
}

/* All ids of suffixes are used up: memos, suffixes and joins become void. */
static COLD void forget_suffixes(struct stack_cache *c)
{
	c->epoch++;
	for (size_t i = 0; i < ARRAY_LEN(c->join); i++)
		c->join[i] = (struct join_cache_entry){0};
}

/* The id of the suffix of a memo; a new one if the suffix is not in the table. */
static NOINLINE uint32_t suffix_id_of(struct stack_cache *c, struct walk_memo *m)
{
	struct memo_suffix seen = {.epoch = 0}, *s;
	unsigned n = memo_suffix_frames(m, seen.addr);
	uint64_t hash = 0;

	for (unsigned i = 0; i < n; i++)
		hash = (hash ^ seen.addr[i]) * 0x9e3779b97f4a7c15ull;
	s = &c->suffix[hash >> (64 - MEMO_SUFFIX_BITS)];
	if (s->epoch == c->epoch && !memcmp(s->addr, seen.addr, sizeof(s->addr)))
		return s->id;
	if (unlikely(c->last_suffix_id++ == MEMO_SUFFIX_MAX_ID)) {
		forget_suffixes(c);
		c->last_suffix_id = 1;
	}
	seen.epoch = c->epoch;
	seen.id = c->last_suffix_id;
	*s = seen;
	return s->id;
}

static inline struct join_cache_entry *join_cache_slot(struct stack_cache *c, uint32_t suffix_id,
						       uint32_t outer)
{
	uint32_t hash = suffix_id * 0x85ebca6bu ^ outer * 0x9e3779b1u;

	return &c->join[hash >> (32 - JOIN_CACHE_BITS)];
}

/* From now on the memo joins the stack that ends with its join, and finds the stack id. The joined
 * stack may depend on other words than the one before. Returns id. */
static inline uint32_t take_join(struct stack_cache *c, struct walk_memo *m, uint32_t id)
{
	const struct stack_cache_cold *cold = &c->cold[m->join_n - 1];

	m->join = *walk_memo_join(c, m);
	m->id = id;
	m->has_rest = m->uses_fp || cold->uses_fp || cold->n_extra;
	COUNT_ADD(c->n_known, 1);
	return id;
}

/* The id of the stack that a memo joins now, if the memo holds; else 0. */
static inline uint32_t outer_of(const struct stack_cache *c, struct walk_memo *m, uintptr_t fp)
{
	const struct stack_cache_id *join = walk_memo_join(c, m);
	const struct stack_cache_cold *cold = &c->cold[(size_t)m->join_n - 1];

	if (join->slot != m->join.slot ||
	    (walk_memo_differs(m, m->sp) | stack_cache_any_differs(c->entry, m->join_n)) ||
	    (unlikely(m->uses_fp || cold->uses_fp || cold->n_extra) &&
	     !walk_memo_rest_holds(c, m, fp)))
		return 0;
	return join->id;
}

uint32_t join_cache_find(struct unwind_thread *ut, struct walk_memo *m, uintptr_t fp,
			 uint32_t *ret_outer)
{
	struct stack_cache *c = stack_cache_of(ut);
	uint32_t outer = outer_of(c, m, fp);
	const struct join_cache_entry *known;

	*ret_outer = outer;
	if (!outer)
		return 0;
	if (unlikely(!m->suffix_id))
		m->suffix_id = suffix_id_of(c, m) & MEMO_SUFFIX_MAX_ID;
	known = join_cache_slot(c, m->suffix_id, outer);
	if (known->suffix_id != m->suffix_id || known->outer != outer)
		return 0;
	return take_join(c, m, known->id);
}

void join_cache_add(struct unwind_thread *ut, struct walk_memo *m, uint32_t id)
{
	struct stack_cache *c = stack_cache_of(ut);

	take_join(c, m, id);
	*join_cache_slot(c, m->suffix_id, m->join.id) =
		(struct join_cache_entry){.suffix_id = m->suffix_id, .outer = m->join.id, .id = id};
}
