/* unwind/path.h - the validated path and its memos, and the question that every event asks of them.
 *
 * unwind.h says why a path is exact. A memo is a branch of it that was seen before: a start, the frame
 * of the path that its walk joined, and every word that it read on the way there. Where the start
 * and these words are the same, and there is an entry of the path that holds where it joined, the
 * walk would be the same up to there: the stack is the one that ends with that entry, and the
 * memo's frames. Mostly it also is the stack that the memo saw last, so that its id is at hand;
 * else it mostly is one that such a branch made of that entry's stack before (path_join.c).
 * Nearly every event is told like this, hence inline: one place to look at, found from the
 * start alone, and loads that do not wait for one another.
 *
 * A program that takes apart a large structure has too many branches for that, but nearly all of its
 * starts are called by a frame that is on the path. Such starts are leaves: their caller's place is
 * known from the rule alone, and the stack is that of the caller and one frame more. Everything else is
 * in path.c, path_join.c and path_leaf.c.
 */
#ifndef UNWIND_PATH_H
#define UNWIND_PATH_H

#include <stdatomic.h>
#include <string.h>

#include "arch/arch.h"
#include "unwind/own_word.h"
#include "unwind/path_tables.h"

/* Low half: unwind_generation(). See generation.c. */
extern HIDDEN _Atomic uint64_t generation_state;

static ALWAYS_INLINE uint32_t generation_now(void)
{
	return (uint32_t)atomic_load_explicit(&generation_state, memory_order_acquire);
}

/* A hash of the stack that ends with this frame, made of nothing but addresses. */
static ALWAYS_INLINE uint32_t unwind_context(uint32_t outer, uintptr_t addr)
{
	return ((outer << 15 | outer >> 17) ^ (uint32_t)addr) * 0x9e3779b1u;
}

/* A call from a stack as one word. Two calls from one stack are the same word only if they are the same;
 * calls from different stacks hardly ever are. So a table of calls can be looked into before the
 * id of the calling stack is known. */
static ALWAYS_INLINE uint64_t unwind_call(uint32_t context, uintptr_t addr)
{
	return addr ^ (uint64_t)context << 32;
}

static ALWAYS_INLINE uint64_t path_hash(const struct unwind_start *start)
{
	return (start->pc ^ start->sp << 16) * 0x9e3779b97f4a7c15ull;
}

static ALWAYS_INLINE uintptr_t path_place(uintptr_t sp, uint32_t at)
{
	return sp + (uintptr_t)ARCH_RA_OFFSET + at * sizeof(uintptr_t);
}

static ALWAYS_INLINE struct path_fork *path_fork_of(struct path *p,
						    const struct unwind_start *start)
{
	return &p->fork[path_hash(start) >> (64 - PATH_FORK_BITS)];
}

/* What another start has left here may lead out of the stack. */
static ALWAYS_INLINE uintptr_t path_fork_word(const struct path *p, uintptr_t sp, uint16_t at)
{
	uintptr_t addr = path_place(sp, at) & -sizeof(uintptr_t);

	return addr - p->own_lo < p->own_hi - p->own_lo ? memory_load_own(addr) : 0;
}

static ALWAYS_INLINE uint64_t path_fork_hash(struct path *p, const struct unwind_start *start)
{
	const struct path_fork *fork = path_fork_of(p, start);

	return (path_fork_word(p, start->sp, fork->at[0]) * 0xc4ceb9fe1a85ec53ull) ^
	       (path_fork_word(p, start->sp, fork->at[1]) * 0x94d049bb133111ebull);
}

/* The place of a memo comes from its start alone, until too many stacks have one start: then also from
 * the words in which those were seen to differ. A place is no more than a guess where to look: a memo
 * is compared with everything that it stands for. */
static ALWAYS_INLINE struct path_memo *unwind_path_look_for(struct unwind_thread *ut,
							    const struct unwind_start *start)
{
	struct path *p = (struct path *)ut;
	uint64_t hash = path_hash(start);
	struct path_memo *m;

	if (unlikely(p->has_forks))
		hash += path_fork_hash(p, start);
	m = &p->memo[hash >> (64 - PATH_MEMO_BITS)];
	FORGET_ORIGIN(m); /* one register to keep, not what it was made of */
	return m;
}

/* Is a return address not what it was? 0 = it is. */
static ALWAYS_INLINE uintptr_t path_differs(const struct unwind_path_entry *e)
{
	return memory_load_own(e->slot) ^ e->addr;
}

/* The same of the first n entries. Four at a time; the last four may overlap those before them, so
 * that a path one frame longer or shorter does not surprise the CPU. In front of the first entry lie
 * PATH_SENTINELS that never differ. */
#define PATH_SENTINELS 4

static ALWAYS_INLINE uintptr_t path_any_differs(const struct unwind_path_entry *e, uint32_t n)
{
	const struct unwind_path_entry *last = e + n - 4;
	uintptr_t differ = 0;

	for (; e < last; e += 4)
		differ |= path_differs(e) | path_differs(e + 1) | path_differs(e + 2) |
			  path_differs(e + 3);
	return differ | path_differs(last) | path_differs(last + 1) | path_differs(last + 2) |
	       path_differs(last + 3);
}

/* Does the memo belong to this start? That this lies in the thread's own stack need not be asked: the
 * memo's did. */
static ALWAYS_INLINE bool unwind_path_is_of(struct unwind_thread *ut, const struct path_memo *m,
					    const struct unwind_start *start)
{
	const struct path *p = (const struct path *)ut;

	return likely(p->generation == generation_now() && m->pc == start->pc &&
		      m->sp == start->sp && m->epoch == p->epoch);
}

/* The name of the entry that a memo of the path's epoch joins. */
static ALWAYS_INLINE struct unwind_path_name *path_join_of(const struct path *p,
							   const struct path_memo *m)
{
	return &p->name[(size_t)m->join_n - 1];
}

/* Does a memo of the path's epoch join the stack that it joined before? Else unwind_path_join() must be
 * asked. */
static ALWAYS_INLINE bool unwind_path_is_as_before(struct unwind_thread *ut,
						   const struct path_memo *m)
{
	const struct unwind_path_name *join = path_join_of((const struct path *)ut, m);

	return likely(!memcmp(join, &m->join, sizeof(*join)));
}

/* The words of the memo that do not hold: 0 = they do. */
static ALWAYS_INLINE uintptr_t path_memo_differs(struct path_memo *m, uintptr_t sp)
{
	uintptr_t differ = 0;

	for (unsigned i = 0; i < PATH_MEMO_NEAR; i++)
		differ |= memory_load_own(path_place(sp, m->near_at[i])) ^ m->near[i];
	for (unsigned i = PATH_MEMO_NEAR; i < m->n_words; i++)
		differ |= memory_load_own(path_place(sp, *path_memo_word_at(m, i))) ^
			  *path_memo_word(m, i);
	return differ;
}

/* Frame pointers and extras. */
bool path_rest_holds(const struct path *p, struct path_memo *m, uintptr_t fp);

/* The id of the stack, if the memo is of this start and joins what it joined before; else 0. Would the
 * walk be the memo's, up to where it joins the path, and does the path hold there? */
static ALWAYS_INLINE uint32_t unwind_path_id(struct unwind_thread *ut, struct path_memo *m,
					     const struct unwind_start *start)
{
	struct path *p = (struct path *)ut;

	if (unlikely(path_memo_differs(m, start->sp) | path_any_differs(p->entry, m->join_n)) ||
	    (unlikely(m->has_rest) && !path_rest_holds(p, m, start->fp)))
		return 0;
	COUNT_ADD(p->n_known, 1);
	if (!m->id)
		__builtin_unreachable();
	return m->id;
}

/* The id of the stack that a memo of this start makes of the one that it joins now, if that was told before.
 * Else 0, and *ret_outer is the id of the stack that it joins: unwind_path_branch() tells the
 * frames inside of it, and unwind_path_joined() is to be told what they make of it. If that is 0 too,
 * the memo does not hold. */
uint32_t unwind_path_join(struct unwind_thread *ut, struct path_memo *m, uintptr_t fp,
			  uint32_t *ret_outer);

/* The addresses of the memo's frames inside of the join, outermost first; returns how many. */
unsigned unwind_path_branch(struct path_memo *m, uintptr_t *ret);

/* The memo is that of this stack from now on. */
void unwind_path_joined(struct unwind_thread *ut, struct path_memo *m, uint32_t id);

static ALWAYS_INLINE struct path_leaf *path_leaf_of(struct path *p, uintptr_t pc)
{
	return &p->leaf[pc * 0x9e3779b97f4a7c15ull >> (64 - PATH_LEAF_BITS)];
}

static ALWAYS_INLINE uintptr_t path_leaf_base(const struct path_leaf *leaf,
					      const struct unwind_start *start)
{
	return leaf->is_by_fp ? start->fp : start->sp;
}

static ALWAYS_INLINE uint16_t *path_level_of(struct path *p, uintptr_t slot)
{
	return &p->level[(slot >> 4) % PATH_LEVELS];
}

/* Should unwind_path_caller() be asked, and no memo? */
static ALWAYS_INLINE bool unwind_path_is_leaf(struct unwind_thread *ut,
					      const struct unwind_start *start)
{
	struct path *p = (struct path *)ut;
	const struct path_leaf *leaf = path_leaf_of(p, start->pc);

	return unlikely(p->has_forks) && p->n_leaves && leaf->pc == start->pc && leaf->score >= 0;
}

/* The rest of unwind_path_caller(), for callers that depend on a frame pointer or on extras. */
bool path_leaf_rest_holds(const struct path *p, const struct path_leaf *leaf, uint32_t n,
			  uintptr_t base, uintptr_t fp);
void path_leaf_missed(struct path *p, struct path_leaf *leaf);

/* The context of the stack that ends with the n-th entry, counted from 1; of none: 0. */
static ALWAYS_INLINE uint32_t unwind_path_context(const struct unwind_thread *ut, size_t n)
{
	return n ? ((const struct path *)ut)->cold[n - 1].context : 0;
}

/* The id of the stack of a leaf's caller, else 0: then unwind_path_known() must be asked. The walk would
 * begin with the leaf's rule and arrive at this entry, and what is outside of it still holds. (Below
 * the stack pointer, where a stray frame pointer may lead, words hold that mean nothing.) */
static ALWAYS_INLINE uint32_t unwind_path_caller(struct unwind_thread *ut,
						 const struct unwind_start *start,
						 uint32_t *ret_context)
{
	struct path *p = (struct path *)ut;
	struct path_leaf *leaf = path_leaf_of(p, start->pc);
	uintptr_t base = path_leaf_base(leaf, start);
	uintptr_t slot = base + leaf->caller_at;
	uint32_t n = *path_level_of(p, slot);
	const struct path_cold *cold = &p->cold[(ptrdiff_t)n - 1];

	if (unlikely(n == 0 || n > p->n || p->entry[n - 1].slot != slot || slot <= start->sp ||
		     p->generation != generation_now() || path_any_differs(p->entry, n)) ||
	    (unlikely(cold->n_extra || cold->uses_fp) &&
	     !path_leaf_rest_holds(p, leaf, n, base, start->fp))) {
		path_leaf_missed(p, leaf);
		return 0;
	}
	leaf->score += leaf->score < PATH_LEAF_MAX_SCORE;
	*ret_context = cold->context;
	return p->name[n - 1].id;
}

/* The stack that came of it was known. */
static ALWAYS_INLINE void unwind_path_count_known(struct unwind_thread *ut)
{
	COUNT_ADD(((struct path *)ut)->n_known, 1);
}

#endif
