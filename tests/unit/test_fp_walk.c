/* Frames that have no unwind information, or one that lies: what must be found, and what must be
 * an honest end. The functions are in tests/programs/stacks/odd_frames.S. */
#include "harness/test.h"
#include "unwind/unwind_thread_i.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define CAPACITY 64
#define N_WAYS 2 /* cached and full CFI */

typedef void (*callback)(void);
void odd_fp(callback fn);
void odd_bare(callback fn);
void odd_fp_calls_bare(callback fn);
void odd_bare_keeps_rbp(callback fn);
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
extern const unsigned char odd_jit_small[], odd_jit_large[], odd_jit_fp[], odd_jit_end[];
extern unsigned char odd_table_small[], odd_table_small_pc[], odd_table_small_end[];
extern unsigned char odd_table_large[], odd_table_large_pc[], odd_table_large_end[];

static struct {
	uintptr_t addr[CAPACITY];
	struct unwind_frames f;
} seen[N_WAYS];

static void *map(size_t size_bytes, int prot)
{
	void *p = mmap(NULL, size_bytes, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		abort();
	return p;
}

static struct unwind_thread *walker[N_WAYS];

NOINLINE static void hook(void)
{
	uintptr_t *frame = __builtin_frame_address(0);
	struct unwind_start s = {(uintptr_t)__builtin_return_address(0), (uintptr_t)(frame + 2),
				 frame[0]};

	for (unsigned i = 0; i < N_WAYS; i++) {
		if (!walker[i]) {
			unwind_init();
			walker[i] = map(unwind_thread_bytes, PROT_READ | PROT_WRITE);
			unwind_thread_init(walker[i], i == 0);
		}
		seen[i].f = (struct unwind_frames){.addr = seen[i].addr, .capacity = CAPACITY};
		unwind_walk(walker[i], &s, &seen[i].f);
	}
}

static void callee(void)
{
	hook();
	__asm__ volatile("");
}

/* The frames from the caller of odd code on, as one that walks right sees them. */
static uintptr_t expected[CAPACITY];
static size_t n_expected;

/* Calls odd code; the stack from here on is noted first. Both calls return into this function. */
NOINLINE static void run(void (*odd)(callback fn))
{
	hook();
	n_expected = seen[0].f.n;
	memcpy(expected, seen[0].addr, sizeof(expected));
	odd(callee);
	__asm__ volatile("");
}

/* As run(), by a direct call that the linker resolves. */
#define DIRECT(name)                                                                               \
	NOINLINE static void run_##name(void)                                                      \
	{                                                                                          \
		hook();                                                                            \
		n_expected = seen[0].f.n;                                                          \
		memcpy(expected, seen[0].addr, sizeof(expected));                                  \
		name(callee);                                                                      \
		__asm__ volatile("");                                                              \
	}
DIRECT(odd_fp)
DIRECT(odd_fp_calls_bare)
DIRECT(odd_bare_keeps_rbp)

/* callee, the odd frame, then all expected ones (the first at another address of the same
 * function), certain or not. */
static void check_whole(bool is_certain)
{
	for (unsigned w = 0; w < N_WAYS; w++) {
		const struct unwind_frames *f = &seen[w].f;

		CHECK_EQ(f->end, UNWIND_COMPLETE);
		CHECK_EQ(f->n, n_expected + 2);
		CHECK_EQ(f->n_certain, is_certain ? f->n : 2);
		CHECK(f->addr[2] > expected[0] && f->addr[2] < expected[0] + 256);
		CHECK_MEM_EQ(f->addr + 3, expected + 1, (n_expected - 1) * sizeof(uintptr_t));
	}
}

/* callee and the odd frame, nothing else. */
static void check_cut(enum unwind_end end)
{
	for (unsigned w = 0; w < N_WAYS; w++) {
		CHECK_EQ(seen[w].f.n, 2);
		CHECK_EQ(seen[w].f.n_certain, 2);
		CHECK_EQ(seen[w].f.end, end);
	}
}

/* --- with CFI of rare kinds ------------------------------------------------------------------------- */

TEST(fp_walk_is_not_needed_where_cfi_is_odd_but_right)
{
	run(odd_cfa_in_rbx);
	check_whole(true);
	run(odd_cfa_by_expression);
	check_whole(true);
	run(odd_ra_in_register);
	check_whole(true);
	run(odd_huge_frame);
	check_whole(true);
}

static void *other_stack_end;

static void on_other_stack(callback fn)
{
	odd_on_stack(fn, other_stack_end);
	__asm__ volatile("");
}

/* Down or up: foreign stacks lie on both sides of the thread's own. */
TEST(fp_walk_stack_switch_is_followed_where_cfi_says_so)
{
	unsigned char on_stack[65536];
	unsigned char *mapped = map(65536, PROT_READ | PROT_WRITE);

	other_stack_end = mapped + 65536;
	run(on_other_stack);
	for (unsigned w = 0; w < N_WAYS; w++) {
		CHECK_EQ(seen[w].f.end, UNWIND_COMPLETE);
		CHECK_EQ(seen[w].f.n, n_expected + 3);
		CHECK_EQ(seen[w].f.n_certain, seen[w].f.n);
	}
	other_stack_end = (void *)(((uintptr_t)on_stack + sizeof(on_stack)) & ~(uintptr_t)15);
	run(on_other_stack);
	/* Inside the own stack, above our frame: it looks the same as a wrong rule. */
	for (unsigned w = 0; w < N_WAYS; w++)
		CHECK_EQ(seen[w].f.end, UNWIND_NO_PROGRESS);
	munmap(mapped, 65536);
}

/* --- without CFI -------------------------------------------------------------------------------------- */

TEST(fp_walk_unproven_frame_pointer_is_not_believed)
{
	run(odd_fp); /* right, but by an indirect call: the callee is not known */
	check_cut(UNWIND_NO_INFO);
	run(odd_bare);
	check_cut(UNWIND_NO_INFO);
	run_odd_bare_keeps_rbp();
	check_cut(UNWIND_NO_INFO);
	run_odd_fp_calls_bare(); /* rbp belongs to the caller of the frame */
	check_cut(UNWIND_NO_INFO);
}

TEST(fp_walk_proven_frame_pointer_is_followed)
{
	run_odd_fp();
	check_whole(false);
}

/* That nothing is known about a place is kept like a rule. */
TEST(fp_walk_does_not_look_for_missing_rules_again)
{
	struct unwind_stats stats[2];

	for (volatile unsigned i = 0; i < 2; i++) { /* not unrolled: the same stack both times */
		run_odd_fp();
		check_whole(false);
		unwind_thread_stats(walker[0], &stats[i]);
	}
	CHECK_EQ(stats[1].n_rule_misses, stats[0].n_rule_misses);
}

/* What one call has shown holds for the code, so for calls through a pointer too. */
TEST(fp_walk_keeps_what_was_proved)
{
	run_odd_fp();
	check_whole(false);
	run(odd_fp);
	check_whole(false);
}

/* --- with CFI that lies --------------------------------------------------------------------------------- */

TEST(fp_walk_lies_end_the_stack_with_the_reason)
{
	run(odd_lies_function);
	check_cut(UNWIND_BAD_INFO);
	run(odd_lies_data);
	check_cut(UNWIND_NOT_CODE);
	run(odd_lies_zero);
	check_cut(UNWIND_NOT_CODE);
	run(odd_lies_unmapped);
	check_cut(UNWIND_BAD_MEMORY);
	run(odd_lies_no_progress);
	check_cut(UNWIND_NO_PROGRESS);
	run(odd_lies_scratch);
	check_cut(UNWIND_BAD_INFO);
}

/* --- code in no image ----------------------------------------------------------------------------------- */

static unsigned char *jit; /* one page */

static void jit_write(const unsigned char *code)
{
	if (!jit)
		jit = map(4096, PROT_READ | PROT_WRITE | PROT_EXEC);
	memset(jit, 0xcc, 4096);
	memcpy(jit + 64, code, 16);
	__builtin___clear_cache((char *)jit, (char *)jit + 4096);
}

static void (*jit_code(void))(callback fn)
{
	return (void (*)(callback fn))(uintptr_t)(jit + 64);
}

TEST(fp_walk_of_jit_code_with_frame_pointer)
{
	jit_write(odd_jit_fp);
	run(jit_code());
	check_whole(false);
}

/* In a page of its own: that code with a frame pointer was replaced in place, by plain writes, cannot be
 * noticed, and what was proved of the old code would be believed of the new. */
TEST(fp_walk_of_jit_code_without_frame_pointer_ends)
{
	jit = NULL;
	jit_write(odd_jit_small);
	run(jit_code());
	check_cut(UNWIND_NO_INFO);
}

static void table_for_jit(unsigned char *table, const unsigned char *pc_field,
			  const unsigned char *from, size_t n)
{
	uintptr_t start = (uintptr_t)jit + 64;

	memcpy(table, from, n);
	memcpy(table + (pc_field - from), &start, sizeof(start));
}

/* Same addresses, other code: nothing of the first may be used for the second. */
TEST(fp_walk_is_not_needed_for_registered_code)
{
	static unsigned char table[2][256];

	for (unsigned round = 0; round < 3; round++) {
		jit_write(odd_jit_small);
		table_for_jit(table[0], odd_table_small_pc, odd_table_small,
			      (size_t)(odd_table_small_end - odd_table_small));
		CHECK(unwind_register_frames(table[0]));
		run(jit_code());
		check_whole(true);
		run(jit_code());
		check_whole(true);
		unwind_deregister_frames(table[0]);
		run(jit_code());
		check_cut(UNWIND_NO_INFO);

		jit_write(odd_jit_large);
		table_for_jit(table[1], odd_table_large_pc, odd_table_large,
			      (size_t)(odd_table_large_end - odd_table_large));
		CHECK(unwind_register_frames(table[1]));
		run(jit_code());
		check_whole(true);
		unwind_deregister_frames(table[1]);
	}
}
