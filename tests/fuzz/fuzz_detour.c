/* fuzz/fuzz_detour.c - any bytes as a function: judged, and if accepted, moved.
 *
 * Input: the function. What is written must be instructions again, in the space that there is.
 */
#include <string.h>

#include "arch/arch.h"
#include "harness/fuzz.h"

#define GUARD_BYTES 64u

static void check_stub(const uint8_t *stub, size_t original)
{
	struct arch_instruction in;
	size_t at = original;

	do {
		if (at >= ARCH_DETOUR_STUB_BYTES ||
		    !arch_instruction_decode(stub + at, ARCH_DETOUR_STUB_BYTES - at, &in))
			__builtin_trap();
		at += in.n_bytes;
	} while (in.flow != ARCH_FLOW_JUMP_MEMORY);
	if (at + 8 > ARCH_DETOUR_STUB_BYTES)
		__builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	static uint8_t memory[1 << 16];
	uint8_t *stub = memory + sizeof(memory) - ARCH_DETOUR_STUB_BYTES - GUARD_BYTES;
	uint8_t jump[ARCH_DETOUR_JUMP_BYTES];
	struct arch_detour d;
	size_t original;

	if (size_bytes > 4096)
		return 0;
	memset(memory, 0, sizeof(memory));
	memcpy(memory, data, size_bytes);
	arch_detour_jump_target(memory, size_bytes);
	if (arch_detour_check(memory, size_bytes, size_bytes, &d))
		return 0;
	if (d.end < d.jump_at + ARCH_DETOUR_JUMP_BYTES && d.end != size_bytes)
		__builtin_trap();
	original = arch_detour_write_stub(memory, &d, stub, data, 5, data);
	for (size_t i = 0; i < GUARD_BYTES; i++) {
		if (stub[ARCH_DETOUR_STUB_BYTES + i])
			__builtin_trap();
	}
	arch_detour_write_jump(memory, &d, stub, jump);
	if (original)
		check_stub(stub, original);
	return 0;
}
