/* unwind/stack_cache_tables.h - what a thread's validated path is made of: see stack_cache.h. */
#ifndef UNWIND_STACK_CACHE_TABLES_H
#define UNWIND_STACK_CACHE_TABLES_H

#include "unwind/unwind.h"

/* What the walk out of a frame needs besides its return address. */
struct stack_cache_cold {
	uintptr_t fp; /* frame pointer register in this frame */
	uint32_t n_extra : 31; /* extras of this entry and those outside of it */
	uint32_t uses_fp : 1; /* the walk outwards from here depends on fp */
	uint32_t stack_hash; /* see stack_hash_add() */
};

/* A word that the walk out of an entry reads besides return addresses. */
struct stack_cache_extra {
	uintptr_t addr;
	uintptr_t value;
};

/* A frame just walked, innermost first, before it gets its place in the cache. */
struct stack_cache_fresh {
	struct stack_cache_entry at;
	uintptr_t fp;
	uintptr_t fp_at; /* where the caller's frame pointer was read, 0 = it is unchanged */
	uintptr_t cfa_at; /* where the CFA was read, 0 = it was computed */
	bool uses_fp; /* the CFA was computed from fp */
};

/* Good while epoch is the cache's. It joins the cache's entry with this number if that has the same slot,
 * and is the stack id if it is the stack join.id that ends there. Places are counted in words from where the start's own return
 * address lies. The second line is looked at only when there are more words or a rest: a frame pointer,
 * extras of the cache. */
#define WALK_MEMO_BITS 12
#define WALK_MEMO_WORDS 8
#define WALK_MEMO_NEAR 2 /* of the words, in the first line; and of their places */
#define WALK_MEMO_NEAR_AT 4
#define MEMO_SUFFIX_ID_BITS 24
#define MEMO_SUFFIX_MAX_ID ((1u << MEMO_SUFFIX_ID_BITS) - 1)

struct walk_memo {
	_Alignas(64) uintptr_t pc;
	uintptr_t sp;
	uint32_t epoch; /* 0 = empty */
	uint32_t id;
	struct stack_cache_id join;
	uint16_t join_n; /* counted from 1 */
	uint8_t n_words; /* near ones beyond these are copies of one that is checked anyway */
	bool has_rest : 1;
	bool uses_fp : 1; /* fp must be the same */
	bool join_uses_fp : 1; /* so its words include all that tell the frame pointer there */
	uint8_t join_fp_from : 4; /* word that is the frame pointer where it joins; others: fp is */
	uint32_t suffix_id
	    : MEMO_SUFFIX_ID_BITS; /* number of its frames inside of the join; 0 = none yet */
	uint32_t keys : WALK_MEMO_WORDS; /* bits: words that are return addresses */
	uint16_t near_at[WALK_MEMO_NEAR_AT];
	uintptr_t near[WALK_MEMO_NEAR];
	uintptr_t far[WALK_MEMO_WORDS - WALK_MEMO_NEAR];
	uint16_t far_at[WALK_MEMO_WORDS - WALK_MEMO_NEAR_AT];
	uintptr_t fp;
};

_Static_assert(sizeof(struct walk_memo) == 128, "two cache lines");
_Static_assert(offsetof(struct walk_memo, far) == 64, "what is always read is in one of them");

/* i-th word of a memo, and its place. */
static ALWAYS_INLINE uintptr_t *walk_memo_word(struct walk_memo *m, unsigned i)
{
	return i < WALK_MEMO_NEAR ? &m->near[i] : &m->far[i - WALK_MEMO_NEAR];
}

static ALWAYS_INLINE uint16_t *walk_memo_word_at(struct walk_memo *m, unsigned i)
{
	return i < WALK_MEMO_NEAR_AT ? &m->near_at[i] : &m->far_at[i - WALK_MEMO_NEAR_AT];
}

/* The frames of a memo inside of its join, outermost first, and their number. */
#define MEMO_SUFFIX_FRAMES (WALK_MEMO_WORDS + 1)
#define MEMO_SUFFIX_BITS 9

struct memo_suffix {
	uint32_t id;
	uint32_t epoch; /* of the cache; 0 = empty */
	uintptr_t addr[MEMO_SUFFIX_FRAMES]; /* those that are missing: 0 */
};

/* The branch with this number, called from the stack outer, is the stack id. */
#define JOIN_CACHE_BITS 11

struct join_cache_entry {
	uint32_t suffix_id; /* 0 = empty */
	uint32_t outer;
	uint32_t id;
};

/* Words, counted likewise, in which stacks with one start were seen to differ; 0 = none. */
#define MEMO_SELECTOR_BITS 10
#define MEMO_SELECTOR_WORDS 2

struct memo_selector {
	uint16_t at[MEMO_SELECTOR_WORDS];
};

/* A start whose caller is mostly on the cache, and where: found by the stack pointer or the frame pointer
 * alone, from which places are counted. Good within a generation. */
#define CALLER_HINT_BITS 7

struct caller_hint {
	uintptr_t pc; /* 0 = none */
	uint32_t is_by_fp : 1; /* else by the stack pointer */
	uint32_t caller_at : 31; /* the caller's slot, in bytes */
	uint16_t fp_at; /* the caller's frame pointer, in words, plus 1; 0 = it is unchanged */
	int16_t score; /* see caller_hint.c; below 0 it is no leaf for now */
};

#define CALLER_HINT_MAX_SCORE 128

/* Where in the cache an entry with such a slot was put last, counted from 1. */
#define STACK_CACHE_INDEXES 512u

/* Walks after which it is looked how many of the events they were. */
#define STACK_CACHE_WINDOW 1024u

/* Entries are outermost first, slots strictly descending, all in the thread's own stack. What every
 * event needs comes first, in one cache line. */
struct stack_cache {
	struct stack_cache_entry *entry;
	struct stack_cache_id *stack_id; /* all 0 from n on, as far as this epoch had entries */
	uint32_t n;
	uint32_t epoch; /* of ids and memos; grows when all become void */
	uint32_t generation; /* even; 0 = never */
	bool uses_selectors; /* forks are in use */
	uint16_t n_hints; /* in use */
	uint64_t n_known; /* a count for unwind_stats */
	uintptr_t own_lo; /* part of the thread's own stack */
	uintptr_t own_hi;
	uint32_t n_here; /* entries not below the stack pointer when last looked */
	uint32_t n_valid; /* of these, such as hold what they held */
	uint32_t n_kept; /* of the last walk */
	uint32_t n_fresh; /* likewise */
	uint32_t memo_join_n; /* entries that its memo joins, and frames from the start to there */
	uint32_t memo_n_fresh;
	uint32_t n_walks;
	uint64_t n_known_before; /* n_known at the beginning of this window */
	size_t capacity;
	struct stack_cache_cold *cold;
	struct stack_cache_extra *extra; /* two per frame at most */
	struct stack_cache_fresh *fresh;
	struct walk_memo *memo_slot; /* for the memo of this stack; NULL = not looked for yet */
	uint32_t last_suffix_id; /* the last number that was given */
	struct caller_hint hint[1u << CALLER_HINT_BITS];
	uint16_t index_of[STACK_CACHE_INDEXES];
	struct memo_selector selector[1u << MEMO_SELECTOR_BITS];
	struct join_cache_entry join[1u << JOIN_CACHE_BITS];
	struct memo_suffix suffix[1u << MEMO_SUFFIX_BITS];
	struct walk_memo memo[1u << WALK_MEMO_BITS];
};

#endif
