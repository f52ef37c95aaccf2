/* unwind/join_cache.h - memos that hold, but join another stack than the last time.
 *
 * In a recursive program a memo that holds often joins another stack than before, and the stack
 * that results would have to be found frame by frame. But the same few suffixes (the frames of a
 * memo inside its join) join the same stacks again and again. So a suffix gets an id, by the
 * addresses of its frames, and the join cache holds which stack a suffix made of which outer stack.
 *
 * Exact: an id of a suffix stands for the same addresses as long as it is in use, and an id of a
 * stack stands for the same stack within an epoch. A suffix gets a new id in a new epoch, and no id
 * is given twice; when all ids are used up, everything that has one is forgotten. A table may lose
 * its entries: then the frames are looked up one by one, and their suffix gets another id.
 *
 * Most memos never join another stack, so a memo gets the id of its suffix when it first does.
 *
 *   id = join_cache_find(ut, m, start->fp, &outer);
 *   if (!id && outer)      // look up or define the frames below outer
 *           n = memo_suffix_frames(m, addr), id = ..., join_cache_add(ut, m, id);
 *   if (!id)               // the memo does not hold: ask stack_cache_find()
 */
#ifndef UNWIND_JOIN_CACHE_H
#define UNWIND_JOIN_CACHE_H

#include "unwind/stack_cache_tables.h"

/* The id of the stack that a memo of this start makes of the stack that it joins now, if that is
 * known. Else 0, and *ret_outer is the id of the stack that the memo joins; if *ret_outer is 0 too,
 * the memo does not hold. Only after walk_memo_is_of() was true. */
uint32_t join_cache_find(struct unwind_thread *ut, struct walk_memo *m, uintptr_t fp,
			 uint32_t *ret_outer);

/* The addresses of the memo's frames inside its join, outermost first, into
 * ret[MEMO_SUFFIX_FRAMES]. Returns how many. */
unsigned memo_suffix_frames(struct walk_memo *m, uintptr_t *ret);

/* Which of these frames are guesses: bit i of *ret for addr[i], of a memo of the cache's epoch. False:
 * not known, because a rule is not in the cache any more. */
bool memo_suffix_guesses(struct unwind_thread *ut, const uintptr_t *addr, unsigned n,
			 unsigned *ret);

/* From now on the memo is that of the stack id, which its frames make of the stack that it joins.
 * Only after join_cache_find() gave 0 and an outer stack. */
void join_cache_add(struct unwind_thread *ut, struct walk_memo *m, uint32_t id);

#endif
