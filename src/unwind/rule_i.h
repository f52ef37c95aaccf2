/* unwind/rule_i.h - the rule of a frame in 64 bits.
 *
 * A frame is named by its key: the return address into it, or the interrupted pc plus one. So key -
 * 1 is always an address inside the instruction that was executing, and the rules in force there
 * are those of the last row (tables_i.h) that starts below key. struct unwind_frames holds keys
 * too.
 *
 * A row fits into 64 bits if it needs the stack pointer and the frame pointer only, which nearly
 * every row does. All other rows become RULE_SLOW.
 */
#ifndef UNWIND_RULE_I_H
#define UNWIND_RULE_I_H

#include "base/compiler.h"

struct cfi_row;

/* CFA: the stack pointer of the caller, after the call has returned. */
enum rule_kind {
	RULE_NONE, /* not known */
	RULE_SP, /* CFA = sp + cfa_off; fp is unchanged or saved at CFA + fp_off */
	RULE_FP, /* CFA = fp + cfa_off; fp is unchanged or saved at CFA + fp_off */
	RULE_FP_DEREF, /* CFA = *(fp + cfa_off); fp is unchanged or saved at fp + fp_off */
	RULE_END, /* the stack ends here; rule_end() says why */
	RULE_START, /* no caller; key is makecontext()'s stub itself, which no call precedes */
	RULE_SLOW, /* needs the row and all registers: slow_walk.c */
	RULE_GUESS, /* code without unwind information that was seen to keep a frame pointer: fp
		       points at the pair (caller's frame pointer, return address). A guess */
};

/* bits 0-2 kind, 3 fp is saved, 4-19 fp_off / 8, 20-39 cfa_off / 8, 40-63 generation / 2.
 * 0 is no rule. RULE_END has the reason in the place of cfa_off / 8. */
struct rule {
	uint64_t v;
};

#define RULE_GENERATION_SHIFT 40

static inline enum rule_kind rule_kind(struct rule r)
{
	return (enum rule_kind)(r.v & 7);
}

static inline bool rule_has_fp(struct rule r)
{
	return r.v & 8;
}

static inline intptr_t rule_fp_off(struct rule r)
{
	return (intptr_t)(int16_t)(r.v >> 4) * 8;
}

static inline intptr_t rule_cfa_off(struct rule r)
{
	return (intptr_t)((int64_t)(r.v << 24) >> 44) * 8;
}

/* Why the stack ends at a frame with RULE_END: an enum unwind_end, or RULE_NOT_CALLED. */
static inline unsigned rule_end(struct rule r)
{
	return (unsigned)(r.v >> 20) & 15;
}

/* No call ends before the key, so no frame can have this key. The stack ends at the frame before,
 * whose rule led here. */
#define RULE_NOT_CALLED 15u

static inline uint64_t rule_generation_bits(uint32_t generation)
{
	return (uint64_t)(generation >> 1) << RULE_GENERATION_SHIFT;
}

/* Whether the rule was made in this generation, which is even. */
static inline bool rule_is_of(struct rule r, uint32_t generation)
{
	return (r.v ^ rule_generation_bits(generation)) >> RULE_GENERATION_SHIFT == 0;
}

/* Packs a row; RULE_SLOW when the row does not fit the simple kinds. generation is even. */
struct rule rule_pack(const struct cfi_row *row, bool is_signal, uint32_t generation);

/* A rule that has no offsets. */
struct rule rule_make(enum rule_kind kind, uint32_t generation);

/* RULE_END with a reason. */
struct rule rule_make_end(unsigned why, uint32_t generation);

#endif
