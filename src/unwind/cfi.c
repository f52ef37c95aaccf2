/* unwind/cfi.c - runs the call-frame instructions of an FDE up to an address.
 *
 * The instructions describe a table of code locations and, for each, where the caller's registers
 * are. Only the row in force at the wanted address is built. Arithmetic wraps on purpose: what a
 * damaged table gives is caught by the checks on the result.
 */
#include "unwind/tables_i.h"

#include <string.h>

#include "base/cursor.h"

/* The upper two bits of an opcode hold these three, with the operand below them. */
enum {
	OP_ADVANCE_LOC = 1,
	OP_OFFSET = 2,
	OP_RESTORE = 3,
};

enum {
	OP_NOP = 0x00,
	OP_SET_LOC = 0x01,
	OP_ADVANCE_LOC1 = 0x02,
	OP_ADVANCE_LOC2 = 0x03,
	OP_ADVANCE_LOC4 = 0x04,
	OP_OFFSET_EXTENDED = 0x05,
	OP_RESTORE_EXTENDED = 0x06,
	OP_UNDEFINED = 0x07,
	OP_SAME_VALUE = 0x08,
	OP_REGISTER = 0x09,
	OP_REMEMBER_STATE = 0x0a,
	OP_RESTORE_STATE = 0x0b,
	OP_DEF_CFA = 0x0c,
	OP_DEF_CFA_REGISTER = 0x0d,
	OP_DEF_CFA_OFFSET = 0x0e,
	OP_DEF_CFA_EXPRESSION = 0x0f,
	OP_EXPRESSION = 0x10,
	OP_OFFSET_EXTENDED_SF = 0x11,
	OP_DEF_CFA_SF = 0x12,
	OP_DEF_CFA_OFFSET_SF = 0x13,
	OP_VAL_OFFSET = 0x14,
	OP_VAL_OFFSET_SF = 0x15,
	OP_VAL_EXPRESSION = 0x16,
	OP_ADVANCE_LOC8 = 0x1d,
	OP_GNU_ARGS_SIZE = 0x2e,
	OP_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

struct run {
	struct cfi_machine *m;
	const struct eh_fde *fde;
	struct cursor c;
	uintptr_t addr; /* of the cursor's first byte, in the table */
	uintptr_t loc; /* code location of the row being built */
	uintptr_t key; /* rows that start here or later are not wanted */
};

static int64_t factored(const struct run *r, uint64_t value)
{
	return (int64_t)(value * (uint64_t)r->fde->data_align);
}

static void set_reg(struct run *r, uint64_t reg, struct cfi_rule rule)
{
	if (reg < ARCH_N_REGS) /* vector registers are not followed */
		r->m->row.reg[reg] = rule;
}

static void set_offset(struct run *r, uint64_t reg, enum cfi_how how, int64_t offset)
{
	set_reg(r, reg, (struct cfi_rule){.how = (uint8_t)how, .offset = offset});
}

static void set_expr(struct run *r, uint64_t reg, enum cfi_how how)
{
	uint64_t len = cursor_uleb(&r->c);
	const uint8_t *expr = cursor_take(&r->c, len);

	if (!expr || len > UINT32_MAX) {
		r->c.failed = true;
		return;
	}
	set_reg(r, reg,
		(struct cfi_rule){.how = (uint8_t)how, .expr = expr, .expr_bytes = (uint32_t)len});
}

static void restore_reg(struct run *r, uint64_t reg)
{
	if (reg < ARCH_N_REGS)
		r->m->row.reg[reg] = r->m->initial.reg[reg];
}

static void set_cfa(struct run *r, uint64_t reg, int64_t offset)
{
	if (reg >= ARCH_N_REGS) {
		r->c.failed = true;
		return;
	}
	r->m->row.cfa = (struct cfi_rule){.how = CFI_OFFSET, .reg = (uint8_t)reg, .offset = offset};
}

/* Changes one half of a CFA that must already be register plus offset. */
static void change_cfa(struct run *r, bool is_register, uint64_t value)
{
	struct cfi_rule *cfa = &r->m->row.cfa;

	if (cfa->how != CFI_OFFSET)
		r->c.failed = true;
	else if (is_register)
		set_cfa(r, value, cfa->offset);
	else
		cfa->offset = (int64_t)value;
}

static void set_cfa_expr(struct run *r)
{
	uint64_t len = cursor_uleb(&r->c);
	const uint8_t *expr = cursor_take(&r->c, len);

	if (!expr || len > UINT32_MAX) {
		r->c.failed = true;
		return;
	}
	r->m->row.cfa =
		(struct cfi_rule){.how = CFI_EXPR, .expr = expr, .expr_bytes = (uint32_t)len};
}

static void remember(struct run *r)
{
	if (r->m->n_saved == CFI_N_SAVED)
		r->c.failed = true;
	else
		r->m->saved[r->m->n_saved++] = r->m->row;
}

static void restore(struct run *r)
{
	if (r->m->n_saved == 0)
		r->c.failed = true;
	else
		r->m->row = r->m->saved[--r->m->n_saved];
}

/* Moves to the next row. False when that row begins at key or later: the row built so far is in
 * force. */
static bool advance(struct run *r, uint64_t delta)
{
	r->loc += (uintptr_t)(delta * r->fde->code_align);
	return r->loc < r->key;
}

static bool run_location(struct run *r, uint8_t op)
{
	switch (op) {
	case OP_SET_LOC:
		r->loc = eh_frame_pointer(&r->c, r->fde->pc_encoding, r->addr, 0);
		return r->loc < r->key;
	case OP_ADVANCE_LOC1:
		return advance(r, cursor_u8(&r->c));
	case OP_ADVANCE_LOC2:
		return advance(r, cursor_u16(&r->c));
	case OP_ADVANCE_LOC4:
		return advance(r, cursor_u32(&r->c));
	default:
		return advance(r, cursor_u64(&r->c));
	}
}

static void run_cfa(struct run *r, uint8_t op)
{
	uint64_t reg;

	switch (op) {
	case OP_DEF_CFA:
		reg = cursor_uleb(&r->c);
		set_cfa(r, reg, (int64_t)cursor_uleb(&r->c));
		break;
	case OP_DEF_CFA_SF:
		reg = cursor_uleb(&r->c);
		set_cfa(r, reg, factored(r, (uint64_t)cursor_sleb(&r->c)));
		break;
	case OP_DEF_CFA_REGISTER:
		change_cfa(r, true, cursor_uleb(&r->c));
		break;
	case OP_DEF_CFA_OFFSET:
		change_cfa(r, false, cursor_uleb(&r->c));
		break;
	case OP_DEF_CFA_OFFSET_SF:
		change_cfa(r, false, (uint64_t)factored(r, (uint64_t)cursor_sleb(&r->c)));
		break;
	default:
		set_cfa_expr(r);
	}
}

/* The instructions that name a register first. */
static void run_register(struct run *r, uint8_t op)
{
	uint64_t reg = cursor_uleb(&r->c);
	uint64_t other;

	switch (op) {
	case OP_OFFSET_EXTENDED:
		set_offset(r, reg, CFI_OFFSET, factored(r, cursor_uleb(&r->c)));
		break;
	case OP_OFFSET_EXTENDED_SF:
		set_offset(r, reg, CFI_OFFSET, factored(r, (uint64_t)cursor_sleb(&r->c)));
		break;
	case OP_GNU_NEGATIVE_OFFSET_EXTENDED:
		set_offset(r, reg, CFI_OFFSET, factored(r, -cursor_uleb(&r->c)));
		break;
	case OP_VAL_OFFSET:
		set_offset(r, reg, CFI_VAL_OFFSET, factored(r, cursor_uleb(&r->c)));
		break;
	case OP_VAL_OFFSET_SF:
		set_offset(r, reg, CFI_VAL_OFFSET, factored(r, (uint64_t)cursor_sleb(&r->c)));
		break;
	case OP_RESTORE_EXTENDED:
		restore_reg(r, reg);
		break;
	case OP_UNDEFINED:
		set_offset(r, reg, CFI_UNDEFINED, 0);
		break;
	case OP_SAME_VALUE:
		set_offset(r, reg, CFI_SAME, 0);
		break;
	case OP_REGISTER:
		other = cursor_uleb(&r->c);
		/* A register that is not followed is as good as unknown. */
		if (other < ARCH_N_REGS)
			set_reg(r, reg,
				(struct cfi_rule){.how = CFI_REGISTER, .reg = (uint8_t)other});
		else
			set_offset(r, reg, CFI_UNDEFINED, 0);
		break;
	case OP_EXPRESSION:
		set_expr(r, reg, CFI_EXPR);
		break;
	default:
		set_expr(r, reg, CFI_VAL_EXPR);
	}
}

static bool run_extended(struct run *r, uint8_t op)
{
	switch (op) {
	case OP_NOP:
		return true;
	case OP_SET_LOC:
	case OP_ADVANCE_LOC1:
	case OP_ADVANCE_LOC2:
	case OP_ADVANCE_LOC4:
	case OP_ADVANCE_LOC8:
		return run_location(r, op);
	case OP_DEF_CFA:
	case OP_DEF_CFA_SF:
	case OP_DEF_CFA_REGISTER:
	case OP_DEF_CFA_OFFSET:
	case OP_DEF_CFA_OFFSET_SF:
	case OP_DEF_CFA_EXPRESSION:
		run_cfa(r, op);
		return true;
	case OP_OFFSET_EXTENDED:
	case OP_OFFSET_EXTENDED_SF:
	case OP_GNU_NEGATIVE_OFFSET_EXTENDED:
	case OP_VAL_OFFSET:
	case OP_VAL_OFFSET_SF:
	case OP_RESTORE_EXTENDED:
	case OP_UNDEFINED:
	case OP_SAME_VALUE:
	case OP_REGISTER:
	case OP_EXPRESSION:
	case OP_VAL_EXPRESSION:
		run_register(r, op);
		return true;
	case OP_REMEMBER_STATE:
		remember(r);
		return true;
	case OP_RESTORE_STATE:
		restore(r);
		return true;
	case OP_GNU_ARGS_SIZE: /* bytes pushed for a call: the CFA does not depend on it */
		cursor_uleb(&r->c);
		return true;
	default:
		r->c.failed = true;
		return true;
	}
}

/* Runs instructions until the row in force is built. False when they are malformed. Each
 * instruction takes at least a byte, so this ends. */
static bool run_ops(struct run *r, const struct eh_ops *ops)
{
	r->c = cursor_make(ops->data, ops->len);
	r->addr = ops->addr;
	while (!r->c.failed && cursor_left(&r->c)) {
		uint8_t op = cursor_u8(&r->c);
		uint8_t operand = op & 0x3f;
		bool goes_on = true;

		switch (op >> 6) {
		case OP_ADVANCE_LOC:
			goes_on = advance(r, operand);
			break;
		case OP_OFFSET:
			set_offset(r, operand, CFI_OFFSET, factored(r, cursor_uleb(&r->c)));
			break;
		case OP_RESTORE:
			restore_reg(r, operand);
			break;
		default:
			goes_on = run_extended(r, op);
		}
		if (!goes_on)
			break;
	}
	return !r->c.failed;
}

bool cfi_run(struct cfi_machine *m, const struct eh_fde *fde, uintptr_t key)
{
	struct run r = {.m = m, .fde = fde, .loc = fde->start, .key = key};

	m->row = (struct cfi_row){0};
	m->initial = m->row;
	m->n_saved = 0;
	if (!run_ops(&r, &fde->cie_ops))
		return false;
	m->initial = m->row;
	m->n_saved = 0;
	r.loc = fde->start;
	return run_ops(&r, &fde->ops) && m->row.cfa.how != CFI_UNSPECIFIED;
}
