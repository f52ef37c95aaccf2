#include "harness/test.h"
#include "unwind/rule_cache_i.h"
#include "unwind/tables_i.h"

#include <string.h>

static struct rule_cache first;
static struct rule_cache second;

static struct rule make(intptr_t cfa_off, uint32_t generation)
{
	struct cfi_row row = {0};

	row.cfa = (struct cfi_rule){.how = CFI_OFFSET, .reg = ARCH_REG_SP, .offset = cfa_off};
	row.reg[ARCH_REG_PC] = (struct cfi_rule){.how = CFI_OFFSET, .offset = ARCH_RA_OFFSET};
	return rule_pack(&row, false, generation);
}

TEST(rule_cache_finds_what_was_added)
{
	rule_cache_add(&first, 0x401000, make(16, 2));
	CHECK_EQ(rule_cfa_off(rule_cache_find(&first, 0x401000, 2)), 16);
	CHECK_EQ(rule_cache_find(&first, 0x401001, 2).v, 0);
}

TEST(rule_cache_is_shared_between_threads)
{
	rule_cache_add(&first, 0x402000, make(24, 2));
	CHECK_EQ(rule_cfa_off(rule_cache_find(&second, 0x402000, 2)), 24);
}

TEST(rule_cache_forgets_with_the_generation)
{
	rule_cache_add(&first, 0x403000, make(32, 4));
	CHECK_EQ(rule_cache_find(&first, 0x403000, 6).v, 0);
	CHECK_EQ(rule_cache_find(&second, 0x403000, 6).v, 0);
	rule_cache_add(&first, 0x403000, make(40, 6));
	CHECK_EQ(rule_cfa_off(rule_cache_find(&first, 0x403000, 6)), 40);
}

TEST(rule_cache_never_gives_a_rule_of_another_key)
{
	memset(&first, 0, sizeof(first));
	for (uintptr_t key = 0x500000; key < 0x500000 + 200000; key++)
		rule_cache_add(&first, key, make(8 + (intptr_t)(key % 1000) * 8, 2));
	for (uintptr_t key = 0x500000; key < 0x500000 + 200000; key++) {
		struct rule r = rule_cache_find(&second, key, 2);

		if (r.v)
			CHECK_EQ(rule_cfa_off(r), 8 + (intptr_t)(key % 1000) * 8);
	}
}
