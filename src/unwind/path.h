/* unwind/path.h - the validated path and its memos, and the question that every event asks of them.
 *
 * unwind.h says why a path is exact. A memo is a branch of it that was seen before: a start, the frame
 * of the path that its walk joined, and every word that it read on the way there. Where the start
 * and these words are the same, and there is an entry of the path that holds where it joined, the
 * walk would be the same up to there: the stack is the one that ends with that entry, and the
 * memo's frames. Mostly it also is the stack that the memo saw last, so that its id is at hand.
 * Nearly every event is told like this, hence inline: one place to look at, found from the
 * start alone, and loads that do not wait for one another.
 *
 * A program that takes apart a large structure has too many branches for that, but nearly all of its
 * starts are called by a frame that is on the path. Such starts are leaves: their caller's place is
 * known from the rule alone, and the stack is that of the caller and one frame more. Everything else is
 * in path.c and path_leaf.c.
 */
#ifndef UNWIND_PATH_H
#define UNWIND_PATH_H

#include <stdatomic.h>

#include "arch/arch.h"
#include "unwind/own_word.h"
#include "unwind/unwind.h"

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

/* What the walk out of a frame needs besides its return address. */
struct path_cold {
	uintptr_t fp; /* frame pointer register in this frame */
	uint32_t n_extra : 31; /* extras of this entry and those outside of it */
	uint32_t uses_fp : 1; /* the walk outwards from here depends on fp */
	uint32_t context; /* see unwind_context() */
};

/* A word that the walk out of an entry reads besides return addresses. */
struct path_extra {
	uintptr_t addr;
	uintptr_t value;
};

/* A frame just walked, innermost first, before it gets its place in the path. */
struct path_fresh {
	struct unwind_path_entry at;
	uintptr_t fp;
	uintptr_t fp_at; /* where the caller's frame pointer was read, 0 = it is unchanged */
	uintptr_t cfa_at; /* where the CFA was read, 0 = it was computed */
	bool uses_fp; /* the CFA was computed from fp */
};

/* Good while epoch is the path's. It joins the path's entry with this number if that has the same slot,
 * and is the stack id if it is the stack join.id that ends there. Places are counted in words from where the start's own return
 * address lies. The second line is looked at only when there are more words or a rest: a frame pointer,
 * extras of the path. */
#define PATH_MEMO_BITS 12
#define PATH_MEMO_WORDS 8
#define PATH_MEMO_NEAR 2 /* of the words, in the first line; and of their places */
#define PATH_MEMO_NEAR_AT 4

struct path_memo {
	_Alignas(64) uintptr_t pc;
	uintptr_t sp;
	uint32_t epoch; /* 0 = empty */
	uint32_t id;
	struct unwind_path_name join;
	uint32_t join_n; /* counted from 1 */
	uint8_t n_words; /* near ones beyond these are copies of one that is checked anyway */
	bool has_rest : 1;
	bool uses_fp : 1; /* fp must be the same */
	bool join_uses_fp : 1; /* so its words include all that tell the frame pointer there */
	uint8_t join_fp_from; /* word that is the frame pointer where it joins; others: fp is */
	uint8_t keys; /* bits: words that are return addresses */
	uint16_t near_at[PATH_MEMO_NEAR_AT];
	uintptr_t near[PATH_MEMO_NEAR];
	uintptr_t far[PATH_MEMO_WORDS - PATH_MEMO_NEAR];
	uint16_t far_at[PATH_MEMO_WORDS - PATH_MEMO_NEAR_AT];
	uintptr_t fp;
};

_Static_assert(sizeof(struct path_memo) == 128, "two cache lines");
_Static_assert(offsetof(struct path_memo, far) == 64, "what is always read is in one of them");

/* i-th word of a memo, and its place. */
static ALWAYS_INLINE uintptr_t *path_memo_word(struct path_memo *m, unsigned i)
{
	return i < PATH_MEMO_NEAR ? &m->near[i] : &m->far[i - PATH_MEMO_NEAR];
}

static ALWAYS_INLINE uint16_t *path_memo_word_at(struct path_memo *m, unsigned i)
{
	return i < PATH_MEMO_NEAR_AT ? &m->near_at[i] : &m->far_at[i - PATH_MEMO_NEAR_AT];
}

/* Words, counted likewise, in which stacks with one start were seen to differ; 0 = none. */
#define PATH_FORK_BITS 10
#define PATH_FORK_WORDS 2

struct path_fork {
	uint16_t at[PATH_FORK_WORDS];
};

/* A start whose caller is mostly on the path, and where: found by the stack pointer or the frame pointer
 * alone, from which places are counted. Good within a generation. */
#define PATH_LEAF_BITS 7

struct path_leaf {
	uintptr_t pc; /* 0 = none */
	uint32_t is_by_fp : 1; /* else by the stack pointer */
	uint32_t caller_at : 31; /* the caller's slot, in bytes */
	uint16_t fp_at; /* the caller's frame pointer, in words, plus 1; 0 = it is unchanged */
	int16_t score; /* see path_leaf.c; below 0 it is no leaf for now */
};

#define PATH_LEAF_MAX_SCORE 128

/* Where in the path an entry with such a slot was put last, counted from 1. */
#define PATH_LEVELS 512u

/* Walks after which it is looked how many of the events they were. */
#define PATH_WINDOW 1024u

/* Entries are outermost first, slots strictly descending, all in the thread's own stack. What every
 * event needs comes first, in one cache line. */
struct path {
	struct unwind_path_entry *entry;
	struct unwind_path_name *name; /* all 0 from n on, as far as this epoch had entries */
	uint32_t n;
	uint32_t epoch; /* of ids and memos; grows when all become void */
	uint32_t generation; /* even; 0 = never */
	bool has_forks; /* forks are in use */
	uint16_t n_leaves; /* in use */
	uint64_t n_known; /* a count for unwind_stats */
	uintptr_t own_lo; /* part of the thread's own stack */
	uintptr_t own_hi;
	uint32_t n_here; /* entries not below the stack pointer when last looked */
	uint32_t n_valid; /* of these, such as hold what they held */
	uint32_t n_kept; /* of the last walk */
	uint32_t n_fresh; /* likewise */
	uint32_t n_joined; /* entries that its memo joins, and frames from the start to there */
	uint32_t n_branch;
	uint32_t n_walks;
	uint64_t n_known_before; /* n_known at the beginning of this window */
	size_t capacity;
	struct path_cold *cold;
	struct path_extra *extra; /* two per frame at most */
	struct path_fresh *fresh;
	struct path_memo *place; /* for the memo of this stack; NULL = not looked for yet */
	struct path_leaf leaf[1u << PATH_LEAF_BITS];
	uint16_t level[PATH_LEVELS];
	struct path_fork fork[1u << PATH_FORK_BITS];
	struct path_memo memo[1u << PATH_MEMO_BITS];
};

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

/* Does the memo belong to this start, has the path an entry where it joins, and do its words hold? That
 * the start lies in the thread's own stack need not be asked: the memo's did. */
static ALWAYS_INLINE bool path_is_memo_of(const struct path *p, struct path_memo *m,
					  const struct unwind_start *start)
{
	uintptr_t differ = 0;

	if (unlikely(m->pc != start->pc || m->sp != start->sp || m->epoch != p->epoch ||
		     p->name[(size_t)m->join_n - 1].slot != m->join.slot))
		return false;
	for (unsigned i = 0; i < PATH_MEMO_NEAR; i++)
		differ |= memory_load_own(path_place(start->sp, m->near_at[i])) ^ m->near[i];
	for (unsigned i = PATH_MEMO_NEAR; i < m->n_words; i++)
		differ |= memory_load_own(path_place(start->sp, *path_memo_word_at(m, i))) ^
			  *path_memo_word(m, i);
	return !differ;
}

/* Would the walk be the memo's, up to where it joins the path, and does the path hold there? */
static ALWAYS_INLINE bool unwind_path_holds(struct unwind_thread *ut, struct path_memo *m,
					    const struct unwind_start *start)
{
	struct path *p = (struct path *)ut;

	return likely(p->generation == generation_now() && path_is_memo_of(p, m, start) &&
		      !path_any_differs(p->entry, m->join_n));
}

/* The rest of unwind_path_id(): frame pointers and extras. */
bool path_rest_holds(const struct path *p, struct path_memo *m, uintptr_t fp);

/* The id of the stack, if a memo that holds joins the stack that it joined before; else 0: then
 * unwind_path_join() must be asked. */
static ALWAYS_INLINE uint32_t unwind_path_id(struct unwind_thread *ut, struct path_memo *m,
					     const struct unwind_start *start)
{
	struct path *p = (struct path *)ut;

	if (unlikely(p->name[(size_t)m->join_n - 1].id != m->join.id) ||
	    (unlikely(m->has_rest) && !path_rest_holds(p, m, start->fp)))
		return 0;
	COUNT_ADD(p->n_known, 1);
	return m->id;
}

/* The id of the stack that a memo that holds joins now; 0: it does not, or that has none.
 * unwind_path_branch() tells the frames inside of it. */
uint32_t unwind_path_join(struct unwind_thread *ut, struct path_memo *m, uintptr_t fp);

/* The addresses of the memo's frames inside of the join, outermost first; returns how many. */
#define UNWIND_PATH_BRANCH (PATH_MEMO_WORDS + 1)
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
