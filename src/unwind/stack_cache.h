/* unwind/stack_cache.h - the last stack is kept; only what has changed is walked.
 *
 * A call of malloc comes from nearly the same stack as the call before. The cache holds the last
 * stack as entries (slot, return address), outermost first. The recorder gives an id to each stack;
 * the cache keeps, for each entry, the id of the stack that ends with this entry.
 * stack_cache_tables.h has a drawing.
 *
 * The start of a walk (struct unwind_start) is the frame that called malloc: pc, sp and fp. An
 * entry is valid if this entry and all entries outside it still hold what they held. An event asks,
 * in this order, until one of them knows the id:
 *
 *   1. caller_hint.h: a hint says which entry is the caller of the start. If this entry is valid,
 *      the stack is the stack of this entry and one frame more. Hints exist only once walks have
 *      become frequent (stack_cache::uses_selectors). A start with a hint skips 2.
 *   2. walk_memo.h: a memo says that a walk from this start read certain words and then met a
 *      certain entry. If the words are the same and the entry is valid, the walk would be the same.
 *      The memo has the id of the stack. If the id of the entry's stack has changed since then, the
 *      memo's id does not fit any more: join_cache.h is asked.
 *   3. stack_cache_find(): counts the valid entries. Then it looks at both memos that a start may
 *      have (2 looks at the first only). While uses_selectors is set a start has one memo; instead
 *      it looks whether the start itself is the innermost valid entry.
 *   4. stack_cache_walk(): walks from the start until the walk meets a valid entry.
 *   5. unwind_walk(): for stacks that are not simple.
 *
 * Nearly every event is answered by 1 or 2, which are inline. They look at one hint or one memo,
 * which a hash finds, and their loads do not wait for one another.
 *
 * Why the answer is exact. A walk is a function of three things: the registers it starts with, the
 * rules (constant within a generation), and the words that it reads.
 *   1. Of each frame the cache has the stack slot that holds the return address. Where the walk
 *      outwards depends on other words (a saved frame pointer, a CFA in memory), the cache has
 *      these words too, as extras.
 *   2. Before a part of the cached stack is used, every such word of this part is read and
 *      compared.
 *   3. A walk meets an entry only if it arrives with the entry's slot and return address, and, if
 *      the walk outwards from there needs the frame pointer, with the entry's frame pointer.
 *   4. So from a valid entry that a walk meets, a full walk would go on with the same registers and
 *      the same words: it would find the frames of the cache.
 *
 * Nothing else is assumed. A frame that was left and entered again by another function, a stack
 * that longjmp or an exception cut, a slot that happens to hold an old value: all of these compare
 * equal only where a full walk would read the same words as well.
 *
 * Entries below the stack pointer are not compared and not used. They stay until a walk puts other
 * entries in their place. If the stack grows down over them again, they are compared like all
 * others.
 *
 * Only simple stacks are cached: the whole stack lies on the thread's own stack, and each frame's
 * CFA (the stack pointer of its caller) is sp + n, fp + n or the word at fp + n. A frame whose code
 * was learned to keep a frame pointer is simple, and is marked as a guess. A stack that is cut off
 * is simple if the verdict is a rule too (learned_i.h); entry[0] says why it is cut.
 * docs/internals/unwinder.md says what each part was measured to bring.
 *
 * Threads: the cache is part of a struct unwind_thread and has the same one user. Nothing here
 * allocates.
 */
#ifndef UNWIND_STACK_CACHE_H
#define UNWIND_STACK_CACHE_H

#include "unwind/stack_cache_tables.h"

/* Bytes of memory that a cache of so many frames needs: the sum of its tables, which
 * stack_cache_set_memory() asserts. */
#define STACK_CACHE_BYTES(capacity) ((capacity)*120 + 72)

/* Gives the cache memory for `capacity` frames: STACK_CACHE_BYTES(capacity) zeroed bytes, aligned
 * to 8. The memory stays the recorder's and must stay mapped while the cache uses it. The cache
 * becomes empty. */
void stack_cache_set_memory(struct unwind_thread *ut, void *memory, size_t capacity);

/* The id of the stack that begins at start, if it is known without a walk; else 0. To be called
 * when neither caller_hint_find() nor a memo gave an id. Also counts the valid entries, for
 * stack_cache_walk(). */
uint32_t stack_cache_find(struct unwind_thread *ut, const struct unwind_start *start);

/* A stack, outermost frame first: n_kept entries, then n_fresh frames that are no entries. The
 * frames are stack_cache_fresh_addr() of n_fresh - 1 .. 0. entry and stack_id have n_kept elements
 * each, and are borrowed until the next walk. */
struct stack_cache_stack {
	size_t n_kept; /* entries that the walk met, and entries that were made of its frames */
	size_t n_fresh; /* 1: the start did not become an entry; else 0 */
	const struct stack_cache_entry *entry;
	struct stack_cache_id *stack_id; /* the recorder fills in each id that is 0 */
};

enum stack_cache_status {
	STACK_CACHE_OK, /* *ret is the whole stack, or all that can be found of it */
	STACK_CACHE_NOT_SIMPLE, /* unwind_walk() must walk this stack, which is not cached */
	STACK_CACHE_NO_ROOM, /* stack_cache_set_memory() with more, then stack_cache_walk() again */
};

/* Walks from start to the first valid entry, or to the outermost frame. To be called right after
 * stack_cache_find() gave 0 for the same start. generation is unwind_generation() as of now. If the
 * cache is of another generation, its entries, ids, memos and hints are dropped first. An odd
 * generation gives STACK_CACHE_NOT_SIMPLE. */
enum stack_cache_status stack_cache_walk(struct unwind_thread *ut, const struct unwind_start *start,
					 uint32_t generation, struct stack_cache_stack *ret);

/* Return address of the i-th fresh frame of the last stack, 0 = innermost. i < n_fresh. */
uintptr_t stack_cache_fresh_addr(const struct unwind_thread *ut, size_t i);

/* Whether the frame pointer alone led from that frame to its caller. */
bool stack_cache_is_fresh_guess(const struct unwind_thread *ut, size_t i);

/* The same for entry[n - 1]. */
static ALWAYS_INLINE bool stack_cache_is_guess(const struct unwind_thread *ut, size_t n)
{
	return ((const struct stack_cache *)ut)->cold[n - 1].is_guess;
}

/* Why the cached stack ends: an enum unwind_end. It has at least one entry. */
static ALWAYS_INLINE unsigned stack_cache_end(const struct unwind_thread *ut)
{
	return ((const struct stack_cache *)ut)->cold[0].end;
}

/* All ids are void: those of entries, memos and joins. The entries stay. */
void stack_cache_forget_ids(struct unwind_thread *ut);

/* The hash of the stack that ends with entry[n - 1]; 0 for n == 0. See stack_hash.h. */
static ALWAYS_INLINE uint32_t stack_cache_hash(const struct unwind_thread *ut, size_t n)
{
	return n ? ((const struct stack_cache *)ut)->cold[n - 1].stack_hash : 0;
}

/* Counts a stack that was found without a walk: a caller hint gave the id of the caller's stack,
 * and the recorder then knew or defined the id of the stack itself. */
static ALWAYS_INLINE void stack_cache_count_hit(struct unwind_thread *ut)
{
	COUNT_ADD(stack_cache_of(ut)->n_known, 1);
}

#endif
