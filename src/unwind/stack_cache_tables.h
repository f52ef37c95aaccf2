/* unwind/stack_cache_tables.h - the data of a thread's stack cache, which stack_cache.h explains.
 *
 * The cached stack. A stack grows down, so its outermost frame lies at the highest address. Here
 * main calls run, run calls parse, parse calls push, and push calls malloc:
 *
 *      stack memory                the cached stack, outermost frame first
 *   +-------------------+
 *   | return into main  | <-slot-- entry[0] addr=main+20   stack_id[0].id=1  cold[0]
 *   | locals of run     |
 *   +-------------------+
 *   | return into run   | <-slot-- entry[1] addr=run+48    stack_id[1].id=2  cold[1]  <-- join of
 *   | locals of parse   |                                                             the memo
 *   +-------------------+
 *   | return into parse | <-slot-- entry[2] addr=parse+90  stack_id[2].id=7  cold[2]
 *   | locals of push    |          (word 5 of the memo)
 *   +-------------------+ <-- start.sp
 *   | return into push  | <-slot-- entry[3] addr=push+12   stack_id[3].id=9  cold[3]
 *   | frame of malloc   |          (word 0: the start, start.pc = push+12)
 *
 * entry[k], stack_id[k] and cold[k] describe one frame: where its return address lies and what it
 * was; the id of the stack that ends with this frame; what else the walk outwards from this frame
 * needs.
 *
 * A memo, by example. At the first event entry[0] and entry[1] were cached, and the walk from
 * push+12 found push and parse before it met entry[1]. The memo of that walk holds
 *
 *   pc = push+12, sp          the start; a hash of both gives the index in memo[]
 *   word at +5 = parse+90     every word that decided the walk, except the join's return address
 *   join_n = 2                the walk met entry[join_n - 1]
 *   join = {id 2, low half of the slot of entry[1]}    the stack that the walk met
 *   id = 9                    the stack that the walk found
 *   suffix_id                 names the frames {parse+90, push+12} once they are needed
 *
 * A later event with the same pc and sp has stack 9 if word 5 still is parse+90, if entry[0] and
 * entry[1] still hold, and if stack_id[1] still equals join. No rule is looked up.
 *
 * Another later event: main has called serve instead of run, and serve has called parse. A walk has
 * put serve onto the cached stack: entry[1] has the same slot as before, addr=serve+30 and the id
 * 4. The memo still holds up to its join, but join has the id 2. Then join[] is asked for
 * (suffix_id, 4): it may know the id of the stack main, serve, parse, push (join_cache.h).
 *
 *   start --hash--> memo[] --join_n--> entry[] / stack_id[]
 *             ^       \--suffix_id, id of the outer stack--> join[] --> id
 *             |                ^
 *         selector[]        suffix[]: frames --> suffix_id
 *   start.pc --> hint[] --slot of the caller--> index_of[] --> entry[]
 *
 * Read: a hash of the start is the index in memo[]; join_n of the memo is the index of the joined
 * entry; the suffix id of the memo and the id of the joined stack are looked up in join[]. While
 * uses_selectors is set, the words that selector[] names are part of the hash.
 *
 * Offsets of words are counted in words from the word that holds the start's own return address.
 * Threads: a cache belongs to one thread at a time, like the struct unwind_thread that it is part
 * of. Memory: entry, stack_id, cold, extra and fresh lie in memory of the recorder
 * (stack_cache_set_memory()), all other tables in the struct.
 */
#ifndef UNWIND_STACK_CACHE_TABLES_H
#define UNWIND_STACK_CACHE_TABLES_H

#include "unwind/stack_word.h"
#include "unwind/unwind.h"

struct stack_cache_entry {
	uintptr_t slot; /* where the return address lies: the frame's sp + ARCH_RA_OFFSET */
	uintptr_t addr; /* the return address, as in unwind_frames */
};

/* The recorder names stacks by ids, which the cache keeps. */
struct stack_cache_id {
	_Alignas(8) uint32_t id; /* of the stack that ends with the entry; 0 = none yet */
	uint32_t slot; /* low half of the entry's slot. Only the cache uses it. A cached stack
			  has less than 4 GiB, so no two entries have the same low half. */
};

/* What the walk outwards from a frame needs besides the return address. */
struct stack_cache_cold {
	uintptr_t fp; /* frame pointer register in this frame */
	uint32_t n_extra : 26; /* extras of this entry and of all entries outside it */
	uint32_t end : 4; /* of entry[0]: why the stack ends there, an enum unwind_end */
	uint32_t is_guess : 1; /* the frame pointer alone led from here to the caller */
	uint32_t uses_fp : 1; /* the walk outwards from here depends on fp */
	uint32_t stack_hash; /* see stack_hash.h; of the stack that ends with this entry */
};

/* A word, other than a return address, that the walk outwards from an entry reads. */
struct stack_cache_extra {
	uintptr_t addr;
	uintptr_t value;
};

/* A frame that the last walk found, before the frame becomes an entry. Innermost frame first. */
struct stack_cache_fresh {
	struct stack_cache_entry at;
	uintptr_t fp;
	uintptr_t fp_at; /* where the caller's frame pointer was read, 0 = fp is unchanged. Of the
			    outermost frame of a stack that is cut: the word that made the walk
			    cut it there; 0 = none */
	uintptr_t cfa_at; /* where the CFA was read, 0 = it was computed */
	bool uses_fp; /* the CFA was computed from fp */
	bool is_guess; /* the frame pointer alone led to the caller */
	uint8_t end; /* of the outermost frame: why the stack ends there */
};

#define WALK_MEMO_BITS 12
#define WALK_MEMO_WORDS 8
#define WALK_MEMO_NEAR 2 /* values of words that lie in the first cache line of a memo */
#define WALK_MEMO_NEAR_AT 4 /* offsets of words that lie there */
#define MEMO_SUFFIX_ID_BITS 24
#define MEMO_SUFFIX_MAX_ID ((1u << MEMO_SUFFIX_ID_BITS) - 1)

/* A walk that was seen before: see the example above. Valid while epoch is the epoch of the cache
 * and the generation of the cache is unwind_generation(): a new generation raises epoch only at the
 * next walk. Word i has its value in near[i] or far[i - 2], and its offset in near_at[i] or
 * far_at[i - 4]. The second cache line is read only when there are more than two words or has_rest
 * is set. */
struct walk_memo {
	_Alignas(64) uintptr_t pc; /* of the start */
	uintptr_t sp; /* of the start */
	uint32_t epoch; /* 0 = empty */
	uint32_t id; /* of the stack that the walk found, when it joins the stack join.id */
	struct stack_cache_id join;
	uint16_t join_n; /* the walk joins entry[join_n - 1] */
	uint8_t n_words; /* an unused word of near[] is the start's return address, at offset 0,
			    which always compares equal */
	bool has_guess : 1; /* one of the memo's frames inside the join is a guess */
	bool has_rest : 1; /* a frame pointer or extras must be compared as well */
	bool uses_fp : 1; /* the frame pointer of the start must be the same */
	bool join_uses_fp : 1; /* the joined stack needed fp: the memo knows fp at the join, and
				  compares fp with the join's cold[].fp */
	uint8_t join_fp_from : 4; /* index of the word that is fp at the join;
				     WALK_MEMO_WORDS = fp at the join is the start's fp */
	uint32_t suffix_id : MEMO_SUFFIX_ID_BITS; /* an id, not a count; 0 = none yet */
	uint32_t return_words : WALK_MEMO_WORDS; /* bit i: word i is a return address */
	uint16_t near_at[WALK_MEMO_NEAR_AT];
	uintptr_t near[WALK_MEMO_NEAR];
	uintptr_t far[WALK_MEMO_WORDS - WALK_MEMO_NEAR];
	uint16_t far_at[WALK_MEMO_WORDS - WALK_MEMO_NEAR_AT];
	uintptr_t fp; /* of the start */
};

_Static_assert(sizeof(struct walk_memo) == 128, "two cache lines");
_Static_assert(offsetof(struct walk_memo, far) == 64, "what is always read is in one of them");

/* The frames of a memo inside its join, outermost first, and the id that stands for them. */
#define MEMO_SUFFIX_FRAMES (WALK_MEMO_WORDS + 1)
#define MEMO_SUFFIX_BITS 9

struct memo_suffix {
	uint32_t id;
	uint32_t epoch; /* of the cache; 0 = empty */
	uintptr_t addr[MEMO_SUFFIX_FRAMES]; /* unused ones are 0 */
};

/* The frames of the suffix suffix_id, called from the stack outer, make the stack id. Entries need
 * no epoch: a new epoch gives new suffix ids, and when all suffix ids are used up join[] is
 * emptied. */
#define JOIN_CACHE_BITS 11

struct join_cache_entry {
	uint32_t suffix_id; /* 0 = empty */
	uint32_t outer;
	uint32_t id;
};

/* Offsets of words in which stacks with one start were seen to differ; 0 = none. The values of
 * these words choose among the memos of the start. */
#define MEMO_SELECTOR_BITS 10
#define MEMO_SELECTOR_WORDS 2

struct memo_selector {
	uint16_t at[MEMO_SELECTOR_WORDS];
};

/* Where the caller of a start lies: the caller is mostly on the cached stack, and the stack pointer
 * or the frame pointer of the start (the base) is enough to find it. Valid within a generation. */
#define CALLER_HINT_BITS 7

struct caller_hint {
	uintptr_t pc; /* of the start; 0 = none */
	uint32_t is_by_fp : 1; /* the base is the frame pointer, else the stack pointer */
	uint32_t caller_at : 31; /* the caller's slot minus the base, in bytes */
	uint16_t fp_at; /* word, from the base, that holds the caller's frame pointer, plus 1;
			   0 = the frame pointer is unchanged */
	int16_t score; /* see caller_hint.c; below 0 the hint is not used for now */
};

#define CALLER_HINT_MAX_SCORE 128

#define STACK_CACHE_INDEXES 512u

/* Every STACK_CACHE_WINDOW walks the cache looks how many events there were. If more than one of
 * eight events needed a walk, uses_selectors becomes true for good. */
#define STACK_CACHE_WINDOW 1024u

/* The number of entries in front of entry[0] that always compare equal: see
 * stack_cache_any_differs(). */
#define STACK_CACHE_SENTINELS 4

/* Always: slots descend strictly from entry[0] to entry[n - 1], all of them lie in [own_lo,
 * own_hi), n_extra does not descend, and n_here <= n <= capacity. The fields that every event reads
 * come first, in one cache line. */
struct stack_cache {
	struct stack_cache_entry *entry;
	struct stack_cache_id *stack_id; /* 0 from n on up to the largest n of this epoch, then
					    anything */
	uint32_t n;
	uint32_t epoch; /* of memos and suffixes; grows when all of them become void */
	uint32_t generation; /* of entries, memos and hints: even; 0 = nothing was walked yet */
	bool uses_selectors; /* walks became frequent: selectors and caller hints are in use */
	uint16_t n_hints; /* hints whose score is not below 0 */
	uint64_t n_known; /* stacks found without a walk: a count for unwind_stats */
	uintptr_t own_lo; /* the thread's own stack, as far as it is known to be readable */
	uintptr_t own_hi;
	uint32_t n_here; /* entries not below the stack pointer when last looked */
	uint32_t n_valid; /* valid entries, from stack_cache_find() to the end of the walk */
	uint32_t n_kept; /* entries of the last walk's stack ... */
	uint32_t n_fresh; /* ... and its innermost frames that did not become entries */
	uint32_t memo_join_n; /* the memo of the last walk joins entry[memo_join_n - 1] ... */
	uint32_t memo_n_fresh; /* ... and has so many of the fresh frames inside the join */
	uint32_t n_walks;
	uint64_t n_known_before; /* n_known at the beginning of this window */
	size_t capacity;
	struct stack_cache_cold *cold;
	struct stack_cache_extra *extra; /* two per frame at most; outermost entry's first */
	struct stack_cache_fresh *fresh;
	struct walk_memo *memo_slot; /* where the memo of this stack goes; NULL = not known yet */
	uint32_t last_suffix_id; /* the last one that was given */
	struct caller_hint hint[1u << CALLER_HINT_BITS];
	uint16_t index_of[STACK_CACHE_INDEXES]; /* see stack_cache_index_of() */
	struct memo_selector selector[1u << MEMO_SELECTOR_BITS];
	struct join_cache_entry join[1u << JOIN_CACHE_BITS];
	struct memo_suffix suffix[1u << MEMO_SUFFIX_BITS];
	struct walk_memo memo[1u << WALK_MEMO_BITS];
};

/* The cache of an unwinder: its first member, as stack_cache.c asserts. */
static ALWAYS_INLINE struct stack_cache *stack_cache_of(struct unwind_thread *ut)
{
	return (struct stack_cache *)ut;
}

/* 0 if the entry's slot still holds its return address. */
static ALWAYS_INLINE uintptr_t stack_cache_entry_differs(const struct stack_cache_entry *e)
{
	return stack_word_load(e->slot) ^ e->addr;
}

/* 0 if all of the first n entries hold. Compares four at a time; the last four may overlap those
 * before them or reach into the sentinels, so that a stack one frame longer or shorter takes the
 * same branches. */
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

/* Whether the extras of the first n entries (n > 0) all hold what they held. */
bool stack_cache_extras_hold(const struct stack_cache *c, size_t n);

/* How many of the first n entries (n > 0) hold, as far as their extras say. */
size_t stack_cache_count_extras_hold(const struct stack_cache *c, size_t n);

/* k + 1, if entry[k] was added last among the entries whose slots hash alike; 0 = there was none.
 * Only a guess: entry[k] may be gone, and k + 1 is cut to 16 bits. So compare entry[k].slot. */
static ALWAYS_INLINE uint16_t *stack_cache_index_of(struct stack_cache *c, uintptr_t slot)
{
	return &c->index_of[(slot >> 4) % STACK_CACHE_INDEXES];
}

/* Asserts what struct stack_cache promises. In tests, and after each walk with -Dchecks=full. */
void stack_cache_check(const struct stack_cache *c);

#endif
