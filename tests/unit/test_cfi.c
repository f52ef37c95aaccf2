#include "harness/test.h"
#include "unwind/tables_i.h"

#include <string.h>

#define CODE 0x1000u
#define SP ARCH_REG_SP
#define FP ARCH_REG_FP
#define PC ARCH_REG_PC

static struct cfi_machine m;

/* Runs instructions behind "CFA = r7 + 8, r16 at CFA - 8" up to the row of CODE + at. */
static bool run_with(const char *cie, size_t n_cie, const char *ops, size_t len, uintptr_t at)
{
	static unsigned char *kept[2]; /* rows point into the instructions */
	static size_t n_kept[2];
	struct eh_fde fde = {
		.start = CODE,
		.end = CODE + 0x1000,
		.code_align = 1,
		.data_align = -8,
		.pc_encoding = 0,
	};

	for (int i = 0; i < 2; i++)
		guard_buf_destroy(kept[i], n_kept[i]);
	kept[0] = guard_buf_create(cie, n_cie);
	kept[1] = guard_buf_create(ops, len);
	n_kept[0] = n_cie;
	n_kept[1] = len;
	fde.cie_ops = (struct eh_ops){kept[0], n_cie, 0x8000};
	fde.ops = (struct eh_ops){kept[1], len, 0x9000};
	return cfi_run(&m, &fde, CODE + at + 1);
}

static bool run(const char *ops, size_t len, uintptr_t at)
{
	return run_with("\x0c\x07\x08\x90\x01", 5, ops, len, at);
}

#define RUN(ops, at) run((ops), sizeof(ops) - 1, (at))

static void check_cfa(unsigned reg, int64_t offset)
{
	CHECK_EQ(m.row.cfa.how, CFI_OFFSET);
	CHECK_EQ(m.row.cfa.reg, reg);
	CHECK_EQ(m.row.cfa.offset, offset);
}

static void check_reg(unsigned reg, enum cfi_how how, int64_t offset)
{
	CHECK_EQ(m.row.reg[reg].how, how);
	CHECK_EQ(m.row.reg[reg].offset, offset);
}

TEST(cfi_cie_gives_the_first_row)
{
	CHECK(RUN("", 0));
	check_cfa(SP, 8);
	check_reg(PC, CFI_OFFSET, -8);
	CHECK_EQ(m.row.reg[FP].how, CFI_UNSPECIFIED);
}

TEST(cfi_row_is_the_last_that_starts_at_or_before_the_address)
{
	static const char push_rbp[] = "\x41\x0e\x10\x86\x02\x43\x0d\x06"; /* at 1 and at 4 */

	CHECK(RUN(push_rbp, 0));
	check_cfa(SP, 8);
	CHECK(RUN(push_rbp, 1));
	check_cfa(SP, 16);
	check_reg(FP, CFI_OFFSET, -16);
	CHECK(RUN(push_rbp, 3));
	check_cfa(SP, 16);
	CHECK(RUN(push_rbp, 4));
	check_cfa(FP, 16);
}

TEST(cfi_all_ways_to_advance)
{
	static const char ops[] = "\x02\x02\x0e\x10" /* 1 byte: at 2 */
				  "\x03\x00\x01\x0e\x18" /* 2 bytes: at 0x102 */
				  "\x04\x00\x01\x00\x00\x0e\x20" /* 4 bytes: at 0x202 */
				  "\x1d\x00\x01\x00\x00\x00\x00\x00\x00\x0e\x28" /* 0x302 */
				  "\x01\x00\x14\x00\x00\x00\x00\x00\x00\x0e\x30"; /* set to 0x400 */

	CHECK(RUN(ops, 1));
	check_cfa(SP, 8);
	CHECK(RUN(ops, 2));
	check_cfa(SP, 16);
	CHECK(RUN(ops, 0x102));
	check_cfa(SP, 24);
	CHECK(RUN(ops, 0x202));
	check_cfa(SP, 32);
	CHECK(RUN(ops, 0x302));
	check_cfa(SP, 40);
	CHECK(RUN(ops, 0x3ff));
	check_cfa(SP, 40);
	CHECK(RUN(ops, 0x400));
	check_cfa(SP, 48);
}

TEST(cfi_remember_and_restore_keep_the_cfa_too)
{
	static const char ops[] = "\x41\x0e\x10\x86\x02\x0a" /* push rbp; remember */
				  "\x41\x0e\x08\xc6" /* pop rbp */
				  "\x41\x0b"; /* restore */

	CHECK(RUN(ops, 2));
	check_cfa(SP, 8);
	CHECK_EQ(m.row.reg[FP].how, CFI_UNSPECIFIED);
	CHECK(RUN(ops, 3));
	check_cfa(SP, 16);
	check_reg(FP, CFI_OFFSET, -16);
}

TEST(cfi_restore_goes_back_to_the_cie)
{
	CHECK(RUN("\x90\x05\xd0", 0));
	check_reg(PC, CFI_OFFSET, -8);
	CHECK(RUN("\x05\x10\x05\x06\x10", 0)); /* the same by extended instructions */
	check_reg(PC, CFI_OFFSET, -8);
}

TEST(cfi_signed_and_value_offsets)
{
	CHECK(RUN("\x12\x06\x7e", 0)); /* def_cfa_sf r6, -2 */
	check_cfa(FP, 16);
	CHECK(RUN("\x13\x7d", 0));
	check_cfa(SP, 24);
	CHECK(RUN("\x11\x03\x7d", 0)); /* offset_extended_sf */
	check_reg(3, CFI_OFFSET, 24);
	CHECK(RUN("\x14\x03\x02", 0));
	check_reg(3, CFI_VAL_OFFSET, -16);
	CHECK(RUN("\x15\x03\x7e", 0));
	check_reg(3, CFI_VAL_OFFSET, 16);
	CHECK(RUN("\x2f\x03\x02", 0)); /* GNU_negative_offset_extended */
	check_reg(3, CFI_OFFSET, 16);
}

TEST(cfi_other_register_rules)
{
	CHECK(RUN("\x07\x10", 0));
	CHECK_EQ(m.row.reg[PC].how, CFI_UNDEFINED);
	CHECK(RUN("\x08\x06", 0));
	CHECK_EQ(m.row.reg[FP].how, CFI_SAME);
	CHECK(RUN("\x09\x10\x0c", 0));
	CHECK_EQ(m.row.reg[PC].how, CFI_REGISTER);
	CHECK_EQ(m.row.reg[PC].reg, 12);
	CHECK(RUN("\x09\x10\x20", 0)); /* in a vector register: as good as lost */
	CHECK_EQ(m.row.reg[PC].how, CFI_UNDEFINED);
	CHECK(RUN("\x2e\x10\x00", 0)); /* GNU_args_size changes nothing */
	check_cfa(SP, 8);
}

TEST(cfi_expressions_point_into_the_instructions)
{
	CHECK(RUN("\x0f\x03\x76\x78\x06\x10\x06\x02\x76\x00\x16\x03\x01\x30", 0));
	CHECK_EQ(m.row.cfa.how, CFI_EXPR);
	CHECK_EQ(m.row.cfa.expr_bytes, 3);
	CHECK_MEM_EQ(m.row.cfa.expr, "\x76\x78\x06", 3);
	CHECK_EQ(m.row.reg[FP].how, CFI_EXPR);
	CHECK_MEM_EQ(m.row.reg[FP].expr, "\x76\x00", 2);
	CHECK_EQ(m.row.reg[3].how, CFI_VAL_EXPR);
}

TEST(cfi_registers_that_we_do_not_follow_are_skipped)
{
	CHECK(RUN("\x05\x20\x02\x07\x30\x16\x21\x01\x30\xa1\x02", 0));
	check_cfa(SP, 8);
}

TEST(cfi_malformed_fails)
{
	static const struct {
		const char *ops;
		size_t len;
	} bad[] = {
		{"\x0b", 1}, /* restore_state without remember_state */
		{"\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a", 9}, /* too deep */
		{"\x0e", 1}, /* cut short */
		{"\x0e\x80", 2},
		{"\x02", 1},
		{"\x0f\x03\x76\x78", 4},
		{"\x0f\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 10},
		{"\x0c\x11\x08", 3}, /* CFA from a register that we do not follow */
		{"\x0d\x20", 2},
		{"\x0f\x01\x30\x0e\x08", 5}, /* offset of a CFA that is an expression */
		{"\x0f\x01\x30\x0d\x06", 5},
		{"\x17", 1}, /* unknown */
		{"\x3f", 1},
		{"\x2d", 1}, /* another CPU's */
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		CHECK(!run(bad[i].ops, bad[i].len, 0));
	CHECK(!run_with("", 0, "", 0, 0)); /* no CFA at all */
}

TEST(cfi_damage_behind_the_wanted_row_does_not_matter)
{
	CHECK(RUN("\x41\x0e\x10\x41\xff", 1));
	check_cfa(SP, 16);
}
