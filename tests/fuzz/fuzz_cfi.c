/* fuzz/fuzz_cfi.c - call-frame instructions of any kind, and packing what they give.
 *
 * Input: code alignment, data alignment (signed), pointer encoding, 2 bytes distance of the key
 * from the function's start, 1 byte length of the CIE's instructions; then those and the FDE's.
 */
#include "harness/fuzz.h"
#include "unwind/rule_i.h"
#include "unwind/tables_i.h"

#include "base/bytes.h"

#define HEAD_BYTES 6
#define CODE 0x400000u

/* Pointers into the input that the row keeps must lie inside it. */
static void check_expr(const struct cfi_rule *rule, const uint8_t *lo, const uint8_t *hi)
{
	if (rule->how != CFI_EXPR && rule->how != CFI_VAL_EXPR)
		return;
	if (rule->expr < lo || rule->expr > hi || rule->expr_bytes > (size_t)(hi - rule->expr))
		__builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	static struct cfi_machine m;
	const uint8_t *ops = data + HEAD_BYTES;
	size_t n_cie;
	struct eh_fde fde = {.start = CODE, .end = CODE + 0x10000};

	if (size_bytes < HEAD_BYTES)
		return 0;
	n_cie = data[5] < size_bytes - HEAD_BYTES ? data[5] : size_bytes - HEAD_BYTES;
	fde.code_align = data[0];
	fde.data_align = (int8_t)data[1];
	fde.pc_encoding = data[2];
	fde.cie_ops = (struct eh_ops){ops, n_cie, CODE + 0x20000};
	fde.ops = (struct eh_ops){ops + n_cie, size_bytes - HEAD_BYTES - n_cie, CODE + 0x30000};
	if (!cfi_run(&m, &fde, CODE + load_le16(data + 3) + 1))
		return 0;
	check_expr(&m.row.cfa, data, data + size_bytes);
	for (unsigned i = 0; i < ARCH_N_REGS; i++)
		check_expr(&m.row.reg[i], data, data + size_bytes);
	if (rule_kind(rule_pack(&m.row, false, 2)) == RULE_NONE)
		__builtin_trap();
	return 0;
}
