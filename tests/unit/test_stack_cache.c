/* The stack cache against full walks: programs whose stacks change in every way that could
 * make an old entry look right. */
#include "stack_cache_world.h"

#include <alloca.h>
#include <setjmp.h>

static uint32_t seed = 1;

static uint32_t next_random(uint32_t n)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % n;
}

static jmp_buf escape[4];
static unsigned n_escapes;

static void wander(unsigned depth);

/* Twins: the same frame size and, below them, the same return addresses. */
NOINLINE static void twin_a(unsigned depth)
{
	wander(depth);
	STAY("twin_a");
}

NOINLINE static void twin_b(unsigned depth)
{
	wander(depth);
	STAY("twin_b");
}

/* Moves the stack pointer by a varying amount and has its CFA in the frame pointer. */
NOINLINE static void with_alloca(unsigned depth)
{
	volatile char *p = alloca(16 + next_random(8) * 16);

	p[0] = 1;
	wander(depth);
	__asm__ volatile("" : : "r"(p));
}

/* An aligned frame: the CFA is kept in memory on some compilers. */
NOINLINE static void aligned(unsigned depth)
{
	_Alignas(64) volatile char buf[64];

	buf[next_random(64)] = 1;
	stack_cache_world_hook();
	wander(depth);
	__asm__ volatile("" : : "r"(buf));
}

NOINLINE static void jumps_back(unsigned depth)
{
	if (n_escapes == ARRAY_LEN(escape)) {
		stack_cache_world_hook();
		return;
	}
	if (setjmp(escape[n_escapes]) == 0) {
		n_escapes++;
		wander(depth);
		n_escapes--;
	}
	stack_cache_world_hook();
}

NOINLINE static void leaf(unsigned n)
{
	for (volatile unsigned i = 0; i < n; i++)
		stack_cache_world_hook();
}

NOINLINE static void wander(unsigned depth)
{
	for (unsigned n = 1 + next_random(3); n > 0; n--) {
		if (depth == 0 || world.n_checked > 200000) {
			leaf(1 + next_random(3));
			continue;
		}
		switch (next_random(8)) {
		case 0:
		case 1:
			twin_a(depth - 1);
			break;
		case 2:
		case 3:
			twin_b(depth - 1);
			break;
		case 4:
			with_alloca(depth - 1);
			break;
		case 5:
			aligned(depth - 1);
			break;
		case 6:
			jumps_back(depth - 1);
			break;
		default:
			stack_cache_world_hook();
			if (n_escapes && next_random(16) == 0) {
				n_escapes = next_random(n_escapes);
				longjmp(escape[n_escapes], 1);
			}
		}
	}
}

TEST(stack_cache_gives_what_a_walk_in_full_gives)
{
	stack_cache_world_start();
	for (unsigned i = 0; world.n_checked < 100000; i++) {
		n_escapes = 0;
		wander(i % 24);
	}
	CHECK(world.n_known > world.n_checked / 10); /* else it was not tried */
	CHECK(world.n_hints > world.n_checked / 100);
	CHECK(world.n_joined > 0);
	CHECK(world.n_other < world.n_checked / 10);
}

/* A tree that is taken apart: many stacks, all of which begin in a few places. */
NOINLINE static void take_apart(unsigned depth);

NOINLINE static void take_left(unsigned depth)
{
	take_apart(depth);
	stack_cache_world_hook();
	STAY("take_left");
}

NOINLINE static void take_right(unsigned depth)
{
	stack_cache_world_hook();
	take_apart(depth);
	stack_cache_world_hook();
	STAY("take_right");
}

NOINLINE static void take_apart(unsigned depth)
{
	for (unsigned n = next_random(4); depth > 0 && n > 0; n--) {
		if (next_random(2))
			take_left(depth - 1);
		else
			take_right(depth - 1);
	}
	stack_cache_world_hook();
	stack_cache_world_hook();
	stack_cache_world_hook();
	stack_cache_world_hook();
	stack_cache_world_hook();
	__asm__ volatile("");
}

static void take_many_apart(uint64_t n)
{
	for (n += world.n_checked; world.n_checked < n;)
		take_apart(10);
}

TEST(stack_cache_finds_the_callers_of_many_stacks_with_few_starts)
{
	uint64_t n_before = 0;

	stack_cache_world_start();
	for (volatile unsigned round = 0; round < 3; round++) {
		n_before = world.n_hints;
		if (round == 2)
			unwind_code_changing();
		take_many_apart(100000);
		if (round == 1)
			CHECK(world.n_hints - n_before > 50000);
	}
	CHECK_EQ(world.n_hints - n_before, 0u);
	unwind_code_changed();
	stack_cache_world_hook();
	CHECK_EQ(world.ut->stack_cache.n_hints, 0u); /* their rules may be others */
}

/* To and fro between two branches: what was left out comes back, or something else does. */
NOINLINE static void branch(unsigned depth, unsigned turn)
{
	if (depth == 0)
		leaf(1);
	else if ((turn >> depth & 1) == 0)
		branch(depth - 1, turn);
	else
		twin_a(0);
	__asm__ volatile("");
}

TEST(stack_cache_entries_that_were_left_out_are_compared_when_they_come_back)
{
	stack_cache_world_start();
	for (unsigned turn = 0; turn < 4096; turn++) {
		branch(10, turn);
		stack_cache_world_hook(); /* far up: everything below is gone */
		branch(10, turn % 16);
	}
	CHECK(world.n_known > world.n_checked / 2);
}

NOINLINE static void same_start(void)
{
	stack_cache_world_hook();
	__asm__ volatile("");
}

NOINLINE static void caller_a(void)
{
	same_start();
	STAY("caller_a");
}

NOINLINE static void caller_b(void)
{
	same_start();
	STAY("caller_b");
}

NOINLINE static void caller_c(bool is_first)
{
	if (is_first)
		caller_a();
	else
		caller_b();
	STAY("caller_c");
}

NOINLINE static void caller_d(bool is_first)
{
	if (is_first)
		caller_a();
	else
		caller_b();
	STAY("caller_d");
}

/* Four stacks with one start in turn: once they were walked often, each has a memo of its own. */
TEST(stack_cache_remembers_several_stacks_with_the_same_start)
{
	uint64_t n_first = 0;

	stack_cache_world_start();
	for (volatile unsigned turn = 0; turn < 8192; turn++) {
		if (turn == 4096)
			n_first = world.n_known;
		if (turn & 2)
			caller_c(turn & 1);
		else
			caller_d(turn & 1);
	}
	CHECK(world.n_known - n_first > 4000);
}

/* The same before anything was learnt about what tells them apart. */
TEST(stack_cache_remembers_two_stacks_with_the_same_start_at_once)
{
	stack_cache_world_start();
	world.ut->stack_cache.uses_selectors = false;
	for (volatile unsigned turn = 0; turn < 64; turn++)
		caller_c(turn & 1);
	CHECK(world.n_known > 56);
}

/* Two suffixes of seven frames, by turns. */
NOINLINE static void branch_a(unsigned depth)
{
	if (depth == 0)
		stack_cache_world_hook();
	else
		branch_a(depth - 1);
	STAY("branch_a");
}

NOINLINE static void branch_b(unsigned depth)
{
	if (depth == 0)
		stack_cache_world_hook();
	else
		branch_b(depth - 1);
	STAY("branch_b");
}

TEST(stack_cache_remembers_suffixes_of_seven_frames)
{
	uint64_t n_first = 0;

	stack_cache_world_start();
	for (volatile unsigned turn = 0; turn < 65536; turn++) {
		if (turn == 61440)
			n_first = world.n_known;
		if (turn & 1)
			branch_a(6);
		else
			branch_b(6);
	}
	if (!world.ut->stack_cache.fresh[0]
		     .uses_fp) /* a memo has no room for so many with frame pointers */
		CHECK(world.n_known - n_first > 3800);
}

/* Also where there are more frames than are compared at a time, and fewer. */
NOINLINE static void deeper(unsigned depth)
{
	if (depth == 0)
		for (volatile unsigned turn = 0; turn < 64; turn++)
			stack_cache_world_hook();
	else
		deeper(depth - 1);
	__asm__ volatile("");
}

TEST(stack_cache_needs_no_more_than_a_look_at_a_stack_that_comes_again)
{
	for (unsigned depth = 0; depth < 12; depth++) {
		stack_cache_world_start();
		world.ut->stack_cache.uses_selectors = false;
		deeper(depth);
		CHECK(world.n_fast > 56);
	}
}

NOINLINE static void hook_below(size_t bytes)
{
	volatile char *pad = alloca(bytes);

	pad[0] = 0;
	for (volatile unsigned turn = 0; turn < 4; turn++)
		stack_cache_world_hook();
}

/* Its own return address is the lowest word of a stack, and may be the only one in its page. */
TEST(stack_cache_takes_stacks_that_begin_anywhere_in_a_page)
{
	stack_cache_world_start();
	world.ut->stack_cache.uses_selectors = false;
	for (size_t bytes = 16; bytes <= PAGE_BYTES; bytes += 16) {
		uint64_t n_before = world.n_known;

		memory_forget(&world.ut->memory);
		hook_below(bytes);
		CHECK(world.n_known - n_before >= 2);
	}
}

/* The same stack again and again: first its rules are read, then the cache learns it, then it is
 * known. Before the round of this number something happens; returns whether it is known then. */
NOINLINE static bool is_known_after(void (*happens)(void))
{
	uint64_t before = 0;

	for (volatile unsigned round = 0; round < 4; round++) {
		before = world.n_known;
		if (round == 3)
			happens();
		stack_cache_world_hook();
		CHECK_EQ(world.n_known - before,
			 round == 2 || (round == 3 && world.n_known > before));
	}
	return world.n_known > before;
}

static void nothing(void)
{
}

static void code_changes(void)
{
	unwind_code_changing();
	unwind_code_changed();
}

static void ids_are_forgotten(void)
{
	stack_cache_forget_ids(world.ut);
}

static void code_begins_to_change(void)
{
	unwind_code_changing();
}

TEST(stack_cache_knows_a_stack_until_its_code_or_its_ids_change)
{
	stack_cache_world_start();
	CHECK(is_known_after(nothing));
	unwind_code_changing();
	unwind_code_changed();
	CHECK(!is_known_after(code_changes));
	unwind_code_changing();
	unwind_code_changed();
	CHECK(!is_known_after(ids_are_forgotten));
	unwind_code_changing();
	unwind_code_changed();
	CHECK(!is_known_after(code_begins_to_change));
	unwind_code_changed();
}

/* Stacks that have the same return addresses in the same slots, except for one more frame in the
 * middle: they differ only in a frame pointer, saved or in its register.
 *
 *   0:  by_pointer ->                     variable(n0) -> fixed -> ... -> hook
 *   1:  by_pointer -> between ->          variable(n1) -> fixed -> ... -> hook
 *   2:  by_pointer -> between -> extra -> variable(n2) -> fixed -> ... -> hook
 *
 * variable() finds its caller by the frame pointer. It takes so much stack that what it calls
 * begins at the same address each time. */
#define PLAIN_STACK __attribute__((noinline, no_sanitize("address")))
#define N_SHAPES 3

static struct {
	void (*next)(size_t n); /* what between() calls */
	uintptr_t variable, fixed; /* frame addresses */
	unsigned n_inside; /* frames inside of fixed() */
	bool calls_fixed; /* else the frame pointer is still in its register */
	bool is_saved; /* but for this: the innermost function saved it and uses another */
	bool is_measured; /* else nothing is walked yet */
} shape;

PLAIN_STACK static void inside(unsigned n)
{
	if (n > 0)
		inside(n - 1);
	else
		stack_cache_world_hook();
	__asm__ volatile("");
}

/* Calls fn with something else in the frame pointer's register. */
void saves_fp(void (*fn)(void));
#ifdef __x86_64__
__asm__(".text\n"
	"saves_fp:\n"
	".cfi_startproc\n"
	"push %rbp\n"
	".cfi_def_cfa_offset 16\n"
	".cfi_offset 6, -16\n"
	"mov $4, %ebp\n"
	"call *%rdi\n"
	"pop %rbp\n"
	".cfi_def_cfa_offset 8\n"
	"ret\n"
	".cfi_endproc\n");
#else
void saves_fp(void (*fn)(void))
{
	fn();
	__asm__ volatile("");
}
#endif

PLAIN_STACK static void fixed(size_t n)
{
	volatile char *p = alloca(n);

	p[0] = 1;
	shape.fixed = (uintptr_t)__builtin_frame_address(0);
	if (shape.is_measured && shape.n_inside)
		inside(shape.n_inside - 1);
	else if (shape.is_measured)
		stack_cache_world_hook();
	__asm__ volatile("" : : "r"(p));
}

PLAIN_STACK static void variable(size_t n)
{
	volatile char *p = alloca(n);
	volatile size_t n_fixed = 16;

	p[0] = 1;
	shape.variable = (uintptr_t)__builtin_frame_address(0);
	if (shape.calls_fixed)
		fixed(n_fixed);
	else if (shape.is_saved)
		saves_fp(stack_cache_world_hook);
	else if (shape.n_inside)
		inside(shape.n_inside - 1);
	else
		stack_cache_world_hook();
	__asm__ volatile("" : : "r"(p));
}

PLAIN_STACK static void extra(size_t n)
{
	variable(n);
	__asm__ volatile("");
}

PLAIN_STACK static void between(size_t n)
{
	shape.next(n);
	__asm__ volatile("");
}

PLAIN_STACK static void by_pointer(void (*fn)(size_t), size_t n)
{
	fn(n);
	__asm__ volatile("");
}

static void take_shape(unsigned i, const size_t n[N_SHAPES])
{
	shape.next = i == 2 ? extra : variable;
	by_pointer(i ? between : variable, n[i]);
}

/* How much variable() must take in each of them. */
static void measure(size_t n[N_SHAPES])
{
	uintptr_t variable_at = 0, fixed_at = 0;

	shape.is_measured = false;
	shape.calls_fixed = true;
	for (unsigned i = 0; i < N_SHAPES; i++) {
		n[i] = 512;
		take_shape(i, n);
		variable_at = i ? variable_at : shape.variable;
		n[i] -= variable_at - shape.variable;
	}
	for (unsigned i = 0; i < N_SHAPES; i++) {
		take_shape(i, n);
		CHECK(i == 0 || shape.fixed == fixed_at);
		fixed_at = shape.fixed;
	}
	shape.is_measured = true;
}

/* forgets: memos are made void again and again, so that walks go on and hints are learnt. */
static void distinguish(unsigned n_inside, bool calls_fixed, bool forgets)
{
	uint64_t before = world.n_known;
	size_t n[N_SHAPES];

	measure(n);
	shape.n_inside = n_inside;
	shape.calls_fixed = calls_fixed;
	for (unsigned turn = 0; turn < (forgets ? 1024 : 64); turn++) {
		if (forgets && turn % 4)
			stack_cache_forget_ids(world.ut);
		for (unsigned again = 0; again < 6; again++)
			take_shape(turn % N_SHAPES, n); /* stack_cache_world_hook() compares */
	}
	CHECK(world.n_known > before + 64); /* what is never known is never taken for another */
}

TEST(stack_cache_distinguishes_stacks_that_differ_by_a_frame_pointer)
{
	stack_cache_world_start();
	distinguish(24, true, false); /* on the cached stack */
	distinguish(0, true,
		    false); /* the first on the cached stack, the others remembered in memos */
	distinguish(0, false, false);
	world.ut->stack_cache.uses_selectors = true;
	world.n_hints = 0;
	distinguish(0, false, true); /* hints by the frame pointer */
	CHECK(world.n_hints > 0);
	world.n_hints = 0;
	distinguish(
		1, true,
		true); /* hints whose caller needs a frame pointer: a word of the cached stack */
	CHECK(world.n_hints > 0);
	world.n_hints = 0;
	distinguish(1, false, true); /* a frame pointer that the start has */
	CHECK(world.n_hints > 0);
	world.n_hints = 0;
	shape.is_saved = true;
	distinguish(1, false, true); /* a frame pointer that the start has saved */
	CHECK(world.n_hints > 0);
}
