/* arch/x86_64/syscall_tail.S - syscall(), passed on by a jump.
 *
 * The real function must see the program's own frame: there are system calls that return twice.
 * hook_syscall() in record/hooks_sandbox.c gets those that it knows, and the very first.
 *
 * syscall(rdi number, rsi, rdx, rcx, r8, r9, 8(rsp)); the arguments of hook_syscall() are the same.
 */
	.text
	.globl	syscall
	.type	syscall, @function
syscall:
	.cfi_startproc
	cmpq	$157, %rdi		/* SYS_prctl */
	je	1f
	cmpq	$272, %rdi		/* SYS_unshare */
	je	1f
	cmpq	$317, %rdi		/* SYS_seccomp */
	je	1f
	movq	hook_real_syscall(%rip), %rax
	testq	%rax, %rax
	jz	1f
	jmp	*%rax
1:
	xorl	%eax, %eax		/* no arguments in vector registers */
	jmp	hook_syscall
	.cfi_endproc
	.size	syscall, .-syscall
	.section .note.GNU-stack,"",@progbits
