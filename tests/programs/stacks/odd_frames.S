/* programs/stacks/odd_frames.S - frames that no compiler makes, for x86_64.
 *
 * Unless said otherwise each function is void f(void (*fn)(void)): it calls fn (rdi) from a frame
 * of its own. Used by the unit tests of the unwinder and by the programs in this folder.
 */
	.text

	.macro	function name
	.globl	\name
	.hidden	\name
	.type	\name, @function
\name:
	.endm

	.macro	endfunction name
	.size	\name, .-\name
	.endm

/* --- without CFI, all in one stretch ----------------------------------------------------------- */

	.p2align 4
	/* rbp -> saved rbp, return address */
	function odd_fp
	pushq	%rbp
	movq	%rsp, %rbp
	call	*%rdi
	popq	%rbp
	ret
	endfunction odd_fp

	/* no frame pointer: nothing tells where the return address is */
	function odd_bare
	subq	$24, %rsp
	call	*%rdi
	addq	$24, %rsp
	ret
	endfunction odd_bare

	/* a frame pointer, but a callee without one: rbp then belongs to the wrong frame */
	function odd_fp_calls_bare
	pushq	%rbp
	movq	%rsp, %rbp
	call	odd_bare
	popq	%rbp
	ret
	endfunction odd_fp_calls_bare

	/* rbp looks like a frame record but is somebody else's: the caller's */
	function odd_bare_keeps_rbp
	subq	$8, %rsp
	call	*%rdi
	addq	$8, %rsp
	ret
	endfunction odd_bare_keeps_rbp

/* --- with CFI of rare kinds --------------------------------------------------------------------- */

	.p2align 4
	/* the CFA is in rbx, as in the dynamic linker's resolver */
	function odd_cfa_in_rbx
	.cfi_startproc
	pushq	%rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbx, 0
	movq	%rsp, %rbx
	.cfi_def_cfa_register %rbx
	subq	$200, %rsp
	andq	$-64, %rsp
	call	*%rdi
	movq	%rbx, %rsp
	.cfi_def_cfa_register %rsp
	popq	%rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbx
	ret
	.cfi_endproc
	endfunction odd_cfa_in_rbx

	/* the CFA is in a stack slot that an expression names: *(rsp + 8) */
	function odd_cfa_by_expression
	.cfi_startproc
	leaq	8(%rsp), %rax
	subq	$72, %rsp
	.cfi_adjust_cfa_offset 72
	movq	%rax, 8(%rsp)
	.cfi_escape 0x0f, 3, 0x77, 8, 0x06
	call	*%rdi
	addq	$72, %rsp
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	endfunction odd_cfa_by_expression

	/* the return address is in r12 and nowhere else */
	function odd_ra_in_register
	.cfi_startproc
	pushq	%r12
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %r12, 0
	movq	8(%rsp), %r12
	.cfi_register %rip, %r12
	movq	$0, 8(%rsp)
	call	*%rdi
	movq	%r12, 8(%rsp)
	.cfi_offset %rip, -8
	popq	%r12
	.cfi_adjust_cfa_offset -8
	.cfi_restore %r12
	ret
	.cfi_endproc
	endfunction odd_ra_in_register

	/* a large frame: its offset does not fit a packed rule */
	function odd_huge_frame
	.cfi_startproc
	subq	$5000008, %rsp
	.cfi_adjust_cfa_offset 5000008
	call	*%rdi
	addq	$5000008, %rsp
	.cfi_adjust_cfa_offset -5000008
	ret
	.cfi_endproc
	endfunction odd_huge_frame

	/* fn runs on another stack, whose end is in rsi; the CFI leads back to this one */
	function odd_on_stack
	.cfi_startproc
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	movq	%rsi, %rsp
	call	*%rdi
	movq	%rbp, %rsp
	popq	%rbp
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	endfunction odd_on_stack

/* --- with CFI that lies --------------------------------------------------------------------------- */

	.p2align 4
	/* the word taken for the return address is a pointer to a function */
	function odd_lies_function
	.cfi_startproc
	pushq	%rdi
	call	*%rdi
	addq	$8, %rsp
	ret
	.cfi_endproc
	endfunction odd_lies_function

	/* ... is a pointer to data */
	function odd_lies_data
	.cfi_startproc
	leaq	odd_data(%rip), %rax
	pushq	%rax
	call	*%rdi
	addq	$8, %rsp
	ret
	.cfi_endproc
	endfunction odd_lies_data

	/* ... is 0 */
	function odd_lies_zero
	.cfi_startproc
	pushq	$0
	call	*%rdi
	addq	$8, %rsp
	ret
	.cfi_endproc
	endfunction odd_lies_zero

	/* ... is not in memory at all */
	function odd_lies_unmapped
	.cfi_startproc
	pushq	%rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbx, 0
	movq	$4096, %rbx
	.cfi_def_cfa %rbx, 65536
	call	*%rdi
	.cfi_def_cfa %rsp, 16
	popq	%rbx
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	endfunction odd_lies_unmapped

	/* the CFA is not above the stack pointer */
	function odd_lies_no_progress
	.cfi_startproc
	subq	$8, %rsp
	.cfi_def_cfa %rsp, 0
	call	*%rdi
	.cfi_def_cfa %rsp, 16
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	endfunction odd_lies_no_progress

	/* the CFA is in a register that the call has destroyed */
	function odd_lies_scratch
	.cfi_startproc
	subq	$8, %rsp
	movq	%rsp, %r11
	.cfi_def_cfa %r11, 16
	call	*%rdi
	.cfi_def_cfa %rsp, 16
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	endfunction odd_lies_scratch

/* --- code to be copied elsewhere, and its table ---------------------------------------------------- */

	.section .rodata
odd_data:
	.quad	0

	/* two functions that differ in the size of their frames */
	.p2align 4
	.globl	odd_jit_small, odd_jit_large, odd_jit_fp, odd_jit_end
	.hidden	odd_jit_small, odd_jit_large, odd_jit_fp, odd_jit_end
odd_jit_small:
	subq	$24, %rsp
	call	*%rdi
	addq	$24, %rsp
	ret
	.p2align 4, 0xcc
odd_jit_large:
	subq	$72, %rsp
	call	*%rdi
	addq	$72, %rsp
	ret
	.p2align 4, 0xcc
odd_jit_fp:
	pushq	%rbp
	movq	%rsp, %rbp
	call	*%rdi
	popq	%rbp
	ret
	.p2align 4, 0xcc
odd_jit_end:

	/* .eh_frame for one function of 16 bytes; its address goes to odd_table_*_pc */
	.macro	table name, cfa_offset
	.p2align 3
	.globl	odd_table_\name, odd_table_\name\()_pc, odd_table_\name\()_end
	.hidden	odd_table_\name, odd_table_\name\()_pc, odd_table_\name\()_end
odd_table_\name:
	.long	2f - 1f
1:	.long	0			/* CIE */
	.byte	1
	.asciz	"zR"
	.uleb128 1
	.sleb128 -8
	.byte	16
	.uleb128 1
	.byte	0			/* pointers are absolute */
	.byte	0x0c, 7, 8		/* CFA = rsp + 8 */
	.byte	0x90, 1			/* return address at CFA - 8 */
	.p2align 3
2:	.long	4f - 3f
3:	.long	. - odd_table_\name	/* FDE: distance to the CIE */
odd_table_\name\()_pc:
	.quad	0
	.quad	16
	.uleb128 0
	.byte	0x44			/* after 4 bytes */
	.byte	0x0e			/* CFA = rsp + ... */
	.uleb128 \cfa_offset
	.p2align 3
4:	.long	0
odd_table_\name\()_end:
	.endm

	table small, 32
	table large, 80

	.section .note.GNU-stack,"",@progbits
