#include "harness/test.h"
#include "unwind/rule_i.h"
#include "unwind/tables_i.h"

#include <string.h>

static struct cfi_row row_with_cfa(unsigned reg, int64_t offset)
{
	struct cfi_row row = {0};

	row.cfa = (struct cfi_rule){.how = CFI_OFFSET, .reg = (uint8_t)reg, .offset = offset};
	row.reg[ARCH_REG_PC] = (struct cfi_rule){.how = CFI_OFFSET, .offset = ARCH_RA_OFFSET};
	return row;
}

TEST(rule_keeps_offsets_and_generation)
{
	static const int64_t offsets[] = {8, 16, 4088, 65536, 4194296};

	for (size_t i = 0; i < ARRAY_LEN(offsets); i++) {
		struct cfi_row row = row_with_cfa(ARCH_REG_SP, offsets[i]);
		struct rule r = rule_pack(&row, false, 1234);

		CHECK_EQ(rule_kind(r), RULE_SP);
		CHECK_EQ(rule_cfa_off(r), offsets[i]);
		CHECK(!rule_has_fp(r));
		CHECK(rule_is_of(r, 1234));
		CHECK(!rule_is_of(r, 1236));
	}
}

TEST(rule_keeps_negative_offsets)
{
	struct cfi_row row = row_with_cfa(ARCH_REG_FP, -4096);
	struct rule r;

	row.reg[ARCH_REG_FP] = (struct cfi_rule){.how = CFI_OFFSET, .offset = -262136};
	r = rule_pack(&row, false, 2);
	CHECK_EQ(rule_kind(r), RULE_FP);
	CHECK_EQ(rule_cfa_off(r), -4096);
	CHECK(rule_has_fp(r));
	CHECK_EQ(rule_fp_off(r), -262136);
}

TEST(rule_of_aligned_stack)
{
	struct cfi_row row = row_with_cfa(ARCH_REG_SP, 8);
	struct rule r;

	row.cfa = (struct cfi_rule){
		.how = CFI_EXPR, .expr = (const uint8_t *)"\x76\x78\x06", .expr_bytes = 3};
	row.reg[ARCH_REG_FP] = (struct cfi_rule){
		.how = CFI_EXPR, .expr = (const uint8_t *)"\x76\x00", .expr_bytes = 2};
	r = rule_pack(&row, false, 2);
	CHECK_EQ(rule_kind(r), RULE_FP_DEREF);
	CHECK_EQ(rule_cfa_off(r), -8);
	CHECK(rule_has_fp(r));
	CHECK_EQ(rule_fp_off(r), 0);
}

TEST(rule_end_is_an_undefined_return_address)
{
	struct cfi_row row = row_with_cfa(ARCH_REG_SP, 8);

	row.reg[ARCH_REG_PC].how = CFI_UNDEFINED;
	CHECK_EQ(rule_kind(rule_pack(&row, false, 2)), RULE_END);
}

TEST(rule_is_slow_for_everything_else)
{
	struct cfi_row row = row_with_cfa(ARCH_REG_SP, 8);
	struct cfi_row other = row;

	CHECK_EQ(rule_kind(rule_pack(&row, true, 2)), RULE_SLOW); /* a signal frame */
	other.cfa.offset = 12;
	CHECK_EQ(rule_kind(rule_pack(&other, false, 2)), RULE_SLOW);
	other.cfa.offset = 0;
	CHECK_EQ(rule_kind(rule_pack(&other, false, 2)), RULE_SLOW);
	other.cfa.offset = 1 << 23;
	CHECK_EQ(rule_kind(rule_pack(&other, false, 2)), RULE_SLOW);
	other = row;
	other.cfa.reg = 3;
	CHECK_EQ(rule_kind(rule_pack(&other, false, 2)), RULE_SLOW);
	other = row;
	other.reg[ARCH_REG_PC].offset = -16;
	CHECK_EQ(rule_kind(rule_pack(&other, false, 2)), RULE_SLOW);
	other = row;
	other.reg[ARCH_REG_PC].how = CFI_UNSPECIFIED;
	CHECK_EQ(rule_kind(rule_pack(&other, false, 2)), RULE_SLOW);
	other = row;
	other.reg[ARCH_REG_SP].how = CFI_VAL_OFFSET;
	CHECK_EQ(rule_kind(rule_pack(&other, false, 2)), RULE_SLOW);
	other = row;
	other.reg[ARCH_REG_FP].how = CFI_UNDEFINED;
	CHECK_EQ(rule_kind(rule_pack(&other, false, 2)), RULE_SLOW);
}
