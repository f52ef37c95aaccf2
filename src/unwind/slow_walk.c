/* unwind/slow_walk.c - the walk with all registers and full CFI.
 *
 * It begins in our own frame, because only there the registers that functions must preserve can
 * be read. Our frames up to the hook's caller are stepped over like any others and left out. A
 * register's value is known or not: registers that a call destroys are unknown in the caller, and a
 * rule that needs one of them ends the stack instead of using a leftover.
 */
#include "unwind/unwind_thread_i.h"
#include "unwind/walk_i.h"

#define MAX_OWN_FRAMES 64 /* of the recorder, between here and the hook's caller */
#define MAX_SWITCHES 64 /* nested signals on alternate stacks */

static bool read_memory(void *ctx, uintptr_t addr, size_t n, uint64_t *ret)
{
	return memory_read(ctx, addr, n, ret);
}

static bool eval(struct unwind_thread *ut, const struct cfi_rule *rule, const uintptr_t *initial,
		 uintptr_t *ret)
{
	const struct expr_env env = {
		.reg = ut->slow.regs.r,
		.known = ut->slow.known,
		.read = read_memory,
		.read_ctx = &ut->memory,
		.stack = ut->expr_stack,
	};

	return expr_eval(&env, rule->expr, rule->expr_bytes, initial, ret);
}

static bool is_known(const struct slow_walk *s, unsigned reg)
{
	return s->known >> reg & 1;
}

static bool find_cfa(struct unwind_thread *ut, uintptr_t *ret)
{
	const struct cfi_rule *cfa = &ut->cfi.row.cfa;

	if (cfa->how == CFI_EXPR)
		return eval(ut, cfa, NULL, ret);
	if (cfa->how != CFI_OFFSET || !is_known(&ut->slow, cfa->reg))
		return false;
	*ret = ut->slow.regs.r[cfa->reg] + (uintptr_t)cfa->offset;
	return true;
}

/* A register without a rule: calls preserve some registers, and the caller's stack pointer is the
 * CFA. WALK_ON, or UNWIND_BAD_INFO when its value is not known. */
static enum unwind_end restore_unspecified(struct unwind_thread *ut, unsigned reg, uintptr_t cfa,
					   uintptr_t *ret)
{
	*ret = reg == ARCH_REG_SP ? cfa : ut->slow.regs.r[reg];
	if (reg == ARCH_REG_SP)
		return WALK_ON;
	return ARCH_CALLEE_SAVED >> reg & is_known(&ut->slow, reg) & 1 ? WALK_ON : UNWIND_BAD_INFO;
}

/* The caller's value of a register. WALK_ON, or why the value is not known. */
static enum unwind_end restore_reg(struct unwind_thread *ut, unsigned reg, uintptr_t cfa,
				   uintptr_t *ret)
{
	const struct cfi_rule *rule = &ut->cfi.row.reg[reg];
	uintptr_t addr;

	switch (rule->how) {
	case CFI_UNSPECIFIED:
		return restore_unspecified(ut, reg, cfa, ret);
	case CFI_SAME:
		*ret = ut->slow.regs.r[reg];
		return is_known(&ut->slow, reg) ? WALK_ON : UNWIND_BAD_INFO;
	case CFI_OFFSET:
		return memory_word(&ut->memory, cfa + (uintptr_t)rule->offset, ret)
			       ? WALK_ON
			       : UNWIND_BAD_MEMORY;
	case CFI_VAL_OFFSET:
		*ret = cfa + (uintptr_t)rule->offset;
		return WALK_ON;
	case CFI_REGISTER:
		*ret = ut->slow.regs.r[rule->reg];
		return is_known(&ut->slow, rule->reg) ? WALK_ON : UNWIND_BAD_INFO;
	case CFI_EXPR:
		if (!eval(ut, rule, &cfa, &addr))
			return UNWIND_BAD_INFO;
		return memory_word(&ut->memory, addr, ret) ? WALK_ON : UNWIND_BAD_MEMORY;
	case CFI_VAL_EXPR:
		return eval(ut, rule, &cfa, ret) ? WALK_ON : UNWIND_BAD_INFO;
	default:
		return UNWIND_BAD_INFO;
	}
}

/* Whether the caller's stack pointer may be new_sp. A stack grows down, so callers lie further up.
 * The stack pointer goes down only where a signal was handled on another stack, or where the rules
 * lead from the thread's own stack to a foreign one or back. */
static bool is_progress(struct unwind_thread *ut, uintptr_t new_sp)
{
	struct slow_walk *s = &ut->slow;
	uintptr_t old_sp = s->regs.r[ARCH_REG_SP];

	if (new_sp > old_sp && !ut->fde.is_signal)
		return true;
	if (!ut->fde.is_signal &&
	    memory_is_own(&ut->memory, old_sp) == memory_is_own(&ut->memory, new_sp))
		return false;
	return s->n_switches++ < MAX_SWITCHES;
}

/* Steps from the frame in ut->slow.regs, whose row is in ut->cfi, to its caller. Returns WALK_ON or
 * why the stack ends. */
static enum unwind_end step_row(struct unwind_thread *ut)
{
	struct slow_walk *s = &ut->slow;
	uint32_t known = 0;
	uintptr_t sp;
	uintptr_t cfa;
	enum unwind_end end;

	if (ut->cfi.row.reg[ARCH_REG_PC].how == CFI_UNDEFINED)
		return UNWIND_COMPLETE;
	if (!find_cfa(ut, &cfa))
		return UNWIND_BAD_INFO;
	for (unsigned reg = 0; reg < ARCH_N_REGS; reg++) {
		end = restore_reg(ut, reg, cfa, &s->next.r[reg]);
		if (end == WALK_ON)
			known |= 1u << reg;
		else if (reg == ARCH_REG_PC || reg == ARCH_REG_SP)
			return end;
	}
	sp = s->next.r[ARCH_REG_SP];
	if (!ut->fde.is_signal && sp % ARCH_STACK_ALIGN)
		return UNWIND_BAD_INFO;
	if (!is_progress(ut, sp))
		return UNWIND_NO_PROGRESS;
	s->regs = s->next;
	s->known = known;
	s->is_exact = ut->fde.is_signal;
	memory_enter(&ut->memory, sp);
	return WALK_ON;
}

static bool step_own(struct unwind_thread *ut)
{
	uintptr_t pc = ut->slow.regs.r[ARCH_REG_PC];

	return lookup_find(ut, pc, ut->is_uncertain) == LOOKUP_FDE &&
	       cfi_run(&ut->cfi, &ut->fde, pc) && step_row(ut) == WALK_ON;
}

/* Gets the registers of the hook's caller. */
NOINLINE static void begin(struct unwind_thread *ut, const struct unwind_start *start)
{
	struct slow_walk *s = &ut->slow;

	arch_getregs(&s->regs);
	s->known = ARCH_CALLEE_SAVED | 1u << ARCH_REG_SP | 1u << ARCH_REG_PC;
	s->is_exact = false;
	s->n_switches = 0;
	memory_enter(&ut->memory, s->regs.r[ARCH_REG_SP]);
	for (unsigned i = 0; i < MAX_OWN_FRAMES && s->regs.r[ARCH_REG_SP] < start->sp; i++)
		if (!step_own(ut))
			break;
	if (s->regs.r[ARCH_REG_SP] == start->sp && s->regs.r[ARCH_REG_PC] == start->pc)
		return;
	/* Not our caller's stack (a test's, perhaps): only these are known. */
	s->regs.r[ARCH_REG_PC] = start->pc;
	s->regs.r[ARCH_REG_SP] = start->sp;
	s->regs.r[ARCH_REG_FP] = start->fp;
	s->known = 1u << ARCH_REG_PC | 1u << ARCH_REG_SP | 1u << ARCH_REG_FP;
	s->is_exact = false;
	memory_enter(&ut->memory, start->sp);
}

/* A frame that only the frame pointer can lead out of. */
static enum unwind_end step_without_fde(struct unwind_thread *ut, enum lookup what, uintptr_t key,
					struct unwind_frames *out)
{
	struct slow_walk *s = &ut->slow;
	struct frame f = {
		.key = key,
		.sp = s->regs.r[ARCH_REG_SP],
		.fp = is_known(s, ARCH_REG_FP) ? s->regs.r[ARCH_REG_FP] : 0,
		.is_exact = s->is_exact,
	};
	enum unwind_end end = fp_walk_step(ut, what, &f, out);

	s->regs.r[ARCH_REG_PC] = f.key;
	s->regs.r[ARCH_REG_SP] = f.sp;
	s->regs.r[ARCH_REG_FP] = f.fp;
	s->known = 1u << ARCH_REG_PC | 1u << ARCH_REG_SP | 1u << ARCH_REG_FP;
	s->is_exact = false;
	return end;
}

static enum unwind_end step(struct unwind_thread *ut, struct unwind_frames *out)
{
	struct slow_walk *s = &ut->slow;
	uintptr_t key = s->regs.r[ARCH_REG_PC] + s->is_exact;
	enum lookup what;
	enum unwind_end end;

	if (!s->is_exact && key == lookup_context_return())
		return walk_add(out, key + 1) ? UNWIND_COMPLETE : UNWIND_NO_ROOM;
	what = lookup_find(ut, key, ut->is_uncertain);
	if (what == LOOKUP_FDE && !cfi_run(&ut->cfi, &ut->fde, key))
		what = LOOKUP_BAD;
	if (what != LOOKUP_FDE)
		return step_without_fde(ut, what, key, out);
	/* Rules that lead to a return address which follows no call were wrong. Not checked where
	 * no call pushed the return address: a signal's return, the last frame of hand-made
	 * stacks. */
	if (out->n && !s->is_exact && !ut->fde.is_signal &&
	    ut->cfi.row.reg[ARCH_REG_PC].how != CFI_UNDEFINED && !lookup_is_after_call(ut, key))
		return UNWIND_BAD_INFO;
	if (!walk_add(out, key))
		return UNWIND_NO_ROOM;
	end = step_row(ut);
	if (end == WALK_ON && s->is_exact && !out->crossed_signal) {
		out->crossed_signal = true;
		out->signal_sp = s->regs.r[ARCH_REG_SP];
		out->signal_index = out->n;
	}
	return end;
}

enum unwind_end slow_walk_run(struct unwind_thread *ut, const struct unwind_start *start,
			      struct unwind_frames *out)
{
	enum unwind_end end;

	begin(ut, start);
	do
		end = step(ut, out);
	while (end == WALK_ON);
	return end;
}
