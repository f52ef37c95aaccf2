/* unwind/expr.c - the DWARF expressions that call-frame information uses.
 *
 * A small stack machine. No location descriptions (they describe variables), no calls into other
 * debug information; every access is checked and backward branches run out of steps.
 */
#include "unwind/tables_i.h"

#include "base/cursor.h"

enum {
	OP_ADDR = 0x03,
	OP_DEREF = 0x06,
	OP_CONST1U = 0x08,
	OP_CONST1S = 0x09,
	OP_CONST2U = 0x0a,
	OP_CONST2S = 0x0b,
	OP_CONST4U = 0x0c,
	OP_CONST4S = 0x0d,
	OP_CONST8U = 0x0e,
	OP_CONST8S = 0x0f,
	OP_CONSTU = 0x10,
	OP_CONSTS = 0x11,
	OP_DUP = 0x12,
	OP_DROP = 0x13,
	OP_OVER = 0x14,
	OP_PICK = 0x15,
	OP_SWAP = 0x16,
	OP_ROT = 0x17,
	OP_ABS = 0x19,
	OP_AND = 0x1a,
	OP_DIV = 0x1b,
	OP_MINUS = 0x1c,
	OP_MOD = 0x1d,
	OP_MUL = 0x1e,
	OP_NEG = 0x1f,
	OP_NOT = 0x20,
	OP_OR = 0x21,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST = 0x23,
	OP_SHL = 0x24,
	OP_SHR = 0x25,
	OP_SHRA = 0x26,
	OP_XOR = 0x27,
	OP_BRA = 0x28,
	OP_EQ = 0x29,
	OP_GE = 0x2a,
	OP_GT = 0x2b,
	OP_LE = 0x2c,
	OP_LT = 0x2d,
	OP_NE = 0x2e,
	OP_SKIP = 0x2f,
	OP_LIT0 = 0x30,
	OP_LIT31 = 0x4f,
	OP_BREG0 = 0x70,
	OP_BREG31 = 0x8f,
	OP_BREGX = 0x92,
	OP_DEREF_SIZE = 0x94,
	OP_NOP = 0x96,
};

struct machine {
	const struct expr_env *env;
	struct cursor c;
	unsigned n; /* entries on env->stack */
};

static void push(struct machine *m, uint64_t value)
{
	if (m->n == EXPR_STACK)
		m->c.failed = true;
	else
		m->env->stack[m->n++] = value;
}

static uint64_t pop(struct machine *m)
{
	if (m->n == 0) {
		m->c.failed = true;
		return 0;
	}
	return m->env->stack[--m->n];
}

/* Pushes the entry that has `depth` entries above it. */
static void pick(struct machine *m, unsigned depth)
{
	if (depth >= m->n)
		m->c.failed = true;
	else
		push(m, m->env->stack[m->n - 1 - depth]);
}

/* Makes the top entry the third one. */
static void rotate(struct machine *m)
{
	uint64_t top = pop(m);
	uint64_t second = pop(m);
	uint64_t third = pop(m);

	push(m, top);
	push(m, third);
	push(m, second);
}

static void push_register(struct machine *m, uint64_t reg, int64_t offset)
{
	if (reg >= ARCH_N_REGS || !(m->env->known >> reg & 1)) {
		m->c.failed = true;
		return;
	}
	push(m, m->env->reg[reg] + (uint64_t)offset);
}

static void dereference(struct machine *m, unsigned n_bytes)
{
	uintptr_t addr = (uintptr_t)pop(m);
	uint64_t value = 0;

	if (m->c.failed || n_bytes == 0 || n_bytes > sizeof(uintptr_t) ||
	    !m->env->read(m->env->read_ctx, addr, n_bytes, &value))
		m->c.failed = true;
	else
		push(m, value);
}

static void jump(struct machine *m, bool is_taken)
{
	int16_t distance = (int16_t)cursor_u16(&m->c);
	int64_t target = (int64_t)m->c.pos + distance;

	if (!is_taken)
		return;
	if (target < 0 || target > (int64_t)m->c.len)
		m->c.failed = true;
	else
		m->c.pos = (size_t)target;
}

static uint64_t read_constant(struct machine *m, uint8_t op)
{
	struct cursor *c = &m->c;

	switch (op) {
	case OP_CONST1U:
		return cursor_u8(c);
	case OP_CONST1S:
		return (uint64_t)(int64_t)(int8_t)cursor_u8(c);
	case OP_CONST2U:
		return cursor_u16(c);
	case OP_CONST2S:
		return (uint64_t)(int64_t)(int16_t)cursor_u16(c);
	case OP_CONST4U:
		return cursor_u32(c);
	case OP_CONST4S:
		return (uint64_t)(int64_t)(int32_t)cursor_u32(c);
	case OP_CONSTU:
		return cursor_uleb(c);
	case OP_CONSTS:
		return (uint64_t)cursor_sleb(c);
	case OP_ADDR:
		return sizeof(uintptr_t) == 8 ? cursor_u64(c) : cursor_u32(c);
	default: /* 8 bytes, with or without sign */
		return cursor_u64(c);
	}
}

static uint64_t shift(uint8_t op, uint64_t a, uint64_t b)
{
	bool is_all_out = b >= 64;

	switch (op) {
	case OP_SHL:
		return is_all_out ? 0 : a << b;
	case OP_SHR:
		return is_all_out ? 0 : a >> b;
	default:
		return (uint64_t)((int64_t)a >> (is_all_out ? 63 : b));
	}
}

/* b was on top. Division and the comparisons are signed, the remainder is not. */
static uint64_t combine(struct machine *m, uint8_t op, uint64_t a, uint64_t b)
{
	switch (op) {
	case OP_AND:
		return a & b;
	case OP_OR:
		return a | b;
	case OP_XOR:
		return a ^ b;
	case OP_PLUS:
		return a + b;
	case OP_MINUS:
		return a - b;
	case OP_MUL:
		return a * b;
	case OP_DIV:
		if (b == 0 || (b == UINT64_MAX && a == 1ull << 63))
			break;
		return (uint64_t)((int64_t)a / (int64_t)b);
	case OP_MOD:
		if (b == 0)
			break;
		return a % b;
	case OP_EQ:
		return a == b;
	case OP_NE:
		return a != b;
	case OP_GE:
		return (int64_t)a >= (int64_t)b;
	case OP_GT:
		return (int64_t)a > (int64_t)b;
	case OP_LE:
		return (int64_t)a <= (int64_t)b;
	case OP_LT:
		return (int64_t)a < (int64_t)b;
	case OP_SHL:
	case OP_SHR:
	case OP_SHRA:
		return shift(op, a, b);
	}
	m->c.failed = true;
	return 0;
}

static void run_unary(struct machine *m, uint8_t op)
{
	uint64_t a = pop(m);

	switch (op) {
	case OP_ABS:
		push(m, (int64_t)a < 0 ? -a : a);
		break;
	case OP_NEG:
		push(m, -a);
		break;
	case OP_NOT:
		push(m, ~a);
		break;
	default:
		push(m, a + cursor_uleb(&m->c)); /* plus_uconst */
	}
}

static void run_stack(struct machine *m, uint8_t op)
{
	uint64_t top;

	switch (op) {
	case OP_DUP:
		pick(m, 0);
		break;
	case OP_DROP:
		pop(m);
		break;
	case OP_OVER:
		pick(m, 1);
		break;
	case OP_PICK:
		pick(m, cursor_u8(&m->c));
		break;
	case OP_ROT:
		rotate(m);
		break;
	default: /* swap */
		top = pop(m);
		pick(m, 0);
		if (!m->c.failed)
			m->env->stack[m->n - 2] = top;
	}
}

static void run_other(struct machine *m, uint8_t op)
{
	uint64_t top;

	switch (op) {
	case OP_DEREF:
		dereference(m, sizeof(uintptr_t));
		break;
	case OP_DEREF_SIZE:
		dereference(m, cursor_u8(&m->c));
		break;
	case OP_ABS:
	case OP_NEG:
	case OP_NOT:
	case OP_PLUS_UCONST:
		run_unary(m, op);
		break;
	case OP_BRA:
		jump(m, pop(m) != 0);
		break;
	case OP_SKIP:
		jump(m, true);
		break;
	case OP_BREGX:
		top = cursor_uleb(&m->c);
		push_register(m, top, cursor_sleb(&m->c));
		break;
	case OP_NOP:
		break;
	default: /* two operands, or unknown */
		top = pop(m);
		push(m, combine(m, op, pop(m), top));
	}
}

static void run_op(struct machine *m, uint8_t op)
{
	if (op >= OP_LIT0 && op <= OP_LIT31)
		push(m, op - OP_LIT0);
	else if (op >= OP_BREG0 && op <= OP_BREG31)
		push_register(m, op - OP_BREG0, cursor_sleb(&m->c));
	else if (op == OP_ADDR || (op >= OP_CONST1U && op <= OP_CONSTS))
		push(m, read_constant(m, op));
	else if (op >= OP_DUP && op <= OP_ROT)
		run_stack(m, op);
	else
		run_other(m, op);
}

bool expr_eval(const struct expr_env *env, const uint8_t *ops, size_t len, const uintptr_t *initial,
	       uintptr_t *ret)
{
	struct machine m = {.env = env, .c = cursor_make(ops, len)};

	if (initial)
		push(&m, *initial);
	for (unsigned n_steps = 0; cursor_left(&m.c) && !m.c.failed; n_steps++) {
		if (n_steps == EXPR_MAX_STEPS)
			return false;
		run_op(&m, cursor_u8(&m.c));
	}
	if (m.c.failed || m.n == 0)
		return false;
	*ret = (uintptr_t)env->stack[m.n - 1];
	return true;
}
