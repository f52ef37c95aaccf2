/* arch/arch.h - the contract that each CPU's folder fulfils; a port is one new folder.
 *
 * regs.h     struct arch_regs (the registers that unwinding restores, indexed by DWARF number),
 *            ARCH_N_REGS, ARCH_REG_SP, ARCH_REG_FP, ARCH_REG_PC (the return-address column),
 *            ARCH_CALLEE_SAVED (bit mask of DWARF numbers that a call preserves),
 *            ARCH_RA_OFFSET (where a call leaves the return address, from the CFA),
 *            ARCH_STACK_ALIGN. About the ARCH_CALL_MAX_BYTES before a return address:
 *            arch_is_after_call(): do they end in a call? arch_call_target(): to where?
 *            arch_is_fp_prologue(): does a function begin by setting up a frame pointer?
 *            arch_thread_pointer(). arch_context_return(): the return address that makecontext()
 *            gave to a context.
 * getregs.S  arch_getregs(): stores the caller's registers as they are after the call returns.
 * syscall.h  arch_syscall6(): a raw system call; returns the kernel's value, -errno on failure.
 *            It touches neither errno nor any other thread-local variable.
 * ticks.h    arch_ticks(): the CPU's constant counter, unfenced. arch_ticks_fence(): a reading
 *            after it waits for everything before it. arch_ticks_usable(): does the CPU say that
 *            its counter may be compared between CPUs?
 * clone.S    arch_clone(): starts a thread that libc does not know (see below).
 * cpu.h      ARCH_NAME, ARCH_ELF_MACHINE, ARCH_AUDIT.
 * caller.h   ARCH_CALLER_PC/SP/FP(): the caller of the function that uses them.
 * dlopen_tail.S  dlopen and dlmopen passed on by a jump, so that the dynamic linker sees the
 *            program's return address (record/hooks_dl.c has the C part).
 * valgrind.h arch_is_in_valgrind(): does valgrind run this process?
 * syscall_tail.S  syscall passed on by a jump (record/hooks_sandbox.c has the C part).
 *
 * instruction.h  arch_instruction_decode(): the length and the control flow of an instruction.
 * detour.h   the machine code that leads calls of a function elsewhere (record/redirect.h). A CPU
 *            that cannot do so says so in arch_detour_check(), and nothing is redirected.
 *
 * Nothing outside arch/ names a CPU.
 */
#ifndef ARCH_ARCH_H
#define ARCH_ARCH_H

#include "base/compiler.h"

#if defined(__x86_64__)
#include "arch/x86_64/caller.h"
#include "arch/x86_64/cpu.h"
#include "arch/x86_64/detour.h"
#include "arch/x86_64/instruction.h"
#include "arch/x86_64/regs.h"
#include "arch/x86_64/syscall.h"
#include "arch/x86_64/ticks.h"
#include "arch/x86_64/valgrind.h"
#else
#error "this CPU has no folder in src/arch yet; see arch/arch.h for what a port must provide"
#endif

/* Fills *regs with the registers of the calling function at the point just after this call: pc is
 * the return address, sp the value after returning. Only callee-saved registers, pc and sp are
 * meaningful. */
void arch_getregs(struct arch_regs *regs);

/* clone(2) with the given flags; the child calls fn(arg) on the stack that ends at stack_top
 * (16-byte aligned) with tls as its thread pointer, and ends itself when fn returns. Returns the
 * new thread's id to the parent, or -errno. The child must not use errno or libc functions that
 * do. */
long arch_clone(unsigned long flags, void *stack_top, void *tls, int (*fn)(void *), void *arg);

#define arch_syscall0(nr) arch_syscall6((nr), 0, 0, 0, 0, 0, 0)
#define arch_syscall1(nr, a) arch_syscall6((nr), (long)(a), 0, 0, 0, 0, 0)
#define arch_syscall2(nr, a, b) arch_syscall6((nr), (long)(a), (long)(b), 0, 0, 0, 0)
#define arch_syscall3(nr, a, b, c) arch_syscall6((nr), (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define arch_syscall4(nr, a, b, c, d)                                                              \
	arch_syscall6((nr), (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define arch_syscall5(nr, a, b, c, d, e)                                                           \
	arch_syscall6((nr), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)

#endif
