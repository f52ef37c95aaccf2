/* unwind/rule.c - packs a row of rules into 64 bits, if it is one of the few shapes that compilers
 * make for nearly every frame.
 *
 * Most shapes are "register plus offset". The other shape is that of a function with an aligned
 * stack: it keeps the CFA in a word below the frame pointer, and says so with two expressions, CFA
 * = *(fp + a) and "fp is saved at fp + b".
 */
#include "unwind/rule_i.h"
#include "unwind/tables_i.h"

#include "base/cursor.h"

#define OP_BREG_FP (0x70 + ARCH_REG_FP)
#define OP_DEREF 0x06

#define MAX_FP_OFF (INT16_MAX * 8)
#define MAX_CFA_OFF (((1 << 19) - 1) * 8)

static bool fits(int64_t offset, int64_t max)
{
	return offset % 8 == 0 && offset >= -max && offset <= max;
}

struct rule rule_make(enum rule_kind kind, uint32_t generation)
{
	return (struct rule){kind | rule_generation_bits(generation)};
}

struct rule rule_make_end(unsigned why, uint32_t generation)
{
	return (struct rule){RULE_END | (uint64_t)why << 20 | rule_generation_bits(generation)};
}

static struct rule with_cfa(struct rule r, int64_t offset)
{
	r.v |= ((uint64_t)(offset / 8) & 0xfffff) << 20;
	return r;
}

static struct rule with_fp(struct rule r, int64_t offset)
{
	r.v |= 8 | ((uint64_t)(offset / 8) & 0xffff) << 4;
	return r;
}

/* Whether the expression is "fp + offset", followed by "dereference" if is_deref, and nothing
 * else. */
static bool is_fp_expr(const struct cfi_rule *rule, bool is_deref, int64_t *ret)
{
	struct cursor c = cursor_make(rule->expr, rule->expr_bytes);
	bool matches = cursor_u8(&c) == OP_BREG_FP;

	*ret = cursor_sleb(&c);
	if (is_deref)
		matches = matches && cursor_u8(&c) == OP_DEREF;
	return matches && !c.failed && !cursor_left(&c);
}

static enum rule_kind kind_of_cfa(const struct cfi_rule *cfa, int64_t *ret_offset)
{
	*ret_offset = cfa->offset;
	if (cfa->how == CFI_EXPR)
		return is_fp_expr(cfa, true, ret_offset) ? RULE_FP_DEREF : RULE_SLOW;
	if (cfa->how == CFI_OFFSET && cfa->reg == ARCH_REG_SP && cfa->offset > 0)
		return RULE_SP;
	if (cfa->how == CFI_OFFSET && cfa->reg == ARCH_REG_FP)
		return RULE_FP;
	return RULE_SLOW;
}

struct rule rule_pack(const struct cfi_row *row, bool is_signal, uint32_t generation)
{
	const struct cfi_rule *ra = &row->reg[ARCH_REG_PC];
	const struct cfi_rule *fp = &row->reg[ARCH_REG_FP];
	struct rule slow = rule_make(RULE_SLOW, generation);
	enum rule_kind kind;
	int64_t cfa_off;
	int64_t fp_off;
	bool is_ok;

	if (ra->how == CFI_UNDEFINED)
		return rule_make(RULE_END, generation);
	if (is_signal || ra->how != CFI_OFFSET || ra->offset != ARCH_RA_OFFSET ||
	    row->reg[ARCH_REG_SP].how != CFI_UNSPECIFIED)
		return slow;
	kind = kind_of_cfa(&row->cfa, &cfa_off);
	if (kind == RULE_SLOW || !fits(cfa_off, MAX_CFA_OFF))
		return slow;
	if (fp->how == CFI_UNSPECIFIED || fp->how == CFI_SAME)
		return with_cfa(rule_make(kind, generation), cfa_off);
	fp_off = fp->offset;
	if (kind == RULE_FP_DEREF)
		is_ok = fp->how == CFI_EXPR && is_fp_expr(fp, false, &fp_off);
	else
		is_ok = fp->how == CFI_OFFSET;
	if (!is_ok || !fits(fp_off, MAX_FP_OFF))
		return slow;
	return with_fp(with_cfa(rule_make(kind, generation), cfa_off), fp_off);
}
