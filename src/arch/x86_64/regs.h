/* arch/x86_64/regs.h - the registers that unwinding restores, by their DWARF numbers.
 *
 *  0 rax  1 rdx  2 rcx  3 rbx  4 rsi  5 rdi  6 rbp  7 rsp  8..15 r8..r15  16 return address
 */
#ifndef ARCH_X86_64_REGS_H
#define ARCH_X86_64_REGS_H

#include <ucontext.h>

#include "base/bytes.h"

#define ARCH_N_REGS 17
#define ARCH_REG_FP 6
#define ARCH_REG_SP 7
#define ARCH_REG_PC 16
/* rbx, rbp, r12-r15: what every function hands back as it got it. */
#define ARCH_CALLEE_SAVED (1u << 3 | 1u << 6 | 1u << 12 | 1u << 13 | 1u << 14 | 1u << 15)

/* A call pushes the return address, so it lies right below the caller's stack pointer. */
#define ARCH_RA_OFFSET (-8)
/* The stack pointer is a multiple of this at every call. */
#define ARCH_STACK_ALIGN 8

/* So many bytes arch_is_after_call() and arch_is_fp_prologue() look at. */
#define ARCH_CALL_MAX_BYTES 7
#define ARCH_PROLOGUE_MAX_BYTES 8

struct arch_regs {
	uintptr_t r[ARCH_N_REGS];
};

/* The thread control block. libc puts it at the upper end of the stacks that it makes. */
static inline uintptr_t arch_thread_pointer(void)
{
	uintptr_t tp;

	__asm__("movq %%fs:0, %0" : "=r"(tp));
	return tp;
}

/* before[0 .. ARCH_CALL_MAX_BYTES) are the bytes in front of a return address. True when they end
 * in one of the encodings of call: e8 rel32, or ff /2 with any addressing mode. */
static inline bool arch_is_after_call(const uint8_t *before)
{
	const uint8_t *end = before + ARCH_CALL_MAX_BYTES;

	if (end[-5] == 0xe8)
		return true;
	if (end[-2] == 0xff && ((end[-1] & 0xf8) == 0xd0 || /* *reg */
				((end[-1] & 0xf8) == 0x10 && (end[-1] & 6) != 4))) /* (reg) */
		return true;
	if (end[-3] == 0xff && ((end[-2] & 0xf8) == 0x50 ? end[-2] != 0x54 : end[-2] == 0x14))
		return true; /* disp8(reg), (base, index) */
	if (end[-4] == 0xff && end[-3] == 0x54)
		return true; /* disp8(base, index) */
	if (end[-6] == 0xff && ((end[-5] & 0xf8) == 0x90 ? end[-5] != 0x94 : end[-5] == 0x15))
		return true; /* disp32(reg), disp32(rip) */
	return end[-7] == 0xff && (end[-6] == 0x94 || end[-6] == 0x14); /* disp32 with index */
}

/* The target of a direct call that ends before the return address ra; before as above. False: the
 * call is not direct. */
static inline bool arch_call_target(const uint8_t *before, uintptr_t ra, uintptr_t *ret)
{
	const uint8_t *end = before + ARCH_CALL_MAX_BYTES;

	if (end[-5] != 0xe8)
		return false;
	*ret = ra + (uintptr_t)(intptr_t)(int32_t)load_le32(end - 4);
	return true;
}

/* Whether a function that begins with code[0 .. ARCH_PROLOGUE_MAX_BYTES) sets up a frame pointer at
 * once: [endbr64] push %rbp; mov %rsp,%rbp */
static inline bool arch_is_fp_prologue(const uint8_t *code)
{
	if (load_le32(code) == 0xfa1e0ff3u)
		code += 4; /* the rest fits exactly */
	return code[0] == 0x55 && code[1] == 0x48 &&
	       ((code[2] == 0x89 && code[3] == 0xe5) || (code[2] == 0x8b && code[3] == 0xec));
}

/* The return address that makecontext() gave to the function of this context. */
static inline uintptr_t arch_context_return(const ucontext_t *uc)
{
	return *(const uintptr_t *)uc->uc_mcontext.gregs[REG_RSP];
}

#endif
