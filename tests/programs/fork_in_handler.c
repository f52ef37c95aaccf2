/* fork_in_handler CHILDREN - a timer's handler forks while the main loop allocates.
 *
 * The handler interrupts malloc and free at any instruction. The children end at once: what libc
 * was doing is half done in them.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t n_good, n_bad;

/* One shot at a time: a period shorter than the handler would leave the main loop no time at all. */
static void set_alarm(void)
{
	static unsigned n;
	struct itimerval once = {{0, 0}, {0, 300 + (n++ * 7919) % 700}};

	setitimer(ITIMER_REAL, &once, NULL);
}

static void on_alarm(int sig)
{
	pid_t pid = fork();
	int status = -1;

	(void)sig;
	if (pid == 0)
		_exit(42);
	if (pid > 0 && waitpid(pid, &status, 0) == pid && status == 42 << 8)
		n_good++;
	else
		n_bad++;
	set_alarm();
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	struct itimerval never = {{0, 0}, {0, 0}};
	int n_children = argc > 1 ? atoi(argv[1]) : 100;
	void *held[64] = {0};
	unsigned i;

	sigaction(SIGALRM, &action, NULL);
	set_alarm();
	for (i = 0; n_good + n_bad < n_children; i++) {
		free(held[i % 64]);
		held[i % 64] = malloc(1 + i % 3000);
		memset(held[i % 64], 1, 1 + i % 3000);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	for (unsigned k = 0; k < 64; k++)
		free(held[k]);
	printf("%s\n", n_bad ? "a child failed" : "all children ended with 42");
	return n_bad != 0;
}
