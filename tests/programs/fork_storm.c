/* fork_storm CHILDREN HOW [THREADS] - starts children one after the other while threads allocate.
 *
 * Each child allocates (where libc allows it), ends with status 42, and is waited for. HOW: fork,
 * clone (the bare system call), vfork, vfork_exec, spawn, system, popen, thread (each fork is made
 * by a new thread), threads_in_child (the child starts threads that allocate). A child that hangs
 * hangs the program: the caller has a time limit.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_THREADS 16
#define CLASS_BYTES 200 /* size class that main's cache holds ready for bare clones */
#define N_CACHED 5

static _Atomic int stop;
static _Atomic unsigned long n_allocated;
static const char *how;

static void *allocate_without_pause(void *arg)
{
	void *held[64] = {0};
	unsigned i;

	(void)arg;
	/* Always running, but not before the children: with two CPUs they would wait for ages. */
	setpriority(PRIO_PROCESS, (id_t)gettid(), 19);
	for (i = 0; !atomic_load_explicit(&stop, memory_order_relaxed); i++) {
		free(held[i % 64]);
		/* Mostly from the thread's cache: fork waits for every arena lock, and eight
		 * threads that hold them all the time starve it even without a recorder. */
		held[i % 64] = malloc(i % 16384 ? 10 + i % 64 * 15 : 2500);
	}
	for (unsigned k = 0; k < 64; k++)
		free(held[k]);
	atomic_fetch_add(&n_allocated, i);
	return NULL;
}

static void child_allocates(void)
{
	void *held[8];

	for (unsigned i = 0; i < 200; i++) {
		held[i % 8] = malloc(1 + i * 7);
		if (i % 8 == 7)
			for (unsigned k = 0; k < 8; k++)
				free(held[k]);
	}
	free(strdup("a child was here"));
}

/* After a bare clone libc's locks are as they were: only this thread's own cache is safe. */
static void child_allocates_from_cache(void)
{
	void *held[N_CACHED];

	for (unsigned i = 0; i < N_CACHED; i++)
		held[i] = malloc(CLASS_BYTES);
	for (unsigned i = 0; i < N_CACHED; i++)
		free(held[i]);
}

static void fill_cache(void)
{
	void *held[N_CACHED + 2];

	for (unsigned i = 0; i < N_CACHED + 2; i++)
		held[i] = malloc(CLASS_BYTES);
	for (unsigned i = 0; i < N_CACHED + 2; i++)
		free(held[i]);
}

static int wait_for(pid_t pid)
{
	int status = -1;

	if (pid <= 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return status;
}

static void *allocate_in_child(void *arg)
{
	child_allocates();
	return arg;
}

static int start_fork(void)
{
	pid_t pid = fork();
	pthread_t threads[3];

	if (pid == 0) {
		child_allocates();
		for (unsigned i = 0; !strcmp(how, "threads_in_child") && i < 3; i++) {
			pthread_create(&threads[i], NULL, allocate_in_child, NULL);
			pthread_join(threads[i], NULL);
		}
		_exit(42);
	}
	return wait_for(pid);
}

static int start_clone(void)
{
	long pid;

	fill_cache();
	pid = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	if (pid == 0) {
		child_allocates_from_cache();
		syscall(SYS_exit_group, 42);
	}
	return wait_for((pid_t)pid);
}

static int start_vfork(int and_exec)
{
	pid_t pid = vfork();

	if (pid == 0) {
		if (and_exec)
			execl("/bin/sh", "sh", "-c", "exit 42", (char *)NULL);
		_exit(42);
	}
	return wait_for(pid);
}

static int start_spawn(void)
{
	static char name[] = "sh", option[] = "-c", command[] = "exit 42";
	char *argv[] = {name, option, command, NULL};
	pid_t pid;

	if (posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, environ))
		return -1;
	return wait_for(pid);
}

static int start_popen(void)
{
	FILE *f = popen("echo out; exit 42", "r");
	char line[32];

	if (!f || !fgets(line, sizeof(line), f) || strcmp(line, "out\n"))
		return -1;
	return pclose(f);
}

static void *fork_in_thread(void *arg)
{
	*(int *)arg = start_fork();
	return NULL;
}

static int start_in_thread(void)
{
	pthread_t t;
	int status = -1;

	if (pthread_create(&t, NULL, fork_in_thread, &status))
		return -1;
	pthread_join(t, NULL);
	return status;
}

static int start_child(void)
{
	if (!strcmp(how, "fork") || !strcmp(how, "threads_in_child"))
		return start_fork();
	if (!strcmp(how, "clone"))
		return start_clone();
	if (!strcmp(how, "vfork"))
		return start_vfork(0);
	if (!strcmp(how, "vfork_exec"))
		return start_vfork(1);
	if (!strcmp(how, "spawn"))
		return start_spawn();
	if (!strcmp(how, "system"))
		return system("exit 42");
	if (!strcmp(how, "popen"))
		return start_popen();
	return start_in_thread();
}

int main(int argc, char **argv)
{
	unsigned n_threads = argc > 3 ? (unsigned)atoi(argv[3]) : 8;
	unsigned n_children = argc > 2 ? (unsigned)atoi(argv[1]) : 0, n_good = 0;
	pthread_t threads[MAX_THREADS];

	if (n_children == 0 || n_threads > MAX_THREADS)
		return 2;
	how = argv[2];
	for (unsigned i = 0; i < n_threads; i++)
		if (pthread_create(&threads[i], NULL, allocate_without_pause, NULL))
			return 1;
	for (unsigned i = 0; i < n_children; i++) {
		int status = start_child();

		if (status == 42 << 8)
			n_good++;
		else
			printf("child %u: status %x\n", i, (unsigned)status);
	}
	atomic_store(&stop, 1);
	for (unsigned i = 0; i < n_threads; i++)
		pthread_join(threads[i], NULL);
	printf("%u of %u children ended with 42\n", n_good, n_children);
	if (n_threads && !atomic_load(&n_allocated))
		printf("but the threads allocated nothing\n");
	return n_good == n_children ? 0 : 1;
}
