/* arch/x86_64/getregs.S - see arch_getregs() in arch/arch.h.
 *
 * In: rdi -> struct arch_regs, slots in the order of the DWARF numbers (regs.h)
 *
 *   rsp ->  return address     = the caller's pc, slot 16
 *   rsp+8   the caller's stack = its rsp after the return, slot 7
 */
	.text
	.globl	arch_getregs
	.hidden	arch_getregs
	.type	arch_getregs, @function
arch_getregs:
	.cfi_startproc
	endbr64
	movq	%rbx, 3*8(%rdi)
	movq	%rbp, 6*8(%rdi)
	leaq	8(%rsp), %rax
	movq	%rax, 7*8(%rdi)
	movq	%r12, 12*8(%rdi)
	movq	%r13, 13*8(%rdi)
	movq	%r14, 14*8(%rdi)
	movq	%r15, 15*8(%rdi)
	movq	(%rsp), %rax
	movq	%rax, 16*8(%rdi)
	ret
	.cfi_endproc
	.size	arch_getregs, .-arch_getregs
	.section .note.GNU-stack,"",@progbits
