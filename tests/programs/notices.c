/* notices - tells all that a program can see of a recorder without looking for one by name: tasks,
 * children, what wait() finds, what only a process with one thread may do. "subreaper": orphans come
 * to it, and it does not ask with __WALL.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void show_tasks(const char *when)
{
	DIR *d = opendir("/proc/self/task");
	char line[256];
	FILE *f;
	int n = 0;

	for (struct dirent *e; d && (e = readdir(d));)
		n += e->d_name[0] != '.';
	if (d)
		closedir(d);
	printf("%s: %d tasks\n", when, n);
	f = fopen("/proc/self/status", "r");
	while (f && fgets(line, sizeof(line), f)) {
		if (!strncmp(line, "Threads:", 8) || !strncmp(line, "SigBlk:", 7))
			fputs(line, stdout);
	}
	if (f)
		fclose(f);
}

static void show_children(void)
{
	char path[64], line[256] = "";
	int n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	f = fopen(path, "r");
	if (f && fgets(line, sizeof(line), f)) {
		for (char *p = line; *p; p++)
			n += *p == ' ';
	}
	if (f)
		fclose(f);
	printf("%d children\n", n);
}

static void show_wait(const char *name, pid_t pid, int flags)
{
	int status = 0;
	pid_t got = waitpid(pid, &status, flags);

	printf("%s: %s, %d\n", name,
	       got > 0    ? "a child"
	       : got == 0 ? "none has ended"
			  : strerror(errno),
	       status);
}

static void show_any_wait(int is_subreaper)
{
	siginfo_t info;

	show_wait("waitpid(-1)", -1, 0);
	show_wait("waitpid(-1, WNOHANG)", -1, WNOHANG);
	show_wait("waitpid(0)", 0, 0);
	if (!is_subreaper)
		show_wait("waitpid(__WALL)", -1, __WALL);
	printf("waitid: %s\n", waitid(P_ALL, 0, &info, WEXITED) ? strerror(errno) : "a child");
}

static void show_raw_unshare(int flags)
{
	pid_t pid = fork();

	if (pid == 0) {
		void *p = malloc(100);
		long ret = syscall(SYS_getpid) == getpid() ? 0 : -1;

#if defined(__x86_64__)
		__asm__ volatile("syscall"
				 : "=a"(ret)
				 : "a"(SYS_unshare), "D"((long)flags)
				 : "rcx", "r11", "memory");
#endif
		free(p);
		_exit(ret ? 1 : 0);
	}
	show_wait("child that unshares", pid, 0);
}

static void on_signal(int number)
{
	(void)number;
}

int main(int argc, char **argv)
{
	int is_subreaper = argc > 1 && !strcmp(argv[1], "subreaper");
	char name[] = "true";
	char *child_argv[] = {name, NULL};
	struct sigaction action;
	pid_t pid;

	setvbuf(stdout, NULL, _IONBF, 0);
	show_tasks("at the start");
	show_children();
	show_any_wait(is_subreaper);
	printf("system: %d\n", system("exit 3"));
	if (posix_spawn(&pid, "/bin/true", NULL, NULL, child_argv, environ) == 0)
		show_wait("spawned", pid, 0);
	pid = vfork();
	if (pid == 0)
		_exit(4);
	show_wait("vforked", -1, 0);
	pid = fork();
	if (pid == 0) {
		free(malloc(1000));
		_exit(getppid() == 1 ? 6 : 5);
	}
	show_wait("forked", -1, 0);
	show_any_wait(is_subreaper);
	show_raw_unshare(CLONE_NEWUSER);
	show_raw_unshare(CLONE_THREAD);
	signal(SIGTERM, on_signal);
	kill(0, SIGTERM); /* the group, which is this process alone */
	sigaction(SIGTERM, NULL, &action);
	printf("handler kept: %d\n", action.sa_handler == on_signal);
	show_tasks("at the end");
	show_children();
	return 7;
}
