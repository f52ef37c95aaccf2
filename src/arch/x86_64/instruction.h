/* arch/x86_64/instruction.h - the length and the control flow of one machine instruction.
 *
 * This is no disassembler. It answers what moving and scanning code needs: how long is the
 * instruction, where can control go afterwards, and does the instruction name an address relative
 * to itself. The decoder knows what compilers emit (integer code, x87, SSE, AVX, AVX-512) and
 * refuses the rest: system instructions, far branches, prefixes whose effect differs between CPUs.
 *
 * Threads: any; no state, no memory, no errno.
 */
#ifndef ARCH_X86_64_INSTRUCTION_H
#define ARCH_X86_64_INSTRUCTION_H

#include "base/compiler.h"

#define ARCH_INSTRUCTION_MAX_BYTES 15u

/* Where control goes after the instruction. */
enum arch_flow {
	ARCH_FLOW_NEXT, /* to the next instruction */
	ARCH_FLOW_JUMP, /* to a fixed target */
	ARCH_FLOW_JUMP_IF, /* to a fixed target or to the next instruction */
	ARCH_FLOW_CALL, /* to a fixed target, and back */
	ARCH_FLOW_JUMP_REGISTER, /* to a target that a register or a computed address holds */
	ARCH_FLOW_JUMP_MEMORY, /* to a target that memory at a fixed address holds */
	ARCH_FLOW_CALL_INDIRECT, /* to a target that is not fixed, and back */
	ARCH_FLOW_RETURN,
	ARCH_FLOW_TRAP, /* nowhere: int3, ud2, hlt */
};

struct arch_instruction {
	uint8_t n_bytes;
	uint8_t flow; /* enum arch_flow */
	uint8_t opcode_at; /* offset of the last byte of the opcode */
	uint8_t relative_at; /* offset of a field that is relative to the end of the instruction: the
				target of a branch, or a RIP-relative address; 0: none */
	uint8_t relative_bytes; /* 1 or 4 */
	bool is_landing_pad; /* endbr64 */
	bool is_nop; /* does nothing: fills the space between functions */
	int32_t relative; /* value of that field */
};

/* Decodes the instruction at code, of which n_bytes may be read. False: the decoder does not know
 * the instruction, or the instruction is longer than n_bytes; *ret is undefined then. */
bool arch_instruction_decode(const uint8_t *code, size_t n_bytes, struct arch_instruction *ret);

#endif
