/* toggles_by_signal HOW - raises SIGUSR1 between allocations whose sizes tell them apart.
 *
 * Sizes 10001, 10002 ... each once, in this order; HOW: plain; own_first (a handler is there before
 * any constructor runs), own_later (main installs one), ignored_first, sigusr2, thread (another
 * thread allocates 20001 ... in step).
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t n_own;
static int sig = SIGUSR1;
static const char *how;
static pthread_barrier_t barrier;
static void *held[16];

static void on_own(int s)
{
	(void)s;
	n_own++;
}

static void preinit(int argc, char **argv, char **envp)
{
	struct sigaction action = {.sa_handler = on_own};

	(void)envp;
	if (argc > 1 && !strcmp(argv[1], "own_first"))
		sigaction(SIGUSR1, &action, NULL);
	if (argc > 1 && !strcmp(argv[1], "ignored_first"))
		signal(SIGUSR1, SIG_IGN);
}

__attribute__((section(".preinit_array"),
	       used)) static void (*const preinit_entry)(int, char **, char **) = preinit;

static void step(void)
{
	if (!strcmp(how, "thread")) {
		pthread_barrier_wait(&barrier);
		pthread_barrier_wait(&barrier);
	}
}

static void *in_step(void *arg)
{
	for (unsigned i = 1; i <= 4; i++) {
		pthread_barrier_wait(&barrier);
		held[i + 8] = malloc(20000 + i);
		pthread_barrier_wait(&barrier);
	}
	return arg;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_own};
	pthread_t t;

	how = argc > 1 ? argv[1] : "plain";
	if (!strcmp(how, "own_later"))
		sigaction(SIGUSR1, &action, NULL);
	if (!strcmp(how, "sigusr2"))
		sig = SIGUSR2;
	if (!strcmp(how, "thread")) {
		pthread_barrier_init(&barrier, NULL, 2);
		pthread_create(&t, NULL, in_step, NULL);
	}
	held[0] = malloc(10001);
	step();
	raise(sig);
	held[1] = malloc(10002);
	held[4] = malloc(10012);
	step();
	raise(sig);
	held[2] = malloc(10003);
	free(held[0]); /* if it was recorded, so is its end, although recording is off or on */
	free(held[1]);
	held[4] = realloc(held[4], 10013);
	step();
	raise(sig);
	held[3] = malloc(10004);
	free(held[2]);
	held[4] = realloc(held[4], 10014);
	step();
	if (!strcmp(how, "thread"))
		pthread_join(t, NULL);
	printf("own handler ran %d times\n", (int)n_own);
	return 0;
}
