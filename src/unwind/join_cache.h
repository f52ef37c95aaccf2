/* unwind/join_cache.h - finds the id of a stack from two parts: the outer stack, and the frames of a
 * memo inside it (the suffix).
 *
 * In a recursive program the words of a memo often are the same while the stack that the memo joins
 * (the outer stack) is another one than the last time. Example: the memo has the frames parse, push.
 *
 *	last time    main, run    + parse, push    the memo has the id of this whole stack
 *	now          main, serve  + parse, push    join cache: (suffix of parse, push; id of main, serve)
 *
 * The same few suffixes join the same outer stacks again and again. So a suffix gets an id, by the
 * addresses of its frames, and the join cache leads from (id of the suffix, id of the outer stack) to
 * the id of the whole stack.
 *
 * Why the answer is exact: within an epoch of the cache, a suffix id stands for one list of addresses
 * and a stack id for one stack. No suffix id is given twice; when all are used up, the memos, the
 * suffixes and the joins are forgotten together. The table of suffixes may lose an entry: then the
 * same frames get another suffix id, and the recorder looks the frames up one by one.
 *
 * Most memos never join another stack, so a memo gets a suffix id when that happens for the first
 * time.
 *
 *   id = join_cache_find(ut, m, start->fp, &outer);
 *   if (!id && outer)      // find or define the stack outer + frames, frame by frame
 *           n = memo_suffix_frames(m, addr), id = ..., join_cache_add(ut, m, id);
 *   if (!id)               // the memo does not hold: ask stack_cache_find()
 */
#ifndef UNWIND_JOIN_CACHE_H
#define UNWIND_JOIN_CACHE_H

#include "unwind/stack_cache_tables.h"

/* The id of the whole stack: the memo's frames inside the stack that the memo joins now. *ret_outer
 * becomes the id of the joined stack. Returns 0 if the id is not known; if *ret_outer is 0 too, the
 * memo does not hold. fp is that of the start. Only after walk_memo_is_of() was true. */
uint32_t join_cache_find(struct unwind_thread *ut, struct walk_memo *m, uintptr_t fp,
			 uint32_t *ret_outer);

/* The addresses of the memo's frames inside its join, outermost first, into
 * ret[MEMO_SUFFIX_FRAMES]. Returns how many. */
unsigned memo_suffix_frames(struct walk_memo *m, uintptr_t *ret);

/* Which of the frames that memo_suffix_frames() gave are guesses: bit i of *ret for addr[i]. False: not
 * known, because the rule of a frame is no longer in the rule cache. */
bool memo_suffix_guesses(struct unwind_thread *ut, const uintptr_t *addr, unsigned n,
			 unsigned *ret);

/* Stores that the memo's frames inside the stack that the memo joins now have the id `id`: in the
 * join cache and in the memo. Only after join_cache_find() gave 0 and an outer stack. */
void join_cache_add(struct unwind_thread *ut, struct walk_memo *m, uint32_t id);

#endif
