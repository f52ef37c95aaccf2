/* fuzz/fuzz_expr.c - DWARF expressions of any kind over registers and a memory of our invention.
 *
 * Input: 1 byte initial value (0 = none), 4 bytes mask of known registers, then the expression.
 */
#include "harness/fuzz.h"
#include "unwind/tables_i.h"

#include <string.h>

#include "base/hash.h"

/* Odd pages are not there; others hold numbers that look like addresses now and then. */
static bool read_invented(void *ctx, uintptr_t addr, size_t n, uint64_t *ret)
{
	uint64_t value = hash_mix64(addr);

	(void)ctx;
	if (addr >> 12 & 1)
		return false;
	*ret = value & 3 ? value & 0xffff : value;
	if (n < 8)
		*ret &= (1ull << (8 * n)) - 1;
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	static uint64_t stack[EXPR_STACK];
	struct arch_regs regs;
	struct expr_env env = {.reg = regs.r, .read = read_invented, .stack = stack};
	uintptr_t initial;
	uintptr_t result;

	if (size_bytes < 5)
		return 0;
	for (unsigned i = 0; i < ARCH_N_REGS; i++)
		regs.r[i] = i << 12 | i * 8;
	initial = data[0];
	memcpy(&env.known, data + 1, 4);
	expr_eval(&env, data + 5, size_bytes - 5, initial ? &initial : NULL, &result);
	return 0;
}
