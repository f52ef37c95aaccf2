/* threads_end HOW - threads that end in different ways; every one allocates and leaves some blocks.
 *
 * HOW: return, pthread_exit, cancel (while waiting), cancel_async (while computing), detached,
 * storm (2 000 short-lived ones), main_first (main ends by pthread_exit, the process with the last).
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *how;
static sem_t ready;
static pthread_key_t key;
static pthread_mutex_t print_lock = PTHREAD_MUTEX_INITIALIZER;

static void allocate(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		void *p = malloc(1 + i % 300);

		p = realloc(p, 2 + i % 300);
		free(p);
	}
}

static void on_cleanup(void *block)
{
	free(block);
	allocate(10);
}

/* Runs when the thread ends, and twice more because it sets the key again. */
static void on_key(void *value)
{
	uintptr_t n = (uintptr_t)value;

	allocate(20);
	free(strdup("from a key's destructor"));
	if (n > 1)
		pthread_setspecific(key, (void *)(n - 1));
	else if (!strcmp(how, "detached"))
		sem_post(&ready);
}

static void wait_or_compute(void)
{
	static volatile unsigned long sink;

	sem_post(&ready);
	if (!strcmp(how, "cancel_async")) {
		pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
		for (;;)
			sink++;
	}
	for (;;)
		pause();
}

static void *thread_main(void *arg)
{
	void *block = malloc(777);

	pthread_setspecific(key, (void *)3);
	allocate(100);
	if (!strncmp(how, "cancel", 6)) {
		pthread_cleanup_push(on_cleanup, block);
		wait_or_compute();
		pthread_cleanup_pop(0);
	}
	free(block);
	if (!strcmp(how, "pthread_exit"))
		pthread_exit(arg);
	return arg;
}

static int run_some(unsigned n)
{
	unsigned canceled = 0, returned = 0;
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	if (!strcmp(how, "detached"))
		pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	for (unsigned i = 0; i < n; i++) {
		void *result = NULL;
		pthread_t t;

		if (pthread_create(&t, &attr, thread_main, &how))
			return 1;
		if (!strcmp(how, "detached") || !strncmp(how, "cancel", 6))
			sem_wait(&ready);
		if (!strcmp(how, "detached"))
			continue;
		if (!strncmp(how, "cancel", 6))
			pthread_cancel(t);
		pthread_join(t, &result);
		canceled += result == PTHREAD_CANCELED;
		returned += result == &how;
	}
	printf("%u canceled, %u returned\n", canceled, returned);
	return 0;
}

static int run_storm(void)
{
	pthread_t threads[20];

	for (unsigned round = 0; round < 100; round++) {
		for (unsigned i = 0; i < 20; i++)
			if (pthread_create(&threads[i], NULL, thread_main, NULL))
				return 1;
		for (unsigned i = 0; i < 20; i++)
			pthread_join(threads[i], NULL);
	}
	printf("2000 threads\n");
	return 0;
}

static void *late_worker(void *arg)
{
	unsigned n = (unsigned)(uintptr_t)arg;

	for (unsigned i = 0; i < n * 10; i++) {
		nanosleep(&(struct timespec){.tv_nsec = 10 * 1000 * 1000}, NULL);
		allocate(100);
	}
	pthread_mutex_lock(&print_lock);
	printf("worker %u ends\n", n);
	fflush(stdout);
	pthread_mutex_unlock(&print_lock);
	return NULL;
}

static void end_main_first(void)
{
	pthread_t t;

	for (uintptr_t i = 1; i <= 3; i++)
		if (pthread_create(&t, NULL, late_worker, (void *)i))
			exit(1);
	allocate(1000);
	printf("main ends\n");
	fflush(stdout);
	pthread_exit(NULL);
}

int main(int argc, char **argv)
{
	how = argc > 1 ? argv[1] : "return";
	sem_init(&ready, 0, 0);
	pthread_key_create(&key, on_key);
	if (!strcmp(how, "main_first"))
		end_main_first();
	if (!strcmp(how, "storm"))
		return run_storm();
	return run_some(40);
}
