/* unwind/code_areas_i.h - stretches of code without unwind tables, and which of them keep a frame
 * pointer (code_areas.c).
 *
 * An area is what one compiler is likely to have made: the anonymous mappings of a JIT compiler
 * that follow one another without a hole, or the code of an image between two FDEs. For each area
 * the number of places is counted that were seen to keep a frame pointer (good), and of those that
 * were not (bad). An area where hardly any place is bad is trusted.
 *
 * Why areas are needed: a frame pointer points at the pair of the caller's frame pointer and the return
 * address. A word below the pair that looks like a return address makes the pair doubtful: it may be
 * the real one. But a frame that lives for long may have a slot that it never writes, and an old
 * return address in this slot would make the frame doubtful for ever. In a trusted area the frame
 * pointer is believed nevertheless.
 *
 * Threads: a flag guards the areas. Nobody waits for the flag: code_areas_enter() returns false while
 * another thread has it.
 */
#ifndef UNWIND_CODE_AREAS_I_H
#define UNWIND_CODE_AREAS_I_H

#include "unwind/memory_i.h"

/* Once per process, and again in a forked child. */
void code_areas_init(void);

/* Until code_areas_leave() the areas are the caller's. False: somebody else has them. */
bool code_areas_enter(void);
void code_areas_leave(void);

/* The functions below are to be called between enter and leave only. */

struct code_area {
	struct memory_range at; /* hi == 0: unused */
	uint32_t generation; /* of the image that the area lies in; 0 = in no image, or in one that
				is never unloaded */
	uint32_t n_good;
	uint32_t n_bad;
	bool is_trusted;
	bool has_cuts; /* stacks were cut here before the area was trusted */
};

/* The area of code in no image. NULL: addr is not executable as far as we know, or what we know is
 * out of date and /proc was read a moment ago. */
struct code_area *code_areas_of_jit(uintptr_t addr);

/* The area of an image's code that no FDE covers. */
struct code_area *code_areas_of_gap(struct memory_range gap, uint32_t generation);

/* Whether addr lies in executable memory, images included. May not know of the newest. */
bool code_areas_has(uintptr_t addr);

/* Counts a place that was examined for the first time, or moves a place from bad to good. True: what
 * was learned about bad places of the area is void. The area has become trusted and stacks were cut
 * there before, or it is not trusted any more. */
bool code_areas_count(struct code_area *a, bool is_good, bool was_bad);

/* Whether all code from lo to hi is in one trusted area. */
bool code_areas_is_trusted(uintptr_t lo, uintptr_t hi);

/* The mappings from lo to hi are about to go away. An area that has no other code is forgotten:
 * another compiler may put code there. */
void code_areas_forget(uintptr_t lo, uintptr_t hi);

#endif
