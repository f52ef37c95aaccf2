/* unwind/learned_i.h - what was learned about places in code without unwind tables (learned.c).
 *
 * A place is the key of a frame (rule_i.h). Its code keeps a frame pointer or does not; that is a
 * property of the code, so what one stack has shown holds for all stacks. fp_walk.c examines a
 * place and says what it saw:
 *
 *   1. Seen to keep a frame pointer: this is final, until the code goes away. A later stack in which
 *      it cannot be seen says nothing, because old return addresses may be left in the frame.
 *   2. Not seen, LEARNED_EXAMS times: stacks are cut here without a further look. This holds until
 *      the area is trusted (code_areas_i.h), or until learned_reconsider().
 *   3. Not seen, but the area is trusted: believed as long as the area is.
 *
 * Both kinds of walk ask here, and the caches keep the answers, as rules. Whenever something
 * that was learned becomes void, a new generation begins, so no cache is out of date.
 *
 * Threads: any number may ask. To add takes code_areas_enter().
 */
#ifndef UNWIND_LEARNED_I_H
#define UNWIND_LEARNED_I_H

#include "unwind/code_areas_i.h"

#define LEARNED_EXAMS 16

enum learned {
	LEARNED_NOTHING, /* examine it */
	LEARNED_FP, /* keeps a frame pointer */
	LEARNED_CUT, /* stacks end here */
	LEARNED_TRUSTED, /* not seen to keep one, but its area is trusted */
};

/* What an examination saw: whether the code keeps a frame pointer. */
enum learned_sight {
	LEARNED_GOOD, /* it does */
	LEARNED_UNCLEAR, /* it probably does */
	LEARNED_BAD, /* it probably does not */
};

/* What is known of a place. generation: of now. */
enum learned learned_find(uintptr_t key, uint32_t generation);

/* Adds an examination of a place in this area, and returns what is known now. has_pair: the frame
 * pointer does point at something that may be a pair. Between code_areas_enter() and
 * code_areas_leave(). */
enum learned learned_add(struct code_area *area, uintptr_t key, bool has_pair,
			 enum learned_sight sight);

/* Gives places at which stacks are cut another chance: after a millisecond, then after 2, 4, 8 and
 * so on, for about an hour. Soon, because the examinations in vain may all have been of one stack
 * with an old return address in it, and a place through which most stacks pass hides the places
 * behind it. To be called now and then. */
void learned_reconsider(void);

/* The code from lo to hi goes away, or is replaced, or gets unwind tables. True if something had
 * been learned there: then everything that caches hold of it must become void, by a new
 * generation. */
bool learned_forget(uintptr_t lo, uintptr_t hi);

#endif
