/* alloc_in_signal HOW - a signal handler allocates while the main loop does not.
 *
 * HOW: raise, timer, altstack (timer, handler on a small stack of its own), thread (the signal goes
 * to a thread that waits), nested (the handler of one signal is interrupted by another's, at a point
 * where neither is in libc), mmap (the main loop does allocate, and the handler, which may then not
 * use malloc, maps and unmaps memory: it interrupts whoever watches malloc anywhere).
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#define N_SIGNALS 1000

static const char *how;
static _Atomic int n_handled;
static volatile unsigned long sink;

static void on_second(int sig)
{
	(void)sig;
	free(malloc(333));
}

static void on_signal(int sig)
{
	void *p;

	(void)sig;
	if (n_handled >= N_SIGNALS)
		return;
	p = malloc(100 + (size_t)n_handled % 100);
	if (!strcmp(how, "nested"))
		raise(SIGURG);
	p = realloc(p, 500);
	free(p);
	n_handled++;
}

static void on_signal_map(int sig)
{
	char *p;

	(void)sig;
	if (n_handled >= N_SIGNALS)
		return;
	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	*p = 1;
	munmap(p, 4096);
	n_handled++;
}

static void allocate_meanwhile(void)
{
	void *held[32] = {0};

	for (unsigned i = 0; n_handled < N_SIGNALS; i++) {
		free(held[i % 32]);
		held[i % 32] = malloc(1 + i % 700);
		held[i % 32] = realloc(held[i % 32], 1 + i % 900);
	}
	for (unsigned i = 0; i < 32; i++)
		free(held[i]);
}

static void *wait_forever(void *arg)
{
	(void)arg;
	while (n_handled < N_SIGNALS)
		pause();
	return NULL;
}

static void send_to_thread(void)
{
	pthread_t t;

	pthread_create(&t, NULL, wait_forever, NULL);
	while (n_handled < N_SIGNALS) {
		int before = n_handled;

		pthread_kill(t, SIGALRM);
		while (n_handled == before)
			usleep(1);
	}
	pthread_kill(t, SIGALRM); /* it may have gone to sleep after the last one */
	pthread_join(t, NULL);
}

int main(int argc, char **argv)
{
	struct itimerval every = {{0, 211}, {0, 211}}, never = {{0, 0}, {0, 0}};
	struct sigaction action = {.sa_handler = on_signal}, second = {.sa_handler = on_second};
	static char small_stack[24 * 1024];
	stack_t alternate = {.ss_sp = small_stack, .ss_size = sizeof(small_stack)};

	how = argc > 1 ? argv[1] : "raise";
	if (!strcmp(how, "altstack")) {
		sigaltstack(&alternate, NULL);
		action.sa_flags = SA_ONSTACK;
	}
	if (!strcmp(how, "mmap"))
		action.sa_handler = on_signal_map;
	sigaction(SIGALRM, &action, NULL);
	sigaction(SIGURG, &second, NULL);
	if (!strcmp(how, "raise") || !strcmp(how, "nested")) {
		while (n_handled < N_SIGNALS)
			raise(SIGALRM);
	} else if (!strcmp(how, "thread")) {
		send_to_thread();
	} else {
		setitimer(ITIMER_REAL, &every, NULL);
		if (!strcmp(how, "mmap"))
			allocate_meanwhile();
		while (n_handled < N_SIGNALS)
			sink++;
		setitimer(ITIMER_REAL, &never, NULL);
	}
	printf("%d signals\n", n_handled);
	return 0;
}
