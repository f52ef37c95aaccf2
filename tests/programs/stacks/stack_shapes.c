/* programs/stacks/stack_shapes.c - call chains of every shape that C has. */
#include "mark.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define STACK_BYTES (256 * 1024)

/* --- plain ------------------------------------------------------------------------------------------ */

SEPARATE static void leaf(void)
{
	MARK(1001);
}

SEPARATE static void middle(void)
{
	leaf();
	STAY();
}

SEPARATE static void run_plain(void)
{
	middle();
	STAY();
}

SEPARATE static int recurse(int n)
{
	char local[24];

	KEEP(local);
	if (n == 1)
		MARK(1002);
	else
		recurse(n - 1);
	KEEP(local);
	return n;
}

SEPARATE static void run_recursion(void)
{
	recurse(10000);
	STAY();
}

static int compare(const void *a, const void *b)
{
	MARK(1003);
	return *(const int *)a - *(const int *)b;
}

SEPARATE static void run_qsort(void)
{
	int values[] = {2, 1};

	qsort(values, 2, sizeof(values[0]), compare);
	STAY();
}

/* --- frames of odd sizes -------------------------------------------------------------------------------- */

SEPARATE static void uses_alloca(size_t n)
{
	char *p = __builtin_alloca(n);

	KEEP(p);
	MARK(1004);
	KEEP(p);
}

SEPARATE static void uses_array(size_t n)
{
	char array[n];

	KEEP(array);
	MARK(1005);
	KEEP(array);
}

SEPARATE static void uses_aligned(size_t n)
{
	_Alignas(128) char wide[128];
	char *p = __builtin_alloca(n);

	KEEP(wide);
	KEEP(p);
	MARK(1006);
	KEEP(wide);
	KEEP(p);
}

SEPARATE static void run_frames(void)
{
	uses_alloca(100);
	uses_alloca(100000);
	uses_array(100);
	uses_array(100000);
	uses_aligned(100);
	uses_aligned(100000);
	STAY();
}

/* --- no way back ----------------------------------------------------------------------------------------- */

static jmp_buf jump;

__attribute__((noreturn)) SEPARATE static void jumps(void)
{
	MARK(1007);
	longjmp(jump, 1);
}

/* Ends in a call: the return address is behind the function. */
__attribute__((noreturn)) SEPARATE static void ends_in_call(void)
{
	char local[200];

	KEEP(local);
	jumps();
}

SEPARATE static void run_longjmp(void)
{
	if (!setjmp(jump))
		ends_in_call();
	MARK(1008);
}

/* --- signals ----------------------------------------------------------------------------------------------- */

static sigjmp_buf after_fault;
static char *volatile nowhere;

static void on_signal(int sig)
{
	(void)sig;
	MARK(1010);
}

static void on_signal_outside(int sig)
{
	(void)sig;
	MARK(1011);
}

static void on_signal_twice(int sig)
{
	(void)sig;
	raise(SIGUSR1);
	STAY();
}

static void on_fault(int sig)
{
	(void)sig;
	MARK(1012);
	siglongjmp(after_fault, 1);
}

static void handle(int sig, void (*fn)(int), int flags)
{
	struct sigaction sa = {.sa_handler = fn, .sa_flags = flags};

	sigaction(sig, &sa, NULL);
}

SEPARATE static void run_signal(void)
{
	handle(SIGUSR1, on_signal, 0);
	raise(SIGUSR1);
	STAY();
}

SEPARATE static void run_alternate_stack(void)
{
	handle(SIGUSR1, on_signal_outside, SA_ONSTACK);
	raise(SIGUSR1);
	STAY();
}

SEPARATE static void run_nested_signal(void)
{
	handle(SIGUSR1, on_signal, 0);
	handle(SIGUSR2, on_signal_twice, SA_ONSTACK);
	raise(SIGUSR2);
	STAY();
}

/* No call on the way to the handler: the frame is where the fault is. */
SEPARATE static void faults(void)
{
	*nowhere = 1;
	STAY();
}

SEPARATE static void run_fault(void)
{
	handle(SIGSEGV, on_fault, SA_ONSTACK);
	if (!sigsetjmp(after_fault, 1))
		faults();
	STAY();
}

SEPARATE static void run_signals(void)
{
	static char alternate[STACK_BYTES];
	stack_t ss = {.ss_sp = alternate, .ss_size = sizeof(alternate)};

	sigaltstack(&ss, NULL);
	run_signal();
	run_alternate_stack();
	run_nested_signal();
	run_fault();
	STAY();
}

/* --- fibers ------------------------------------------------------------------------------------------------- */

static __thread ucontext_t main_context;
static __thread ucontext_t fiber_context;

SEPARATE static void in_fiber(int n)
{
	char local[100];

	KEEP(local);
	if (n == 1)
		MARK(1013);
	else
		in_fiber(n - 1);
	KEEP(local);
}

SEPARATE static void yields(void)
{
	swapcontext(&fiber_context, &main_context);
	MARK(1014);
}

static void fiber(void)
{
	in_fiber(100);
	yields();
	STAY();
}

SEPARATE static void run_fiber(void)
{
	char *stack =
		mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	getcontext(&fiber_context);
	fiber_context.uc_stack.ss_sp = stack;
	fiber_context.uc_stack.ss_size = STACK_BYTES;
	fiber_context.uc_link = &main_context;
	makecontext(&fiber_context, fiber, 0);
	swapcontext(&main_context, &fiber_context);
	MARK(1015);
	swapcontext(&main_context, &fiber_context);
	munmap(stack, STACK_BYTES);
}

/* --- threads ------------------------------------------------------------------------------------------------- */

static void *in_thread(void *arg)
{
	MARK(1016);
	run_fiber();
	return arg;
}

static void *in_small_thread(void *arg)
{
	MARK(1017);
	return arg;
}

SEPARATE static void run_threads(void)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_create(&thread, NULL, in_thread, NULL);
	pthread_join(thread, NULL);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 16384);
	pthread_create(&thread, &attr, in_small_thread, NULL);
	pthread_join(thread, NULL);
	pthread_attr_destroy(&attr);
}

/* --- before and after main ------------------------------------------------------------------------------------- */

__attribute__((constructor)) static void before_main(void)
{
	MARK(1020);
}

__attribute__((destructor)) static void after_main(void)
{
	MARK(1021);
}

static void at_exit(void)
{
	MARK(1022);
}

int main(void)
{
	atexit(at_exit);
	run_plain();
	run_recursion();
	run_qsort();
	run_frames();
	run_longjmp();
	run_signals();
	run_fiber();
	run_threads();
	return 0;
}
