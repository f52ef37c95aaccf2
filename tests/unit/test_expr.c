#include "harness/test.h"
#include "unwind/tables_i.h"

#define ALL_KNOWN 0xffffffffu

/* A memory in which each address holds its own number, except page 0. */
static bool read_address(void *ctx, uintptr_t addr, size_t n, uint64_t *ret)
{
	(void)ctx;
	if (addr < 4096)
		return false;
	*ret = n < 8 ? addr & ((1ull << (8 * n)) - 1) : addr;
	return true;
}

static bool eval(const void *ops, size_t len, uint32_t known, const uintptr_t *initial,
		 uintptr_t *ret)
{
	static uint64_t stack[EXPR_STACK];
	struct arch_regs regs;
	unsigned char *guarded = guard_buf_create(ops, len);
	struct expr_env env = {.reg = regs.r, .known = known, .read = read_address, .stack = stack};
	bool is_ok;

	for (unsigned i = 0; i < ARCH_N_REGS; i++)
		regs.r[i] = (i + 1) * 0x1000;
	is_ok = expr_eval(&env, guarded, len, initial, ret);
	guard_buf_destroy(guarded, len);
	return is_ok;
}

#define EVAL(ops, ret) eval((ops), sizeof(ops) - 1, ALL_KNOWN, NULL, (ret))

TEST(expr_constants_of_all_sizes_and_signs)
{
	uintptr_t v = 0;

	CHECK(EVAL("\x08\xff", &v));
	CHECK_EQ(v, 0xff);
	CHECK(EVAL("\x09\xff", &v));
	CHECK_EQ(v, -1);
	CHECK(EVAL("\x0b\x00\x80", &v));
	CHECK_EQ(v, -32768);
	CHECK(EVAL("\x0c\xff\xff\xff\xff", &v));
	CHECK_EQ(v, 0xffffffff);
	CHECK(EVAL("\x0d\xff\xff\xff\xff", &v));
	CHECK_EQ(v, -1);
	CHECK(EVAL("\x0e\1\2\3\4\5\6\7\x08", &v));
	CHECK_EQ(v, 0x0807060504030201);
	CHECK(EVAL("\x10\x80\x01", &v));
	CHECK_EQ(v, 128);
	CHECK(EVAL("\x11\x7f", &v));
	CHECK_EQ(v, -1);
	CHECK(EVAL("\x4f", &v));
	CHECK_EQ(v, 31);
}

TEST(expr_arithmetic_is_that_of_the_standard)
{
	uintptr_t v = 0;

	CHECK(EVAL("\x37\x33\x1c", &v)); /* 7 - 3 */
	CHECK_EQ(v, 4);
	CHECK(EVAL("\x09\xf9\x32\x1b", &v)); /* -7 / 2, signed */
	CHECK_EQ(v, -3);
	CHECK(EVAL("\x37\x33\x1d", &v));
	CHECK_EQ(v, 1);
	CHECK(EVAL("\x09\xff\x31\x2d", &v)); /* -1 < 1, signed */
	CHECK_EQ(v, 1);
	CHECK(EVAL("\x09\x80\x34\x26", &v)); /* -128 >> 4, with sign */
	CHECK_EQ(v, -8);
	CHECK(EVAL("\x31\x08\x40\x24", &v)); /* 1 << 64 */
	CHECK_EQ(v, 0);
	CHECK(EVAL("\x09\xfb\x19", &v)); /* |-5| */
	CHECK_EQ(v, 5);
	CHECK(EVAL("\x31\x23\x05", &v)); /* 1 plus_uconst 5 */
	CHECK_EQ(v, 6);
	CHECK(EVAL("\x35\x20", &v));
	CHECK_EQ(v, ~5ull);
}

TEST(expr_stack_operations)
{
	uintptr_t v = 0;

	CHECK(EVAL("\x31\x32\x16\x1c", &v)); /* 1 2 swap minus = 2 - 1 */
	CHECK_EQ(v, 1);
	CHECK(EVAL("\x31\x32\x33\x17\x13", &v)); /* 1 2 3 rot -> 3 1 2, drop -> 1 */
	CHECK_EQ(v, 1);
	CHECK(EVAL("\x31\x32\x14", &v));
	CHECK_EQ(v, 1);
	CHECK(EVAL("\x35\x32\x33\x15\x02", &v));
	CHECK_EQ(v, 5);
	CHECK(EVAL("\x34\x12\x22", &v));
	CHECK_EQ(v, 8);
}

TEST(expr_registers_and_memory)
{
	uintptr_t v = 0;

	CHECK(EVAL("\x77\x08", &v)); /* breg7 + 8 */
	CHECK_EQ(v, 0x8008);
	CHECK(EVAL("\x76\x78\x06", &v)); /* *(breg6 - 8) */
	CHECK_EQ(v, 0x6ff8);
	CHECK(EVAL("\x92\x03\x10\x94\x01", &v)); /* one byte at breg3 + 16 */
	CHECK_EQ(v, 0x10);
	CHECK(!EVAL("\x30\x06", &v)); /* unreadable */
	CHECK(!eval("\x76\x00", 2, ALL_KNOWN & ~(1u << 6), NULL, &v)); /* not known */
	CHECK(!EVAL("\x82\x00", &v)); /* register 18 is none that we follow */
}

/* The one that linkers write for the procedure linkage table. */
TEST(expr_of_plt_depends_on_pc_in_its_slot)
{
	static const char plt[] = "\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22";
	uint64_t stack[EXPR_STACK];
	struct arch_regs regs = {{0}};
	struct expr_env env = {
		.reg = regs.r, .known = ALL_KNOWN, .read = read_address, .stack = stack};
	uintptr_t v = 0;

	regs.r[7] = 0x7000;
	regs.r[16] = 0x40000a;
	CHECK(expr_eval(&env, (const uint8_t *)plt, sizeof(plt) - 1, NULL, &v));
	CHECK_EQ(v, 0x7008);
	regs.r[16] = 0x40000b;
	CHECK(expr_eval(&env, (const uint8_t *)plt, sizeof(plt) - 1, NULL, &v));
	CHECK_EQ(v, 0x7010);
}

TEST(expr_initial_value_is_on_the_stack)
{
	uintptr_t cfa = 100;
	uintptr_t v = 0;

	CHECK(eval("\x23\x05", 2, 0, &cfa, &v));
	CHECK_EQ(v, 105);
	CHECK(eval("", 0, 0, &cfa, &v));
	CHECK_EQ(v, 100);
}

TEST(expr_branches)
{
	uintptr_t v = 0;

	CHECK(EVAL("\x31\x28\x01\x00\x35\x37", &v)); /* taken: over lit5 */
	CHECK_EQ(v, 7);
	CHECK(EVAL("\x30\x28\x01\x00\x35", &v));
	CHECK_EQ(v, 5);
	CHECK(EVAL("\x35\x2f\x00\x00", &v)); /* to the very end */
	CHECK_EQ(v, 5);
	CHECK(!EVAL("\x35\x2f\x01\x00", &v)); /* past it */
	CHECK(!EVAL("\x35\x2f\xfb\xff", &v)); /* before the beginning */
}

TEST(expr_endless_loop_ends)
{
	uintptr_t v = 0;

	CHECK(!EVAL("\x2f\xfd\xff", &v));
}

TEST(expr_malformed_fails_and_leaves_result_alone)
{
	static const struct {
		const char *ops;
		size_t len;
	} bad[] = {
		{"", 0},
		{"\x12", 1}, /* dup of nothing */
		{"\x31\x16", 2}, /* swap of one */
		{"\x31\x22", 2}, /* plus of one */
		{"\x31\x30\x1b", 3}, /* by zero */
		{"\x31\x30\x1d", 3},
		{"\x0e\x00\x00\x00\x00\x00\x00\x00\x80\x09\xff\x1b", 12}, /* overflows */
		{"\x0c\x01\x02", 3}, /* cut short */
		{"\x10\x80", 2},
		{"\x50", 1}, /* reg0: a location, not a value */
		{"\x9c", 1}, /* call_frame_cfa */
		{"\xff", 1},
		{"\x31\x94\x09", 3}, /* nine bytes */
		{"\x31\x94\x00", 3},
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		uintptr_t v = 42;

		CHECK(!eval(bad[i].ops, bad[i].len, ALL_KNOWN, NULL, &v));
		CHECK_EQ(v, 42);
	}
}

TEST(expr_stack_has_a_limit)
{
	unsigned char ops[EXPR_STACK + 1];
	uintptr_t v = 0;

	for (size_t i = 0; i < sizeof(ops); i++)
		ops[i] = 0x31;
	CHECK(eval(ops, EXPR_STACK, 0, NULL, &v));
	CHECK(!eval(ops, EXPR_STACK + 1, 0, NULL, &v));
}
