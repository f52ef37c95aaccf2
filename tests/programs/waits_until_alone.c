/* waits_until_alone - process 1 of a pid namespace waits until no other process is left there.
 *
 * As sandbox programs do (firejail). It allocates before, while it waits and afterwards, more than
 * fits into a few blocks of a recording, and executes `true` if an argument says so. Prints what
 * happened. Exit status 2: the kernel refuses namespaces.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define N_BLOCKS 60000
#define N_LOOKS 1000 /* of 10 ms each */

static void work(void)
{
	void *block[100] = {0};

	for (unsigned i = 0; i < N_BLOCKS; i++) {
		free(block[i % 100]);
		block[i % 100] = malloc(1 + i % 3000);
	}
	for (unsigned i = 0; i < 100; i++)
		free(block[i]);
}

static int wait_until_alone(void)
{
	const struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};

	for (unsigned i = 0; i < N_LOOKS; i++) {
		free(malloc(1000));
		while (waitpid(-1, NULL, WNOHANG) > 0) /* orphans, as every process 1 does */
			;
		if (kill(-1, 0) && errno == ESRCH)
			return 1;
		nanosleep(&pause, NULL);
	}
	return 0;
}

static int first_process(int executes)
{
	pid_t child;

	work();
	child = fork();
	if (!child) {
		work();
		_exit(3);
	}
	waitpid(child, NULL, 0);
	printf("process %d: %s\n", (int)getpid(), wait_until_alone() ? "alone" : "not alone");
	work();
	printf("%s\n", wait_until_alone() ? "alone" : "not alone");
	fflush(stdout);
	if (executes)
		execlp("true", "true", (char *)NULL);
	return 5;
}

int main(int argc, char **argv)
{
	int status;
	pid_t child;

	(void)argv;
	work();
	if (unshare(geteuid() ? CLONE_NEWUSER | CLONE_NEWPID : CLONE_NEWPID))
		return 2;
	child = fork();
	if (!child)
		exit(first_process(argc > 1));
	waitpid(child, &status, 0);
	printf("its status: %d\n", WEXITSTATUS(status));
	return 0;
}
