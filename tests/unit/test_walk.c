/* Call chains of many shapes, walked in every way and compared with libgcc's unwinder, which is
 * older, slower and trusted. */
#include "harness/test.h"
#include "unwind/unwind_thread_i.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#define CAPACITY 16384
#define N_WAYS 4 /* cached, full CFI, cached without _dl_find_object, full while code changes */

static _Thread_local struct {
	struct unwind_thread *walker[N_WAYS];
	uintptr_t *ours;
	uintptr_t *theirs;
	size_t n_theirs;
} me;

/* What the hooks of one test saw. */
static _Atomic unsigned n_hooks;
static _Atomic unsigned n_different;
static _Atomic unsigned n_incomplete;
static _Atomic unsigned n_signals; /* walks that crossed one */
static size_t depth; /* of the last stack */

static void *map(size_t size_bytes)
{
	void *p =
		mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		abort();
	return p;
}

static void start(void)
{
	unwind_init();
	n_hooks = n_different = n_incomplete = n_signals = 0;
}

static void thread_start(void)
{
	if (me.ours)
		return;
	me.ours = map(CAPACITY * sizeof(uintptr_t));
	me.theirs = map(CAPACITY * sizeof(uintptr_t));
	for (unsigned i = 0; i < N_WAYS; i++) {
		me.walker[i] = map(unwind_thread_bytes);
		unwind_thread_init(me.walker[i], i % 2 == 0);
	}
}

static _Unwind_Reason_Code visit(struct _Unwind_Context *c, void *arg)
{
	int is_exact = 0;
	uintptr_t ip = _Unwind_GetIPInfo(c, &is_exact);

	(void)arg;
	if (me.n_theirs < CAPACITY && ip)
		me.theirs[me.n_theirs++] = ip + (is_exact != 0);
	return _URC_NO_REASON;
}

/* Theirs also has our frames in front. Where a stack begins in a function that was started by
 * hand, they give its address and we the one after, which is inside it. */
static bool is_same(const struct unwind_frames *f, uintptr_t first)
{
	size_t skip = 0;

	while (skip < me.n_theirs && me.theirs[skip] != first)
		skip++;
	if (f->n != me.n_theirs - skip || f->n_certain != f->n)
		return false;
	for (size_t i = 0; i < f->n; i++)
		if (f->addr[i] != me.theirs[skip + i] &&
		    !(i + 1 == f->n && f->addr[i] == me.theirs[skip + i] + 1))
			return false;
	return true;
}

static void walk_and_compare(const struct unwind_start *s)
{
	thread_start();
	me.n_theirs = 0;
	_Unwind_Backtrace(visit, NULL);
	for (unsigned i = 0; i < N_WAYS; i++) {
		struct unwind_frames f = {.addr = me.ours, .capacity = CAPACITY};

		modules_use_phdrs(i == 2);
		if (i == 3)
			unwind_code_changing();
		unwind_walk(me.walker[i], s, &f);
		if (i == 3)
			unwind_code_changed();
		modules_use_phdrs(false);
		n_hooks++;
		n_different += !is_same(&f, s->pc);
		n_incomplete += f.end != UNWIND_COMPLETE;
		n_signals += f.crossed_signal;
		depth = f.n;
	}
}

/* What a malloc hook does. */
NOINLINE static void hook(void)
{
	uintptr_t *frame = __builtin_frame_address(0);
	struct unwind_start s = {(uintptr_t)__builtin_return_address(0), (uintptr_t)(frame + 2),
				 frame[0]};

	walk_and_compare(&s);
	__asm__ volatile(""); /* no tail call above */
}

static void check_all_same(void)
{
	CHECK(n_hooks > 0);
	CHECK_EQ(n_different, 0);
	CHECK_EQ(n_incomplete, 0);
}

/* --- plain calls ---------------------------------------------------------------------------------- */

NOINLINE static int recurse(int n)
{
	volatile char local[16];

	local[0] = (char)n;
	if (n == 0) {
		hook();
		return local[0];
	}
	return recurse(n - 1) + local[0];
}

TEST(walk_of_plain_calls)
{
	start();
	hook();
	recurse(10);
	recurse(100);
	check_all_same();
}

TEST(walk_of_ten_thousand_frames)
{
	start();
	recurse(10000);
	check_all_same();
	CHECK(depth > 10000);
}

static int compare(const void *a, const void *b)
{
	hook();
	return *(const int *)a - *(const int *)b;
}

TEST(walk_through_a_callback_from_libc)
{
	int values[] = {3, 1, 2};

	start();
	qsort(values, ARRAY_LEN(values), sizeof(values[0]), compare);
	check_all_same();
}

NOINLINE static void with_alloca(size_t n)
{
	volatile char *p = __builtin_alloca(n);

	p[0] = 1;
	hook();
	p[n - 1] = 2;
}

TEST(walk_of_frames_without_fixed_size)
{
	start();
	with_alloca(1);
	with_alloca(100);
	with_alloca(100000);
	check_all_same();
}

struct wide {
	_Alignas(64) volatile char bytes[64];
};

NOINLINE static void with_aligned_stack(size_t n)
{
	struct wide w;
	volatile char *p = __builtin_alloca(n);

	p[0] = w.bytes[0] = 1;
	hook();
	p[n - 1] = w.bytes[0];
}

TEST(walk_of_aligned_stacks)
{
	start();
	with_aligned_stack(1);
	with_aligned_stack(1000);
	check_all_same();
}

static jmp_buf jump;

__attribute__((noinline, noreturn)) static void hook_and_jump(void)
{
	hook();
	longjmp(jump, 1);
}

/* The call is the last instruction: its return address is in the next function, or nowhere. */
__attribute__((noinline, noreturn)) static void ends_in_call(void)
{
	hook_and_jump();
}

TEST(walk_of_functions_that_do_not_return)
{
	start();
	if (!setjmp(jump))
		ends_in_call();
	hook();
	check_all_same();
	CHECK_EQ(n_hooks, 2 * N_WAYS);
}

static unsigned n_at_start;
static unsigned n_different_at_start;

__attribute__((constructor)) static void hook_before_main(void)
{
	unwind_init();
	hook();
	n_at_start = n_hooks;
	n_different_at_start = n_different + n_incomplete;
}

TEST(walk_before_main)
{
	CHECK_EQ(n_at_start, N_WAYS);
	CHECK_EQ(n_different_at_start, 0);
}

/* --- signals --------------------------------------------------------------------------------------- */

static void on_signal(int sig)
{
	(void)sig;
	hook();
}

static void on_outer_signal(int sig)
{
	(void)sig;
	hook();
	raise(SIGUSR2);
}

static void handle(int sig, void (*fn)(int), int flags)
{
	struct sigaction sa = {.sa_handler = fn, .sa_flags = flags};

	CHECK_EQ(sigaction(sig, &sa, NULL), 0);
}

TEST(walk_through_a_signal_handler)
{
	start();
	handle(SIGUSR1, on_signal, 0);
	raise(SIGUSR1);
	check_all_same();
	CHECK_EQ(n_signals, N_WAYS);
}

TEST(walk_from_an_alternate_stack)
{
	stack_t alt = {.ss_sp = map(1 << 17), .ss_size = 1 << 17};
	stack_t old;

	start();
	CHECK_EQ(sigaltstack(&alt, &old), 0);
	handle(SIGUSR1, on_outer_signal, SA_ONSTACK);
	handle(SIGUSR2, on_signal, 0); /* a signal inside a handler */
	raise(SIGUSR1);
	check_all_same();
	CHECK(n_signals >= N_WAYS); /* TSan calls handlers later, without a signal frame */
	sigaltstack(&old, NULL);
}

static _Atomic bool is_over;

static void *shoot(void *arg)
{
	pthread_t target = *(pthread_t *)arg;
	struct timespec pause = {0, 200000};

	for (unsigned i = 0; i < 2000 && !is_over; i++) {
		pthread_kill(target, SIGUSR1);
		nanosleep(&pause, NULL);
	}
	is_over = true;
	return NULL;
}

NOINLINE static double work(double x)
{
	char text[64];
	struct timespec now;
	struct wide w;

	w.bytes[0] = 1;
	clock_gettime(CLOCK_MONOTONIC, &now);
	memset(text, 0, sizeof(text));
	memmove(text + 1, text, 20 + (size_t)w.bytes[0]);
	strfromd(text, sizeof(text), "%g", x + (double)now.tv_nsec);
	return strtod(text, NULL) / 3;
}

static void on_any_instruction(int sig)
{
	(void)sig;
	hook();
}

/* At any instruction: prologues, epilogues, the vdso, the procedure linkage table. */
TEST(walk_from_any_instruction)
{
	pthread_t self = pthread_self();
	pthread_t shooter;
	double x = 1;

	start();
	is_over = false;
	handle(SIGUSR1, on_any_instruction, 0);
	CHECK_EQ(pthread_create(&shooter, NULL, shoot, &self), 0);
	while (!is_over)
		x = work(x);
	pthread_join(shooter, NULL);
	CHECK(n_hooks > 100);
	CHECK_EQ(n_different, 0); /* a few end early, in code without CFI; libgcc's end there too */
}

/* --- other stacks ----------------------------------------------------------------------------------- */

static ucontext_t main_context;
static ucontext_t fiber_context;

static void fiber(void)
{
	hook();
	recurse(20);
	swapcontext(&fiber_context, &main_context);
	recurse(300);
}

static void run_fiber(void *stack, size_t size_bytes)
{
	getcontext(&fiber_context);
	fiber_context.uc_stack.ss_sp = stack;
	fiber_context.uc_stack.ss_size = size_bytes;
	fiber_context.uc_link = &main_context;
	makecontext(&fiber_context, fiber, 0);
	swapcontext(&main_context, &fiber_context);
	hook();
	swapcontext(&main_context, &fiber_context);
	hook();
}

TEST(walk_of_fibers)
{
	static char on_data[1 << 17];
	char on_stack[1 << 17];
	char *on_heap = malloc(1 << 17);
	char *on_pages = map(1 << 17);

	start();
	run_fiber(on_heap, 1 << 17);
	run_fiber(on_pages, 1 << 17);
	run_fiber(on_data, 1 << 17);
	run_fiber(on_stack, 1 << 17);
	check_all_same();
	free(on_heap);
	munmap(on_pages, 1 << 17);
}

static void *in_thread(void *arg)
{
	(void)arg;
	hook();
	recurse(30);
	with_alloca(50);
	run_fiber(map(1 << 17), 1 << 17);
	raise(SIGUSR1);
	return NULL;
}

TEST(walk_in_a_thread)
{
	pthread_t thread;

	start();
	handle(SIGUSR1, on_signal, 0);
	CHECK_EQ(pthread_create(&thread, NULL, in_thread, NULL), 0);
	pthread_join(thread, NULL);
	check_all_same();
}

/* --- limits ------------------------------------------------------------------------------------------- */

static uintptr_t hook_frame; /* the stack that a walk uses lies below */

NOINLINE static void walk_into(struct unwind_thread *ut, struct unwind_frames *f)
{
	uintptr_t *frame = __builtin_frame_address(0);
	struct unwind_start s = {(uintptr_t)__builtin_return_address(0), (uintptr_t)(frame + 2),
				 frame[0]};

	hook_frame = (uintptr_t)frame;
	unwind_walk(ut, &s, f);
}

TEST(walk_says_when_there_is_no_room)
{
	uintptr_t addr[3] = {0, 0, 42};
	struct unwind_frames f = {.addr = addr, .capacity = 2};

	start();
	thread_start();
	for (unsigned i = 0; i < N_WAYS; i++) {
		walk_into(me.walker[i], &f);
		CHECK_EQ(f.end, UNWIND_NO_ROOM);
		CHECK_EQ(f.n, 2);
		CHECK_EQ(addr[2], 42);
		CHECK(addr[0] && addr[1]);
	}
}

#define PAINT 0xa5
#define PAINT_BYTES 16384

/* Runs on a deeper part of the stack than what is measured. */
NOINLINE static void paint(void)
{
	volatile unsigned char area[PAINT_BYTES];

	for (size_t i = 0; i < sizeof(area); i++)
		area[i] = PAINT;
}

/* Bytes of stack that were written below `top` since paint(). */
__attribute__((noinline, no_sanitize("address", "thread"))) static size_t
painted_over(uintptr_t top)
{
	const volatile unsigned char *lowest =
		(const volatile unsigned char *)(top - PAINT_BYTES / 2);

	while ((uintptr_t)lowest < top && *lowest == PAINT)
		lowest++;
	return top - (uintptr_t)lowest;
}

/* A target's thread may have 16 KiB in all, and its alternate stack less. */
TEST(walk_uses_little_stack)
{
	uintptr_t addr[64];
	struct unwind_frames f = {.addr = addr, .capacity = 64};
	struct unwind_thread *ut = map(unwind_thread_bytes);
	size_t used[2];

	start();
	for (unsigned slow = 0; slow < 2; slow++) {
		memset(ut, 0, unwind_thread_bytes);
		unwind_thread_init(ut, !slow);
		paint();
		walk_into(ut, &f);
		used[slow] = painted_over(hook_frame);
	}
	if (!STACK_WORD_CHECKED && CONFIG_CHECKS == 0) {
		CHECK(used[0] < 1536);
		CHECK(used[1] < 1536);
	}
	munmap(ut, unwind_thread_bytes);
}

TEST(walk_counts_what_it_does)
{
	uintptr_t addr[64];
	struct unwind_frames f = {.addr = addr, .capacity = 64};
	struct unwind_thread *ut = map(unwind_thread_bytes);
	struct unwind_stats stats;

	start();
	unwind_thread_init(ut, true);
	for (unsigned i = 0; i < 10; i++)
		walk_into(ut, &f);
	unwind_thread_stats(ut, &stats);
	CHECK_EQ(stats.n_walks, 10);
	CHECK_EQ(stats.n_slow_walks, 0);
	CHECK(stats.n_rule_misses < f.n + 10); /* ten, should the loop be unrolled */
	munmap(ut, unwind_thread_bytes);
}
