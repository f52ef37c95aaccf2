/* unwind/walk_i.h - what the three walks share: walk.c, slow_walk.c and fp_walk.c. */
#ifndef UNWIND_WALK_I_H
#define UNWIND_WALK_I_H

#include "unwind/lookup_i.h"
#include "unwind/unwind.h"

/* A frame in the few registers that all walks share. */
struct frame {
	uintptr_t key; /* see rule_i.h */
	uintptr_t sp;
	uintptr_t fp;
	bool is_exact; /* interrupted there, not calling: the bytes before key are no call */
};

#define WALK_ON UNWIND_N_ENDS /* a step's result: the step succeeded, the walk goes on */

/* Steps over a frame without FDE, as `what` says: adds f->key to out when it is code, and makes f
 * its caller when the frame pointer is convincing. Returns WALK_ON or why the stack ends. */
enum unwind_end fp_walk_step(struct unwind_thread *ut, enum lookup what, struct frame *f,
			     struct unwind_frames *out);

/* The same for a frame that is in the result already and of which it was learned that it keeps a
 * frame pointer. */
enum unwind_end fp_walk_guess(struct unwind_thread *ut, struct frame *f, struct unwind_frames *out);

/* Keeps that no call ends before key, as a rule. */
void fp_walk_keep_not_called(struct unwind_thread *ut, uintptr_t key);

/* Whether a frame pointer may point at the pair of a frame with this stack pointer. */
bool fp_walk_is_pair(const struct memory *m, uintptr_t sp, uintptr_t fp);

/* Walks with all registers, from our own frame outwards. Returns why the stack ends. */
enum unwind_end slow_walk_run(struct unwind_thread *ut, const struct unwind_start *start,
			      struct unwind_frames *out);

/* Adds a frame to the result. False when there is no room. */
static inline bool walk_add(struct unwind_frames *out, uintptr_t key)
{
	if (out->n == out->capacity)
		return false;
	out->addr[out->n++] = key;
	return true;
}

/* The step from the last frame of the result is a guess. */
static inline void walk_mark_guess(struct unwind_frames *out)
{
	size_t i = out->n - 1;

	if (!out->guess)
		return;
	while (out->n_guess_words <= i / 64)
		out->guess[out->n_guess_words++] = 0;
	out->guess[i / 64] |= 1ull << i % 64;
}

#endif
