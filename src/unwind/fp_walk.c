/* unwind/fp_walk.c - frames whose code has no unwind information.
 *
 * Here the frame pointer register may point at the pair (caller's frame pointer, return address),
 * or be any other value, or, worst, point at the pair of an outer frame, which would skip a caller
 * and look right. So the frame pointer is believed only with evidence:
 *
 *   1. The return address of the pair must follow a call.
 *   2. No word between the stack pointer and the pair may be a return address: a frame that did not
 *      make the pair has its own return address there.
 *   3. Code in an ELF image (assembly without CFI): the call must be direct, to a function that
 *      lies in the same stretch of uncovered code at or before pc and begins by setting up a frame
 *      pointer.
 *   4. Code in no image (JIT): its functions are not known, so an indirect call is enough. A direct
 *      call must lead to JIT code at or before pc, not into an image.
 *
 * All frames outside such a frame are announced as uncertain (n_certain).
 */
#include "unwind/unwind_thread_i.h"
#include "unwind/walk_i.h"

#include "base/bits.h"
#include "base/units.h"

#define MAX_FRAME_BYTES (16 * KIB)
#define MAX_FUNCTION_BYTES (16 * MIB)
#define NEAR_BYTES GIB /* code that a JIT compiler made lies this near to other such code */

struct pair {
	uintptr_t fp;
	uintptr_t ra;
	uint8_t before_ra[ARCH_CALL_MAX_BYTES];
};

static bool read_pair(struct unwind_thread *ut, const struct frame *f, struct pair *ret)
{
	struct memory *m = &ut->memory;

	if (f->fp < f->sp || f->fp - f->sp > MAX_FRAME_BYTES || f->fp % sizeof(uintptr_t) ||
	    memory_is_own(m, f->fp) != memory_is_own(m, f->sp))
		return false;
	return memory_word(m, f->fp, &ret->fp) &&
	       memory_word(m, f->fp + sizeof(uintptr_t), &ret->ra) &&
	       lookup_any_call(ut, ret->ra, ret->before_ra);
}

/* Whether a word may be a return address into an image or into code near pc. */
static bool is_return(struct unwind_thread *ut, uintptr_t pc, uintptr_t word)
{
	uint8_t before[ARCH_CALL_MAX_BYTES];

	return (word - (pc - NEAR_BYTES) < 2 * NEAR_BYTES || modules_has(word)) &&
	       lookup_any_call(ut, word, before);
}

/* Whether a return address may lie below the pair. */
static bool has_return_below(struct unwind_thread *ut, const struct frame *f)
{
	uintptr_t word;

	for (uintptr_t at = align_up(f->sp, sizeof(word)); at < f->fp; at += sizeof(word))
		if (!memory_word(&ut->memory, at, &word) || is_return(ut, f->key, word))
			return true;
	return false;
}

/* The code around pc that no FDE covers. */
static bool uncovered_code(struct unwind_thread *ut, uintptr_t pc, struct memory_range *ret)
{
	struct image *im = ut->image;
	const struct image_segment *s = image_segment_at(im, pc);
	struct eh_reader r = {im->segment, im->n_segments, NULL};
	struct memory_range gap = {0, UINTPTR_MAX};

	if (!s)
		return false;
	if (ut->is_uncertain && !im->is_permanent) {
		r.copy = &ut->copy;
		r.copy->search = (struct memory_range){0, 0};
	}
	if (im->map.hdr && !eh_frame_gap(&r, im->map.hdr, pc, &gap))
		return false;
	ret->lo = gap.lo > s->at.lo ? gap.lo : s->at.lo;
	ret->hi = gap.hi < s->at.hi ? gap.hi : s->at.hi;
	return ret->lo < ret->hi;
}

static bool is_convincing_in_image(struct unwind_thread *ut, const struct frame *f,
				   const struct pair *p)
{
	uint8_t code[ARCH_PROLOGUE_MAX_BYTES];
	struct memory_range gap;
	uintptr_t target;

	return arch_call_target(p->before_ra, p->ra, &target) &&
	       uncovered_code(ut, f->key - 1, &gap) && target >= gap.lo && target < f->key &&
	       lookup_any_code(ut, target, sizeof(code), code) && arch_is_fp_prologue(code);
}

static bool is_convincing_jit(struct unwind_thread *ut, const struct frame *f, const struct pair *p)
{
	uintptr_t target;

	if (!modules_has(p->ra - 1) && !memory_is_executable(&ut->memory, p->ra - 1))
		return false;
	if (!arch_call_target(p->before_ra, p->ra, &target))
		return true;
	return target < f->key && f->key - target < MAX_FUNCTION_BYTES && !modules_has(target) &&
	       memory_is_executable(&ut->memory, target);
}

/* Adds the frame f to the result, if its key is code. Returns WALK_ON if its caller is to be looked
 * for, else why the stack ends. */
static enum unwind_end add_frame(struct unwind_thread *ut, enum lookup what, const struct frame *f,
				 struct unwind_frames *out)
{
	uintptr_t end = memory_stack_end();
	bool is_given = out->n == 0 || f->is_exact; /* by the hook or the kernel: surely code */

	if (!is_given &&
	    (what == LOOKUP_NOT_CODE ||
	     (what == LOOKUP_NO_IMAGE && !memory_is_executable(&ut->memory, f->key - 1))))
		return UNWIND_NOT_CODE;
	if (!is_given && !lookup_is_after_call(ut, f->key))
		return UNWIND_BAD_INFO;
	if (f->is_exact && what == LOOKUP_NO_IMAGE &&
	    !memory_is_executable(&ut->memory, f->key - 1))
		return UNWIND_NOT_CODE; /* the signal was about jumping to nowhere */
	if (!walk_add(out, f->key))
		return UNWIND_NO_ROOM;
	if (what == LOOKUP_BAD)
		return UNWIND_BAD_INFO;
	if (what == LOOKUP_NOT_CODE)
		return UNWIND_NOT_CODE;
	/* The dynamic linker's entry has no CFI. Above the first stack pointer of the process are
	 * only arguments and environment, so a frame that begins there has no caller. */
	if (what == LOOKUP_NO_FDE && end && f->sp >= align_down(end, 16) &&
	    f->sp < end + MAX_FRAME_BYTES)
		return UNWIND_COMPLETE;
	return WALK_ON;
}

enum unwind_end fp_walk_step(struct unwind_thread *ut, enum lookup what, struct frame *f,
			     struct unwind_frames *out)
{
	enum unwind_end end = add_frame(ut, what, f, out);
	struct pair p;

	if (end != WALK_ON)
		return end;
	if (!read_pair(ut, f, &p) || has_return_below(ut, f))
		return UNWIND_NO_INFO;
	if (what == LOOKUP_NO_FDE ? !is_convincing_in_image(ut, f, &p)
				  : !is_convincing_jit(ut, f, &p))
		return UNWIND_NO_INFO;
	if (!ut->is_uncertain) {
		ut->is_uncertain = true;
		out->n_certain = out->n;
	}
	*f = (struct frame){.key = p.ra, .sp = f->fp + 2 * sizeof(uintptr_t), .fp = p.fp};
	return WALK_ON;
}
