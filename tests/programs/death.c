/* death COUNTERS THREADS HOW [DELAY_US] - allocates in threads without pause, then dies.
 *
 * COUNTERS is a file (made here, mapped shared, so it survives any death) with a struct counters
 * per thread. A thread raises a counter after the call it counts has returned, and nothing else
 * allocates in these threads, so a recording that holds every returned call has at most one more.
 * HOW: wait (until killed), kill, term, abort, segv, trap, _exit, _Exit, quick_exit, exit, return,
 * exec, exec_failing, exec_garbage (tries to execute COUNTERS.program, then kill), thread_exec.
 * DELAY_US after the threads began.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAX_THREADS 16
#define N_HELD 61

struct counters {
	_Atomic uint64_t tid; /* 0 until the thread runs */
	_Atomic uint64_t allocations;
	_Atomic uint64_t reallocations;
	_Atomic uint64_t frees;
	uint64_t zero[4];
};

static struct counters *all;
static const char *how;
static char garbage[4096];
static _Atomic int worker_should_die;
static volatile char *volatile nowhere = (volatile char *)8;

static void bump(_Atomic uint64_t *counter)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1,
			      memory_order_release);
}

static void *worker(void *arg)
{
	struct counters *c = arg;
	void *held[N_HELD] = {0};
	void *bigger;
	uint32_t r = (uint32_t)gettid();

	atomic_store(&c->tid, (uint64_t)gettid());
	for (unsigned i = 0;; i = (i + 1) % N_HELD) {
		r = r * 1664525 + 1013904223;
		if (held[i] && (r >> 28) == 0) {
			bigger = realloc(held[i], 16 + (r >> 20) % 1000);
			held[i] = bigger;
			bump(&c->reallocations);
			continue;
		}
		if (held[i]) {
			free(held[i]);
			bump(&c->frees);
		}
		held[i] = (r >> 27) & 1 ? malloc(1 + (r >> 20) % 500) : calloc(2, (r >> 20) % 300);
		bump(&c->allocations);
		memset(held[i], 1, 1);
		if (atomic_load_explicit(&worker_should_die, memory_order_relaxed)) {
			if (!strcmp(how, "thread_exec"))
				execl("/bin/true", "true", (char *)NULL);
			*nowhere = 1;
		}
	}
	return NULL;
}

/* On a busy machine a thread may not have run at all by then: a death that comes by itself waits
 * until each has done something. */
static void let_threads_work(unsigned n_threads, unsigned delay_us)
{
	usleep(delay_us);
	for (unsigned i = 0; i < n_threads; i++)
		while (delay_us >= 10000 && all[i].allocations < 200)
			usleep(1000);
}

static void die(unsigned n_threads, unsigned delay_us)
{
	if (!strcmp(how, "wait"))
		for (;;)
			pause();
	let_threads_work(n_threads, delay_us);
	if (!strcmp(how, "kill"))
		kill(getpid(), SIGKILL);
	else if (!strcmp(how, "term"))
		kill(getpid(), SIGTERM);
	else if (!strcmp(how, "abort"))
		abort();
	else if (!strcmp(how, "segv") || !strcmp(how, "thread_exec"))
		worker_should_die = 1;
	else if (!strcmp(how, "trap"))
		__builtin_trap();
	else if (!strcmp(how, "_exit"))
		_exit(3);
	else if (!strcmp(how, "_Exit"))
		_Exit(4);
	else if (!strcmp(how, "quick_exit"))
		quick_exit(5);
	else if (!strcmp(how, "exit"))
		exit(6);
	else if (!strcmp(how, "exec"))
		execl("/bin/true", "true", (char *)NULL);
	else if (!strcmp(how, "exec_failing")) {
		execl("/nonexistent/program", "program", (char *)NULL);
		usleep(delay_us);
		_exit(8);
	} else if (!strcmp(how, "exec_garbage")) {
		execl(garbage, "program", (char *)NULL);
		execl(garbage, "program", (char *)NULL);
		usleep(delay_us);
		kill(getpid(), SIGKILL);
	} else if (!strcmp(how, "return"))
		return;
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	unsigned n_threads = argc > 3 ? (unsigned)atoi(argv[2]) : 0;
	pthread_t t;
	int fd;

	if (n_threads < 1 || n_threads > MAX_THREADS) {
		fprintf(stderr, "usage: death COUNTERS THREADS HOW [DELAY_US]\n");
		return 2;
	}
	how = argv[3];
	snprintf(garbage, sizeof(garbage), "%s.program", argv[1]);
	fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, MAX_THREADS * sizeof(*all)) < 0)
		return 2;
	all = mmap(NULL, MAX_THREADS * sizeof(*all), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (all == MAP_FAILED)
		return 2;
	for (unsigned i = 0; i < n_threads; i++)
		if (pthread_create(&t, NULL, worker, &all[i]))
			return 2;
	if (write(1, "running\n", 8) != 8) /* whoever kills us may wait for it */
		return 2;
	die(n_threads, argc > 4 ? (unsigned)atoi(argv[4]) : 0);
	return 7;
}
