/* arch/x86_64/clone.S - see arch_clone() in arch/arch.h.
 *
 * In:  rdi flags, rsi stack_top, rdx tls, rcx fn, r8 arg
 * The child starts with an empty stack; its frame has no caller, which the CFI says.
 */
	.text
	.globl	arch_clone
	.hidden	arch_clone
	.type	arch_clone, @function
arch_clone:
	.cfi_startproc
	subq	$16, %rsi
	movq	%rcx, 0(%rsi)		/* fn and arg travel on the child's stack */
	movq	%r8, 8(%rsi)
	movq	%rdx, %r8		/* clone(flags, stack, parent_tid, child_tid, tls) */
	xorl	%edx, %edx
	xorl	%r10d, %r10d
	movl	$56, %eax		/* SYS_clone */
	syscall
	testq	%rax, %rax
	jz	1f
	ret
1:
	.cfi_undefined rip
	xorl	%ebp, %ebp
	popq	%rax
	popq	%rdi
	call	*%rax
	movl	%eax, %edi
	movl	$60, %eax		/* SYS_exit: this thread only */
	syscall
	hlt
	.cfi_endproc
	.size	arch_clone, .-arch_clone
	.section .note.GNU-stack,"",@progbits
