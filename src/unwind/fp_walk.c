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
 *      pointer. In a long stretch the call must be indirect or lead into the stretch.
 *   4. Code in no image (JIT): its functions are not known, so an indirect call is enough. A direct
 *      call must lead to JIT code at or before pc, not into an image.
 *
 * Whether code keeps a frame pointer is a property of the code. So what one look has shown is kept
 * (learned_i.h), and 1 alone is asked from then on.
 *
 * All frames outside such a frame are announced as uncertain (n_certain).
 */
#include "unwind/learned_i.h"
#include "unwind/unwind_thread_i.h"
#include "unwind/walk_i.h"

#include "base/bits.h"
#include "base/units.h"

#define MAX_FRAME_BYTES (16 * KIB)
#define MAX_FUNCTION_BYTES (16 * MIB)
#define LONG_GAP_BYTES (64 * KIB)

struct pair {
	uintptr_t fp;
	uintptr_t ra;
	uint8_t before_ra[ARCH_CALL_MAX_BYTES];
};

bool fp_walk_is_pair(const struct memory *m, uintptr_t sp, uintptr_t fp)
{
	return fp >= sp && fp - sp <= MAX_FRAME_BYTES && fp % sizeof(uintptr_t) == 0 &&
	       memory_is_own(m, fp) == memory_is_own(m, sp);
}

static bool read_words(struct unwind_thread *ut, const struct frame *f, struct pair *ret)
{
	struct memory *m = &ut->memory;

	return fp_walk_is_pair(m, f->sp, f->fp) && memory_word(m, f->fp, &ret->fp) &&
	       memory_word(m, f->fp + sizeof(uintptr_t), &ret->ra);
}

static bool read_pair(struct unwind_thread *ut, const struct frame *f, struct pair *ret)
{
	return read_words(ut, f, ret) && lookup_any_call(ut, ret->ra, ret->before_ra);
}

/* Whether a word may be the return address of the frame f, and if so, whether it is likely to be.
 *
 * In an image it must follow a call. In other code any address may be a return address: HotSpot's
 * interpreter pushes them without a call. A direct call to somewhere else than the code before f's
 * key is unlikely: then the callee must have jumped on. Such addresses are mostly leftovers. */
static enum learned_sight judge_word(struct unwind_thread *ut, const struct frame *f,
				     uintptr_t word)
{
	uint8_t before[ARCH_CALL_MAX_BYTES], code[ARCH_PROLOGUE_MAX_BYTES];
	bool is_call =
		(modules_has(word) || code_areas_has(word)) && lookup_any_call(ut, word, before);
	uintptr_t target;

	if (!is_call)
		return !modules_has(word) && code_areas_has(word) ? LEARNED_BAD : LEARNED_GOOD;
	if (!arch_call_target(before, word, &target))
		return LEARNED_BAD;
	if (target >= f->key || f->key - target > MAX_FUNCTION_BYTES ||
	    (lookup_any_code(ut, target, sizeof(code), code) && arch_is_fp_prologue(code)))
		return LEARNED_UNCLEAR;
	return LEARNED_BAD;
}

/* Whether the return address of f may lie below the pair. */
static enum learned_sight look_below(struct unwind_thread *ut, const struct frame *f)
{
	enum learned_sight worst = LEARNED_GOOD;
	uintptr_t word;

	for (uintptr_t at = align_up(f->sp, sizeof(word)); at < f->fp && worst != LEARNED_BAD;
	     at += sizeof(word)) {
		enum learned_sight one =
			memory_word(&ut->memory, at, &word) ? judge_word(ut, f, word) : LEARNED_BAD;

		worst = one > worst ? one : worst;
	}
	return worst;
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

/* In a short stretch of code the call must lead to a function that keeps a frame pointer. In a long
 * one (the code that V8 compiles ahead of time) functions also call through registers, and call
 * functions that jump to others. */
static bool is_convincing_in_image(struct unwind_thread *ut, const struct frame *f,
				   const struct pair *p, struct memory_range gap)
{
	bool is_long = gap.hi - gap.lo >= LONG_GAP_BYTES;
	uint8_t code[ARCH_PROLOGUE_MAX_BYTES];
	uintptr_t target;

	if (!arch_call_target(p->before_ra, p->ra, &target))
		return is_long;
	if (target < gap.lo || target >= gap.hi)
		return false;
	return is_long || (target < f->key && lookup_any_code(ut, target, sizeof(code), code) &&
			   arch_is_fp_prologue(code));
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

/* What one look at the frame says of the code at f->key. *ret_area is the area that it lies in, or
 * alone, for code that is never trusted. NULL: nothing is to be learned. */
static bool is_convincing(struct unwind_thread *ut, enum lookup what, const struct frame *f,
			  const struct pair *p, struct code_area *alone,
			  struct code_area **ret_area)
{
	struct memory_range gap;

	*ret_area = NULL;
	if (what == LOOKUP_NO_IMAGE) {
		*ret_area = code_areas_of_jit(f->key - 1);
		return p && is_convincing_jit(ut, f, p);
	}
	alone->generation = ut->image->is_permanent ? 0 : ut->generation;
	*ret_area = alone;
	if (!uncovered_code(ut, f->key - 1, &gap))
		return false;
	if (gap.hi - gap.lo >= LONG_GAP_BYTES)
		*ret_area = code_areas_of_gap(gap, alone->generation);
	return p && is_convincing_in_image(ut, f, p, gap);
}

/* Examines a frame at whose key nothing has been learned, and adds what was seen. */
static enum learned examine(struct unwind_thread *ut, enum lookup what, const struct frame *f)
{
	struct code_area alone = {.at = {0, 0}}, *area;
	struct pair p;
	bool has_pair = read_pair(ut, f, &p);
	enum learned found = LEARNED_NOTHING;
	enum learned_sight sight = LEARNED_BAD;

	if (!code_areas_enter())
		return LEARNED_NOTHING; /* rare, and the stack ends here this once */
	if (is_convincing(ut, what, f, has_pair ? &p : NULL, &alone, &area))
		sight = look_below(ut, f);
	else if (has_pair)
		sight = LEARNED_UNCLEAR;
	if (sight == LEARNED_GOOD)
		found = LEARNED_FP;
	if (area && !(ut->generation & 1))
		found = learned_add(area, f->key, has_pair, sight);
	code_areas_leave();
	return found;
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

/* Whether a call ends before ra. That none does is kept as a rule, if ra is code at all. */
static bool is_called(struct unwind_thread *ut, uintptr_t ra)
{
	struct rule rule = rule_cache_find(&ut->rules, ra, ut->generation & ~1u);
	uint8_t before[ARCH_CALL_MAX_BYTES];

	if (rule_kind(rule) != RULE_NONE && !(ut->generation & 1))
		return rule_kind(rule) != RULE_END || rule_end(rule) != RULE_NOT_CALLED;
	if (lookup_any_call(ut, ra, before))
		return true;
	if (memory_is_executable(&ut->memory, ra - 1))
		fp_walk_keep_not_called(ut, ra);
	return false;
}

void fp_walk_keep_not_called(struct unwind_thread *ut, uintptr_t key)
{
	if (!(ut->generation & 1))
		rule_cache_add(&ut->rules, key, rule_make_end(RULE_NOT_CALLED, ut->generation));
}

enum unwind_end fp_walk_guess(struct unwind_thread *ut, struct frame *f, struct unwind_frames *out)
{
	struct pair p;

	if (!read_words(ut, f, &p))
		return UNWIND_NO_INFO;
	if (!is_called(ut, p.ra))
		return UNWIND_NO_INFO;
	if (!ut->is_uncertain) {
		ut->is_uncertain = true;
		out->n_certain = out->n;
	}
	walk_mark_guess(out);
	*f = (struct frame){.key = p.ra, .sp = f->fp + 2 * sizeof(uintptr_t), .fp = p.fp};
	return WALK_ON;
}

enum unwind_end fp_walk_step(struct unwind_thread *ut, enum lookup what, struct frame *f,
			     struct unwind_frames *out)
{
	enum unwind_end end = add_frame(ut, what, f, out);
	enum learned learned;

	if (end != WALK_ON)
		return end;
	learned = learned_find(f->key, ut->generation);
	if (learned == LEARNED_NOTHING)
		learned = examine(ut, what, f);
	if (learned == LEARNED_NOTHING || learned == LEARNED_CUT)
		return UNWIND_NO_INFO;
	return fp_walk_guess(ut, f, out);
}
