/* small_stacks - threads with the smallest stack there is use every allocator function. */
#define _GNU_SOURCE
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void use_all(void)
{
	void *p = NULL;

	free(malloc(10));
	free(calloc(3, 5));
	free(realloc(malloc(20), 3000));
	free(reallocarray(NULL, 10, 10));
	free(memalign(64, 10));
	free(aligned_alloc(64, 64));
	free(valloc(1));
	free(pvalloc(1));
	if (posix_memalign(&p, 32, 32) == 0)
		free(p);
	free(realloc(malloc(200000), 400000));
	malloc_trim(0);
}

/* A few frames down, as real code would be; 16 KiB do not allow many. */
static int down(int depth)
{
	volatile char frame[64];

	memset((char *)frame, depth, sizeof(frame));
	if (depth)
		return down(depth - 1) + (frame[3] == depth);
	for (int i = 0; i < 200; i++)
		use_all();
	return 0;
}

static void *thread_main(void *arg)
{
	*(int *)arg = down(10);
	return NULL;
}

int main(void)
{
	pthread_attr_t attr;
	int sum = 0;

	pthread_attr_init(&attr);
	if (pthread_attr_setstacksize(&attr, (size_t)sysconf(_SC_THREAD_STACK_MIN)) &&
	    pthread_attr_setstacksize(&attr, 16384))
		return 1;
	for (int i = 0; i < 50; i++) {
		pthread_t t;
		int result = 0;
		int r = pthread_create(&t, &attr, thread_main, &result);

		if (r) {
			printf("pthread_create: %s\n", strerror(r));
			return 1;
		}
		pthread_join(t, NULL);
		sum += result;
	}
	printf("%d\n", sum);
	return 0;
}
