/* counts_children - a subreaper kills its children while they start, and counts what wait() returns. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define N_CHILDREN 200

int main(void)
{
	unsigned n_known = 0, n_strange = 0;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	for (unsigned i = 0; i < N_CHILDREN; i++) {
		pid_t child = fork(), got;

		while (child == 0)
			free(malloc(10));
		for (volatile unsigned k = 0; k < i * 600; k++)
			;
		kill(child, SIGKILL);
		while ((got = wait(NULL)) > 0) {
			n_known += got == child;
			n_strange += got != child;
		}
	}
	printf("%u children, %u strange\n", n_known, n_strange);
	return 0;
}
