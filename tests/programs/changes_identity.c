/* changes_identity chroot FOLDER | changes_identity setuid UID - allocates before and after. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static unsigned long allocate(unsigned n)
{
	unsigned long sum = 0;

	for (unsigned i = 0; i < n; i++) {
		unsigned char *p = malloc(1 + i % 800);

		memset(p, (int)i, 1 + i % 800);
		sum += *p;
		free(p);
	}
	return sum;
}

static void *thread_main(void *arg)
{
	*(unsigned long *)arg = allocate(50000);
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned long sum = allocate(50000), sum_of_thread = 0;
	pthread_t t;
	int failed;

	if (argc != 3)
		return 2;
	if (!strcmp(argv[1], "chroot"))
		failed = chroot(argv[2]) || chdir("/");
	else
		failed = setgroups(0, NULL) || setgid((gid_t)atoi(argv[2])) ||
			 setuid((uid_t)atoi(argv[2]));
	if (failed) {
		printf("failed: %s\n", strerror(errno));
		return 1;
	}
	sum += allocate(50000);
	/* A thread that begins now has to find its place in the recording as well. */
	if (pthread_create(&t, NULL, thread_main, &sum_of_thread) || pthread_join(t, NULL))
		return 1;
	printf("uid %d, sum %lu, of thread %lu\n", (int)getuid(), sum, sum_of_thread);
	printf("open: %s\n", open("/etc/shadow", 0) < 0 ? strerror(errno) : "allowed");
	return 0;
}
