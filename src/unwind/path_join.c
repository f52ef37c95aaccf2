/* unwind/path_join.c - memos that hold below another stack than before.
 *
 * In a recursive program a memo that holds often joins another stack than the last time, and the stack
 * that it makes of it has to be found frame by frame. But the same few branches join the same stacks
 * again and again. So branches have numbers, by the addresses of their frames, and what a branch made
 * of a stack is kept under the branch's number and the stack's id.
 *
 * Exact: a number stands for the same addresses as long as it is in use, and an id for the same stack
 * within an epoch. A branch gets a new number in a new epoch, and no number is given twice;
 * when all are used up, everything that has one is forgotten. A table may lose its entries: then the
 * frames are asked one by one, and their branch gets another number.
 *
 * Most memos never join another stack, so one gets its number when it does.
 */
#include "unwind/unwind_i.h"

unsigned unwind_path_branch(struct walk_memo *m, uintptr_t *ret)
{
	unsigned n = 0;

	for (unsigned i = 0; i < m->n_words; i++) {
		if (m->keys >> i & 1)
			ret[n++] = *walk_memo_word(m, i);
	}
	if (m->join.slot != (uint32_t)walk_memo_word_addr(m->sp, 0))
		ret[n++] = m->pc; /* else it is on the cache itself */
	return n;
}

/* All numbers are used up. */
static COLD void forget_numbers(struct stack_cache *c)
{
	c->epoch++;
	for (size_t i = 0; i < ARRAY_LEN(c->joined); i++)
		c->joined[i] = (struct path_joined){0};
}

static NOINLINE uint32_t branch_number(struct stack_cache *c, struct walk_memo *m)
{
	struct path_branch seen = {.epoch = 0}, *b;
	unsigned n = unwind_path_branch(m, seen.addr);
	uint64_t hash = 0;

	for (unsigned i = 0; i < n; i++)
		hash = (hash ^ seen.addr[i]) * 0x9e3779b97f4a7c15ull;
	b = &c->branch[hash >> (64 - PATH_BRANCHES_BITS)];
	if (b->epoch == c->epoch && !memcmp(b->addr, seen.addr, sizeof(b->addr)))
		return b->number;
	if (unlikely(c->last_branch++ == PATH_MAX_BRANCH)) {
		forget_numbers(c);
		c->last_branch = 1;
	}
	seen.epoch = c->epoch;
	seen.number = c->last_branch;
	*b = seen;
	return b->number;
}

static inline struct path_joined *joined_place(struct stack_cache *c, uint32_t branch,
					       uint32_t outer)
{
	uint32_t hash = branch * 0x85ebca6bu ^ outer * 0x9e3779b1u;

	return &c->joined[hash >> (32 - PATH_JOIN_BITS)];
}

/* The memo joins another stack from now on, which may depend on more than the one before. */
static inline uint32_t take_join(struct stack_cache *c, struct walk_memo *m, uint32_t id)
{
	const struct stack_cache_cold *cold = &c->cold[m->join_n - 1];

	m->join = *walk_memo_join(c, m);
	m->id = id;
	m->has_rest = m->uses_fp || cold->uses_fp || cold->n_extra;
	COUNT_ADD(c->n_known, 1);
	return id;
}

/* The id of the stack that a memo joins now, if it holds; else 0. */
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

uint32_t unwind_path_join(struct unwind_thread *ut, struct walk_memo *m, uintptr_t fp,
			  uint32_t *ret_outer)
{
	struct stack_cache *c = &ut->stack_cache;
	uint32_t outer = outer_of(c, m, fp);
	const struct path_joined *known;

	*ret_outer = outer;
	if (!outer)
		return 0;
	if (unlikely(!m->branch))
		m->branch = branch_number(c, m) & PATH_MAX_BRANCH;
	known = joined_place(c, m->branch, outer);
	if (known->branch != m->branch || known->outer != outer)
		return 0;
	return take_join(c, m, known->id);
}

void unwind_path_joined(struct unwind_thread *ut, struct walk_memo *m, uint32_t id)
{
	struct stack_cache *c = &ut->stack_cache;

	take_join(c, m, id);
	*joined_place(c, m->branch, m->join.id) =
		(struct path_joined){.branch = m->branch, .outer = m->join.id, .id = id};
}
