/* programs/stacks/stack_odd.c - calls through frames that no compiler makes: odd_frames.S. */
#include "mark.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

typedef void (*callback)(void);
void odd_fp(callback fn);
void odd_bare(callback fn);
void odd_fp_calls_bare(callback fn);
void odd_cfa_in_rbx(callback fn);
void odd_cfa_by_expression(callback fn);
void odd_ra_in_register(callback fn);
void odd_huge_frame(callback fn);
void odd_on_stack(callback fn, void *stack_end);
void odd_lies_function(callback fn);
void odd_lies_data(callback fn);
void odd_lies_zero(callback fn);
void odd_lies_unmapped(callback fn);
void odd_lies_no_progress(callback fn);
void odd_lies_scratch(callback fn);
extern const unsigned char odd_jit_small[], odd_jit_large[], odd_jit_fp[];
extern unsigned char odd_table_small[], odd_table_small_pc[], odd_table_small_end[];
extern unsigned char odd_table_large[], odd_table_large_pc[], odd_table_large_end[];

/* libgcc's; JIT compilers call them */
void __register_frame(void *table);
void __deregister_frame(void *table);

static size_t size; /* of the allocation to come */

static void callee(void)
{
	MARK(size);
}

/* A direct call of odd code from a function of its own. */
#define RUN(odd, mark)                                                                             \
	SEPARATE static void run_##odd(void)                                                       \
	{                                                                                          \
		size = mark;                                                                       \
		odd(callee);                                                                       \
		STAY();                                                                            \
	}
RUN(odd_cfa_in_rbx, 3001)
RUN(odd_cfa_by_expression, 3002)
RUN(odd_ra_in_register, 3003)
RUN(odd_huge_frame, 3004)
RUN(odd_fp, 3005)
RUN(odd_bare, 3006)
RUN(odd_fp_calls_bare, 3007)
RUN(odd_lies_function, 3008)
RUN(odd_lies_data, 3009)
RUN(odd_lies_zero, 3010)
RUN(odd_lies_unmapped, 3011)
RUN(odd_lies_no_progress, 3012)
RUN(odd_lies_scratch, 3013)

SEPARATE static void run_on_stack(void)
{
	static _Alignas(16) char stack[65536];

	size = 3014;
	odd_on_stack(callee, stack + sizeof(stack));
	STAY();
}

/* --- code made at run time ------------------------------------------------------------------------------ */

static unsigned char *jit;

SEPARATE static void run_jit(size_t mark)
{
	size = mark;
	((void (*)(callback))(void *)jit)(callee);
	STAY();
}

static void jit_write(const unsigned char *code)
{
	memset(jit, 0xcc, 4096);
	memcpy(jit, code, 16);
	__builtin___clear_cache((char *)jit, (char *)jit + 4096);
}

static void table_write(unsigned char *table, const unsigned char *from, const unsigned char *pc,
			const unsigned char *end)
{
	memcpy(table, from, (size_t)(end - from));
	memcpy(table + (pc - from), &jit, sizeof(jit));
}

/* The same address holds two functions one after the other, with frames of different size. */
SEPARATE static void run_registered(void)
{
	static unsigned char table[2][256];

	for (int i = 0; i < 20; i++) {
		jit_write(odd_jit_small);
		table_write(table[0], odd_table_small, odd_table_small_pc, odd_table_small_end);
		__register_frame(table[0]);
		run_jit(3020);
		__deregister_frame(table[0]);
		jit_write(odd_jit_large);
		table_write(table[1], odd_table_large, odd_table_large_pc, odd_table_large_end);
		__register_frame(table[1]);
		run_jit(3021);
		__deregister_frame(table[1]);
	}
	STAY();
}

SEPARATE static void run_unregistered(void)
{
	jit_write(odd_jit_small);
	run_jit(3022);
	jit_write(odd_jit_fp);
	run_jit(3023);
	STAY();
}

int main(void)
{
	/* In front of its first page is nothing that could be read. */
	jit = mmap(NULL, 2 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (jit != MAP_FAILED)
		jit += 4096;
	if (jit == MAP_FAILED || mprotect(jit, 4096, PROT_READ | PROT_WRITE | PROT_EXEC)) {
		puts("no memory that is writable and executable");
		return 77;
	}
	run_odd_cfa_in_rbx();
	run_odd_cfa_by_expression();
	run_odd_ra_in_register();
	run_odd_huge_frame();
	run_odd_fp();
	run_odd_bare();
	run_odd_fp_calls_bare();
	run_odd_lies_function();
	run_odd_lies_data();
	run_odd_lies_zero();
	run_odd_lies_unmapped();
	run_odd_lies_no_progress();
	run_odd_lies_scratch();
	run_on_stack();
	run_registered();
	run_unregistered();
	return 0;
}
