/* arch/x86_64/dlopen_tail.S - dlopen and dlmopen, passed on by a jump.
 *
 * The dynamic linker looks at the return address to learn whose RUNPATH and namespace count, so
 * the real function must see the program's return address, not ours. Each stub lets C code look
 * at the flags (hook_dlopen, hook_dlmopen: return the flags to use), then jumps.
 *
 * dlopen(rdi file, esi flags); dlmopen(rdi namespace, rsi file, edx flags)
 * Stack at the call: [return address][rdi][rsi][rdx], 16-byte aligned.
 */
	.text
	.globl	dlopen
	.type	dlopen, @function
dlopen:
	.cfi_startproc
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	hook_dlopen
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	movl	%eax, %esi
	jmp	*hook_real_dlopen(%rip)
	.cfi_endproc
	.size	dlopen, .-dlopen

	.globl	dlmopen
	.type	dlmopen, @function
dlmopen:
	.cfi_startproc
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	pushq	%rdx
	.cfi_adjust_cfa_offset 8
	call	hook_dlmopen
	popq	%rdx
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	movl	%eax, %edx
	jmp	*hook_real_dlmopen(%rip)
	.cfi_endproc
	.size	dlmopen, .-dlmopen
	.section .note.GNU-stack,"",@progbits
