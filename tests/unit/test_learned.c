/* Stacks through machine code that nothing describes, made here at random: what is found must be the
 * beginning of the true stack, with no frame left out and none that was not there; and the stack
 * cache must find what a walk in full finds. */
#include "harness/test.h"
#include "stack_cache_world.h"
#include "unwind/learned_i.h"

#include <string.h>
#include <sys/mman.h>

#ifdef __x86_64__

#define PAGE 65536
#define MAX_CHAIN 24

typedef void (*function)(void **next);

enum shape {
	KEEPS_FP,
	NO_FP,
	CLOBBERS_FP,
	LEAVES_OLD_WORDS
};

struct made {
	function fn;
	uintptr_t key; /* its return address */
};

static uint32_t seed;
static uint8_t *page, *pos;

static uint32_t next_random(uint32_t n)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % n;
}

static void put(const void *bytes, size_t n)
{
	memcpy(pos, bytes, n);
	pos += n;
}

#define PUT(...) put((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

/* A function that calls next[0] with next + 1. It has `words` words of locals that it never
 * writes. */
static struct made make(enum shape shape, unsigned words)
{
	struct made made = {.fn = NULL};
	bool has_push = shape != NO_FP;

	*(void **)&made.fn = pos;
	if (has_push)
		PUT(0x55); /* push %rbp */
	if (shape == KEEPS_FP || shape == LEAVES_OLD_WORDS)
		PUT(0x48, 0x89, 0xe5); /* mov %rsp,%rbp */
	if (shape == CLOBBERS_FP)
		PUT(0x48, 0xc7, 0xc5, (uint8_t)next_random(256), 0x12, 0x34, 0x00);
	words |= 1; /* with the word pushed below the stack stays aligned to 16 */
	words += !has_push;
	if (shape != LEAVES_OLD_WORDS)
		for (unsigned i = 0; i < words; i++)
			PUT(0x6a, 0x00); /* push $0 */
	else
		PUT(0x48, 0x83, 0xec, (uint8_t)(8 * words)); /* sub $8 * words,%rsp */
	PUT(0x57, 0x48, 0x8b, 0x07, 0x48, 0x83, 0xc7, 0x08); /* push %rdi; mov (%rdi),%rax;
								 add $8,%rdi */
	PUT(0xff, 0xd0); /* call *%rax */
	made.key = (uintptr_t)pos;
	PUT(0x5f); /* pop %rdi */
	PUT(0x48, 0x83, 0xc4, (uint8_t)(8 * words)); /* add $8 * words,%rsp */
	if (has_push)
		PUT(0x5d); /* pop %rbp */
	PUT(0xc3);
	return made;
}

static void page_begin(void)
{
	page = pos = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(page != MAP_FAILED);
	stack_cache_world_start();
}

static void page_end(void)
{
	bool is_known = unwind_unmapping((uintptr_t)page, (uintptr_t)page + PAGE, false);

	munmap(page, PAGE);
	if (is_known)
		unwind_code_changed();
}

/* The chain that is being called, outermost first. */
static struct made chain[MAX_CHAIN];
static unsigned n_chain, n_whole, n_short;
static uintptr_t
	outside; /* the function that called the chain: a walk that goes on must go on there */

NOINLINE static void look(void **next)
{
	const struct unwind_frames *f;

	(void)next;
	stack_cache_world_hook();
	f = &world.frames;
	/* frame 0 is this function's, then the chain from its end */
	for (unsigned i = 1; i < f->n && i <= n_chain; i++)
		CHECK_EQ(f->addr[i], chain[n_chain - i].key);
	if (f->n <= n_chain + 1) {
		CHECK(f->end != UNWIND_COMPLETE);
		n_short++;
	} else {
		CHECK(f->addr[n_chain + 1] - outside < 512);
		n_whole++;
	}
	__asm__ volatile("");
}

NOINLINE static void call_chain(unsigned n)
{
	void *next[MAX_CHAIN + 1];

	n_chain = n;
	for (unsigned i = 0; i < n; i++)
		*(function *)&next[i] = chain[i].fn;
	*(function *)&next[n] = look;
	outside = (uintptr_t)call_chain;
	((function)next[0])(next + 1);
	__asm__ volatile("");
}

/* Leaves return addresses on the stack where the chain's frames are going to be. */
NOINLINE static uintptr_t litter(unsigned depth)
{
	volatile uintptr_t words[8];

	for (unsigned i = 0; i < 8; i++)
		words[i] = (uintptr_t)__builtin_return_address(0);
	return depth ? litter(depth - 1) + words[depth % 8] : words[0];
}

static void run_round(const enum shape *shapes, unsigned n_shapes, unsigned n_functions,
		      unsigned n_runs)
{
	struct made made[64];

	for (unsigned i = 0; i < n_functions; i++)
		made[i] = make(shapes[next_random(n_shapes)], next_random(12));
	for (unsigned run = 0; run < n_runs; run++) {
		unsigned n = 1 + next_random(MAX_CHAIN - 1);

		for (unsigned i = 0; i < n; i++)
			chain[i] = made[next_random(n_functions)];
		litter(next_random(30));
		call_chain(n);
	}
}

TEST(learned_stacks_of_code_with_frame_pointers_are_whole)
{
	const enum shape shapes[] = {KEEPS_FP};

	page_begin();
	run_round(shapes, 1, 40, 3000);
	CHECK_EQ(n_short, 0);
	CHECK(world.n_known > 0);
	page_end();
}

/* Words that look like return addresses lie in every frame of some functions. They are believed once
 * enough others have been proved, and only the stacks before that are cut. */
TEST(learned_code_is_trusted_where_most_code_was_proved)
{
	const enum shape shapes[] = {KEEPS_FP, KEEPS_FP, KEEPS_FP, KEEPS_FP,
				     KEEPS_FP, KEEPS_FP, KEEPS_FP, LEAVES_OLD_WORDS};

	n_short = n_whole = 0;
	page_begin();
	run_round(shapes, ARRAY_LEN(shapes), 60, 3000);
	CHECK(n_short < 300);
	CHECK(n_whole > 2700);
	page_end();
}

TEST(learned_stacks_without_frame_pointers_are_never_wrong)
{
	const enum shape shapes[] = {KEEPS_FP, NO_FP, CLOBBERS_FP, LEAVES_OLD_WORDS};

	n_short = n_whole = 0;
	for (unsigned round = 0; round < 20; round++) {
		page_begin();
		run_round(shapes, ARRAY_LEN(shapes), 50, 500);
		page_end();
	}
	CHECK(n_short > 1000);
}

/* The same addresses get other code: what was learned of the first must not be used. */
TEST(learned_forgets_code_that_went_away)
{
	const enum shape with[] = {KEEPS_FP}, without[] = {NO_FP};
	uint8_t *first;

	page_begin();
	first = page;
	run_round(with, 1, 40, 500);
	CHECK(unwind_unmapping((uintptr_t)page, (uintptr_t)page + PAGE, false));
	pos = page;
	memset(page, 0xcc, PAGE);
	unwind_code_changed();
	n_short = n_whole = 0;
	run_round(without, 1, 40, 500);
	CHECK_EQ(n_whole, 0);
	CHECK(page == first);
	page_end();
}

#endif
