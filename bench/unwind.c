/* bench_unwind [-n RUNS]: nanoseconds per stack, by our unwinder and by others.
 *
 * A method is called where a program would call malloc; what the same program costs with an empty
 * method is subtracted. Patterns, each at a mean depth of 10, 30 and 100 frames:
 *   hot loop          one place, two call sites
 *   random leaves     16 ways through one to four frames, at random, at the end of one stack
 *   recursion         down from half the depth to one and a half of it and back, a stack at each
 *                     frame on both ways
 *   return to bottom  everything is left and another of two ways is taken, two stacks each time:
 *                     nothing of the last stack can be kept
 * Before anything is timed, each method must find the frames that unw_backtrace() finds.
 */
#define UNW_LOCAL_ONLY
#include <dlfcn.h>
#include <libunwind.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/compiler.h"
#include "unwind/caller_hint.h"
#include "unwind/join_cache.h"
#include "unwind/stack_cache.h"
#include "unwind/walk_memo.h"

#if defined(__clang__)
#define APART NOINLINE
#else
#define APART __attribute__((noipa)) /* a call stays a call of exactly this function */
#endif
#define MAX_FRAMES 512
#define LIBC "libc.so.6"

/* ---- methods ------------------------------------------------------------------------------- */

static struct unwind_thread *unwinder;
static uintptr_t frames[MAX_FRAMES];
static size_t n_frames; /* of the last stack; only where a method knows it without more work */
static uint64_t n_stacks;

/* Names stacks as record/stack.c does, only that nothing is written anywhere. */
struct edge {
	uint64_t key;
	uint32_t parent;
	uint32_t id;
};

#define EDGE_BITS 13
static struct edge edges[1u << EDGE_BITS];
static uint32_t next_id = 1;
static uint32_t last_id;

static inline uint32_t child_of(uint32_t parent, uint64_t key)
{
	uint64_t h = (key * 0x9e3779b97f4a7c15ull) ^ (parent * 0xff51afd7ed558ccdull);
	struct edge *edge = &edges[h >> (64 - EDGE_BITS)];

	if (unlikely(edge->key != key || edge->parent != parent || !edge->id))
		*edge = (struct edge){.key = key, .parent = parent, .id = next_id++};
	return edge->id;
}

static uint32_t intern_cached(const struct unwind_start *at, const struct stack_cache_stack *stack)
{
	size_t i = stack->n_kept;
	uint32_t id;

	while (i && !stack->stack_id[i - 1].id)
		i--;
	id = i ? stack->stack_id[i - 1].id : 0;
	for (; i < stack->n_kept; i++)
		stack->stack_id[i].id = id = child_of(id, stack->entry[i].addr);
	for (i = stack->n_fresh; i-- > 0;)
		id = child_of(id, stack_cache_fresh_addr(unwinder, i));
	walk_memo_add(unwinder, at, id);
	return id;
}

APART static void by_nothing(void)
{
	n_stacks++;
}

#define CALLER                                                                                     \
	{                                                                                          \
		.pc = ARCH_CALLER_PC(), .sp = ARCH_CALLER_SP(), .fp = ARCH_CALLER_FP()             \
	}

static uint64_t n_other; /* stacks that the cache left to the full walk */

/* As in the recorder: the full walk teaches the cache how far down the stack has ever been. */
static COLD void walk_other(const struct unwind_start *at)
{
	struct unwind_frames f = {.addr = frames, .capacity = MAX_FRAMES};

	unwind_walk(unwinder, at, &f);
	n_other++;
}

static NOINLINE uint32_t join(struct walk_memo *memo, const struct unwind_start *at)
{
	uintptr_t addr[MEMO_SUFFIX_FRAMES];
	uint32_t outer;
	uint32_t id = join_cache_find(unwinder, memo, at->fp, &outer);
	unsigned n = memo_suffix_frames(memo, addr);

	if (id || !outer)
		return id;
	id = outer;
	for (unsigned i = 0; i < n; i++)
		id = child_of(id, addr[i]);
	join_cache_add(unwinder, memo, id);
	return id;
}

/* As stack_find_fast() of the recorder. */
static ALWAYS_INLINE uint32_t quick(const struct unwind_start *at)
{
	struct walk_memo *memo = walk_memo_slot(unwinder, at);
	uint32_t stack_hash, id;

	if (caller_hint_exists(unwinder, at)) {
		id = caller_hint_find(unwinder, at, &stack_hash);
		return id ? child_of(id, at->pc) : 0;
	}
	if (!walk_memo_is_of(unwinder, memo, at))
		return 0;
	return walk_memo_joins_same(unwinder, memo) ? walk_memo_stack_id(unwinder, memo, at)
						    : join(memo, at);
}

APART static void by_cache(void)
{
	struct unwind_start at = CALLER;
	uint32_t id = quick(&at);
	struct stack_cache_stack stack;

	if (!id)
		id = stack_cache_find(unwinder, &at);
	if (likely(id))
		last_id = id;
	else if (stack_cache_walk(unwinder, &at, unwind_generation(), &stack) == STACK_CACHE_OK)
		last_id = intern_cached(&at, &stack);
	else
		walk_other(&at);
	n_stacks++;
}

APART static void by_walk(void)
{
	struct unwind_start at = CALLER;
	struct unwind_frames f = {.addr = frames, .capacity = MAX_FRAMES};

	unwind_walk(unwinder, &at, &f);
	n_frames = f.n;
	n_stacks++;
}

APART static void by_libunwind(void)
{
	n_frames = (size_t)unw_backtrace((void **)frames, MAX_FRAMES);
	n_stacks++;
}

/* libunwind defines backtrace(), too; this is libc's. */
static int (*libc_backtrace)(void **, int);

APART static void by_glibc(void)
{
	n_frames = (size_t)libc_backtrace((void **)frames, MAX_FRAMES);
	n_stacks++;
}

static const struct method {
	const char *name;
	void (*call)(void);
	unsigned slowness; /* its share of the stacks that the others do */
} methods[] = {
	{"nothing", by_nothing, 1},        {"ours, stack cache with ids", by_cache, 1},
	{"ours, full walk", by_walk, 1},   {"libunwind unw_backtrace", by_libunwind, 1},
	{"glibc backtrace", by_glibc, 10},
};

enum {
	NOTHING,
	OURS,
	OURS_FULL,
	LIBUNWIND,
	GLIBC,
	N_METHODS
};

static void (*method)(void);

/* ---- patterns ------------------------------------------------------------------------------ */

static void (*bottom)(void);
static uint64_t stacks_wanted;
static int depth;
static uint32_t seed = 1;

static inline uint32_t next_random(void)
{
	seed = seed * 1664525u + 1013904223u;
	return seed >> 16;
}

#define AFTER_THE_CALL() __asm__ volatile("" ::: "memory")

/* Eight functions with frames of different sizes call each other in turn until nothing is left;
 * name is the way, of which there are two. */
#define STEP(name, k, next, bytes)                                                                 \
	static void name##next(int left);                                                          \
	APART static void name##k(int left)                                                        \
	{                                                                                          \
		volatile char room[bytes];                                                         \
                                                                                                   \
		room[0] = (char)left;                                                              \
		if (left <= 0)                                                                     \
			bottom();                                                                  \
		else                                                                               \
			name##next(left - 1);                                                      \
		room[1] = room[0];                                                                 \
	}
#define WAY(name, a, b, c, d)                                                                      \
	STEP(name, 0, 1, a)                                                                        \
	STEP(name, 1, 2, b)                                                                        \
	STEP(name, 2, 3, c)                                                                        \
	STEP(name, 3, 4, d)                                                                        \
	STEP(name, 4, 5, b)                                                                        \
	STEP(name, 5, 6, a)                                                                        \
	STEP(name, 6, 7, d)                                                                        \
	STEP(name, 7, 0, c)

WAY(way_a, 16, 48, 24, 96)
WAY(way_b, 64, 24, 128, 40)

APART static void hot_bottom(void)
{
	for (uint64_t i = 0; i < stacks_wanted; i += 2) {
		method();
		method();
	}
}

APART static void leaf_end(void)
{
	method();
	AFTER_THE_CALL();
}

#define LEAF(k, inner, bytes)                                                                      \
	APART static void leaf_##k(void)                                                           \
	{                                                                                          \
		volatile char room[bytes];                                                         \
                                                                                                   \
		room[0] = 1;                                                                       \
		inner();                                                                           \
		room[1] = room[0];                                                                 \
	}
LEAF(0, method, 16)
LEAF(1, leaf_end, 24)
LEAF(2, leaf_1, 32)
LEAF(3, method, 40)
LEAF(4, leaf_end, 48)
LEAF(5, leaf_4, 56)
LEAF(6, method, 64)
LEAF(7, leaf_end, 72)
LEAF(8, leaf_7, 80)
LEAF(9, method, 88)
LEAF(10, leaf_end, 96)
LEAF(11, leaf_10, 104)
LEAF(12, method, 112)
LEAF(13, leaf_end, 120)
LEAF(14, leaf_13, 128)
LEAF(15, leaf_2, 136)

APART static void leaves_bottom(void)
{
	static void (*const leaf[16])(void) = {
		leaf_0, leaf_1, leaf_2,  leaf_3,  leaf_4,  leaf_5,  leaf_6,  leaf_7,
		leaf_8, leaf_9, leaf_10, leaf_11, leaf_12, leaf_13, leaf_14, leaf_15,
	};

	for (uint64_t i = 0; i < stacks_wanted; i++)
		leaf[next_random() % 16]();
}

APART static void recurse_odd(int left);
APART static void recurse(int left)
{
	method();
	if (left > 0) {
		if (left % 3)
			recurse(left - 1);
		else
			recurse_odd(left - 1);
	}
	method();
	AFTER_THE_CALL();
}

APART static void recurse_odd(int left)
{
	volatile char room[40];

	room[0] = (char)left;
	method();
	if (left > 0)
		recurse(left - 1);
	method();
	room[1] = room[0];
}

APART static void recursion_bottom(void)
{
	for (uint64_t i = 0; i < stacks_wanted; i += 2 * (uint64_t)(depth + 1))
		recurse(depth);
}

APART static void pair_bottom(void)
{
	method();
	method();
	AFTER_THE_CALL();
}

enum {
	FRAMES_OUTSIDE = 8 /* what is outside of the first way function, and the bottom function */
};

APART static void run_down(void (*at_bottom)(void), int levels)
{
	bottom = at_bottom;
	way_a0(levels - FRAMES_OUTSIDE);
	AFTER_THE_CALL();
}

APART static void run_hot(void)
{
	run_down(hot_bottom, depth);
}

APART static void run_leaves(void)
{
	run_down(leaves_bottom, depth - 2);
}

APART static void run_recursion(void)
{
	run_down(recursion_bottom, depth / 2);
}

APART static void run_return(void)
{
	bottom = pair_bottom;
	for (uint64_t i = 0; i < stacks_wanted; i += 2) {
		if (next_random() % 2)
			way_a0(depth - FRAMES_OUTSIDE + 1);
		else
			way_b0(depth - FRAMES_OUTSIDE + 1);
	}
}

static const struct pattern {
	const char *name;
	void (*run)(void);
	double most_at_30, most_at_100; /* targets: share of unw_backtrace */
} patterns[] = {
	{"hot loop", run_hot, 0.20, 0.15},
	{"random leaves", run_leaves, 1.0, 1.0},
	{"recursion", run_recursion, 0.20, 0.15},
	{"return to bottom", run_return, 1.0, 1.0},
};

static const int depths[] = {10, 30, 100};

/* ---- measuring ----------------------------------------------------------------------------- */

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double time_once(const struct pattern *p, const struct method *m, uint64_t n)
{
	double start_ns;

	method = m->call;
	seed = 1;
	n_stacks = 0;
	stacks_wanted = n;
	start_ns = now_ns();
	p->run();
	return (now_ns() - start_ns) / (double)n_stacks;
}

/* Depth of all stacks together and what was found to differ; set by by_comparing(). */
static uint64_t depth_sum;
static uint64_t n_differing;

/* The frames of a cached stack as addresses, innermost first. */
static size_t cached_frames(const struct stack_cache_stack *stack, uintptr_t *addr)
{
	size_t n = 0;

	for (size_t i = 0; i < stack->n_fresh; i++)
		addr[n++] = stack_cache_fresh_addr(unwinder, i);
	for (size_t i = stack->n_kept; i-- > 0;)
		addr[n++] = stack->entry[i].addr;
	return n;
}

/* A method, too: the stack by all of them. Its own frame is in theirs and not in ours. */
APART static void by_comparing(void)
{
	struct unwind_start at = CALLER;
	static uintptr_t theirs[MAX_FRAMES], walked[MAX_FRAMES], cached[MAX_FRAMES];
	struct unwind_frames f = {.addr = walked, .capacity = MAX_FRAMES};
	struct stack_cache_stack stack;
	size_t n = (size_t)unw_backtrace((void **)theirs, MAX_FRAMES) - 1;

	unwind_walk(unwinder, &at, &f);
	/* Ids are not given, so the cache never answers "known". */
	if (f.n != n || memcmp(walked, theirs + 1, n * sizeof(*walked)))
		n_differing++;
	else if (stack_cache_find(unwinder, &at) ||
		 stack_cache_walk(unwinder, &at, unwind_generation(), &stack) != STACK_CACHE_OK ||
		 cached_frames(&stack, cached) != n || memcmp(cached, walked, n * sizeof(*walked)))
		n_differing++;
	depth_sum += n;
	n_stacks++;
}

/* Mean depth; ends the program when methods disagree. */
static double compare(const struct pattern *p)
{
	static const struct method m = {"all", by_comparing, 1};

	stack_cache_forget_ids(unwinder);
	depth_sum = n_differing = 0;
	time_once(p, &m, 2000);
	if (n_differing) {
		fprintf(stderr, "bench_unwind: %s at %d: %llu of %llu stacks differ\n", p->name,
			depth, (unsigned long long)n_differing, (unsigned long long)n_stacks);
		exit(1);
	}
	return (double)depth_sum / (double)n_stacks;
}

/* Interleaved, best of n_runs; ns[NOTHING] is absolute, the others are what they add to it. */
static void measure(const struct pattern *p, int n_runs, double ns[N_METHODS])
{
	const uint64_t n = 4000; /* a run shorter than a time slice is likely to be undisturbed */

	for (int m = 0; m < N_METHODS; m++)
		ns[m] = 1e12;
	for (int i = 0; i <= n_runs; i++) { /* the first one warms up */
		for (int m = 0; m < N_METHODS; m++) {
			double t = time_once(p, &methods[m], n / methods[m].slowness);

			if (i && t < ns[m])
				ns[m] = t;
		}
	}
	for (int m = 1; m < N_METHODS; m++)
		ns[m] -= ns[NOTHING];
	if (n_other > 1000) {
		fprintf(stderr, "bench_unwind: %s at %d: the cache left %llu stacks to others\n",
			p->name, depth, (unsigned long long)n_other);
		exit(1);
	}
	n_other = 0;
}

static void show(const struct pattern *p, int n_runs, int *n_missed)
{
	double ns[ARRAY_LEN(depths)][N_METHODS], mean[ARRAY_LEN(depths)];

	for (size_t d = 0; d < ARRAY_LEN(depths); d++) {
		depth = depths[d];
		mean[d] = compare(p);
		measure(p, n_runs, ns[d]);
	}
	printf("\n%-32s", p->name);
	for (size_t d = 0; d < ARRAY_LEN(depths); d++)
		printf("%8d: ns of libunwind", depths[d]);
	printf("\n%-32s", "  mean frames");
	for (size_t d = 0; d < ARRAY_LEN(depths); d++)
		printf("%12.1f%16s", mean[d], "");
	printf("\n");
	for (int m = 0; m < N_METHODS; m++) {
		printf("  %-30s", m == NOTHING ? "the program itself" : methods[m].name);
		for (size_t d = 0; d < ARRAY_LEN(depths); d++) {
			printf("%12.1f", ns[d][m]);
			if (m == NOTHING)
				printf("%16s", "");
			else
				printf("%16.2f", ns[d][m] / ns[d][LIBUNWIND]);
		}
		printf("\n");
	}
	printf("  %-30s", "targets for the cache");
	for (size_t d = 0; d < ARRAY_LEN(depths); d++) {
		double most = depths[d] == 30  ? p->most_at_30
			      : depths[d] > 30 ? p->most_at_100
					       : 1.0;
		bool ok = ns[d][OURS] <= most * ns[d][LIBUNWIND];

		*n_missed += !ok;
		printf("%15s<= %.2f %s", "", most, ok ? "ok   " : "MISS ");
	}
	printf("\n");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	int n_runs = 100, n_missed = 0, c;
	void *memory = calloc(1, STACK_CACHE_BYTES(MAX_FRAMES));

	while ((c = getopt(argc, argv, "n:")) != -1) {
		if (c != 'n' || (n_runs = atoi(optarg)) < 1) {
			fputs("usage: bench_unwind [-n RUNS]\n", stderr);
			return 2;
		}
	}
	unwinder = calloc(1, unwind_thread_bytes);
	if (!memory || !unwinder) {
		fputs("bench_unwind: no memory\n", stderr);
		return 1;
	}
	unwind_init();
	libc_backtrace =
		(int (*)(void **, int))dlsym(dlopen(LIBC, RTLD_NOW | RTLD_NOLOAD), "backtrace");
	if (!libc_backtrace) {
		fputs("bench_unwind: " LIBC " has no backtrace()\n", stderr);
		return 1;
	}
	unwind_thread_init(unwinder, true);
	stack_cache_set_memory(unwinder, memory, MAX_FRAMES);
	printf("ns per stack beyond the program's own, best of %d, and the share of "
	       "unw_backtrace\n",
	       n_runs);
	for (size_t i = 0; i < ARRAY_LEN(patterns); i++)
		show(&patterns[i], n_runs, &n_missed);
	printf("\ntargets missed: %d\n", n_missed);
	return 0;
}
