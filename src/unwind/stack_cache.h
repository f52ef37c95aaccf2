/* unwind/stack_cache.h - the stack of the last event is kept; only what has changed is walked.
 *
 * A call of malloc comes from nearly the same stack as the call before it. The cache holds that
 * stack as entries (slot, return address), outermost first, and the id that the caller gave to each
 * of its prefixes. stack_cache_tables.h has a drawing. An event asks, in this order:
 *
 *   1. caller_hint.h: is the caller of the start on the cached stack? (Only where walks are
 *      frequent.)
 *   2. walk_memo.h: was this very walk seen before, and would it be the same now? If so, but it
 *      would join another stack than the last time: join_cache.h.
 *   3. stack_cache_find(): does the second memo of the start hold, or is the start an entry itself?
 *   4. stack_cache_walk(): walk until the walk meets a valid entry.
 *   5. unwind_walk(): for stacks that are not simple.
 *
 * Nearly every event is answered by 1 or 2, which are inline: one memo to look at, found from the
 * start alone, and loads that do not wait for one another.
 *
 * Why the answer is exact. A walk is a function of three things: the registers it starts with, the
 * rules (constant within a generation), and the words that it reads.
 *   1. Of each frame the cache has the stack slot that holds the return address. Where the walk
 *      outwards depends on other words (a saved frame pointer, a CFA in memory), the cache has
 *      these words too, as extras.
 *   2. Before a part of the cached stack is used, every such word of this part is read and
 *      compared.
 *   3. So where all words compare equal, the frames outside the entry that a walk arrives at are
 *      the frames that a full walk would find.
 *
 * Nothing else is assumed. A frame that was left and entered again by another function, a stack
 * that longjmp or an exception cut, a slot that happens to hold an old value: all of these compare
 * equal only where a full walk would read the same words as well.
 *
 * Entries below the stack pointer are left out of a comparison but stay. If the program comes back
 * to where they were, they are compared like all others.
 *
 * Only simple stacks are cached: on the thread's own stack, by simple rules (rule_i.h), to the
 * outermost frame. docs/internals/unwinder.md says what each part was measured to bring.
 *
 * Threads and ownership: as struct unwind_thread. Nothing here allocates.
 */
#ifndef UNWIND_STACK_CACHE_H
#define UNWIND_STACK_CACHE_H

#include "unwind/stack_cache_tables.h"

/* Bytes of memory that a cache of so many frames needs. */
#define STACK_CACHE_BYTES(capacity) ((capacity)*120 + 72)

/* Gives the cache memory for `capacity` frames, STACK_CACHE_BYTES(capacity) bytes, zeroed and
 * aligned to
 * 8. The memory stays the caller's and must outlive its use here. The cache becomes empty. */
void stack_cache_set_memory(struct unwind_thread *ut, void *memory, size_t capacity);

/* The id of the stack that begins at start, if it is known without a walk; else 0. To be called
 * when neither caller_hint_find() nor a memo gave an id. Also finds out which part of the cached
 * stack holds: stack_cache_walk() uses that. */
uint32_t stack_cache_find(struct unwind_thread *ut, const struct unwind_start *start);

/* A stack: entry[0 .. n_kept), outermost first, and then stack_cache_fresh_addr() of n_fresh - 1 ..
 * 0. Both arrays are borrowed until the next walk. */
struct stack_cache_stack {
	size_t n_kept;
	size_t n_fresh;
	const struct stack_cache_entry *entry;
	struct stack_cache_id *stack_id; /* for the caller to fill in, where id is 0 */
};

enum stack_cache_status {
	STACK_CACHE_OK, /* *ret is the whole stack, complete and certain */
	STACK_CACHE_NOT_SIMPLE, /* unwind_walk() must walk this stack; the cache is unchanged */
	STACK_CACHE_NO_ROOM, /* more frames than the memory has room for; give it more, ask again */
};

/* Walks from start to the cached stack, or to the outermost frame. To be called right after
 * stack_cache_find() gave 0 for the same start. generation is unwind_generation() as of now: the
 * ids in the cache belong to it. */
enum stack_cache_status stack_cache_walk(struct unwind_thread *ut, const struct unwind_start *start,
					 uint32_t generation, struct stack_cache_stack *ret);

/* Return address of the i-th fresh frame of the last walk, 0 = innermost. i < n_fresh. */
uintptr_t stack_cache_fresh_addr(const struct unwind_thread *ut, size_t i);

/* All ids are void: those of entries, memos and joins. The entries stay. */
void stack_cache_forget_ids(struct unwind_thread *ut);

/* The hash of the stack that ends with entry[n - 1]; 0 for n == 0. See stack_hash.h. */
static ALWAYS_INLINE uint32_t stack_cache_hash(const struct unwind_thread *ut, size_t n)
{
	return n ? ((const struct stack_cache *)ut)->cold[n - 1].stack_hash : 0;
}

/* Counts a stack that a caller hint found, and whose own id the caller then found as well. */
static ALWAYS_INLINE void stack_cache_count_hit(struct unwind_thread *ut)
{
	COUNT_ADD(stack_cache_of(ut)->n_known, 1);
}

#endif
