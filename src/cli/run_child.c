/* cli/run_child.c - see run_child.h.
 *
 * The child stays in our process group, so the terminal treats the two processes as one job. We block
 * all signals and take them one by one with sigwaitinfo(), which also says who sent them.
 */
#include "cli/run_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/group_watch.h"

#define SETTLE_NS 10000000L /* after which a stopped child counts as staying stopped */

/* Our signal settings at the start, which the child gets back. */
struct saved_signals {
	sigset_t mask;
	struct sigaction child_action;
};

/* Blocks all signals, for sigwaitinfo(), except those of our own crashes. */
static void block_signals(struct saved_signals *saved)
{
	static const int deadly[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
	const struct sigaction standard = {.sa_handler = SIG_DFL};
	sigset_t set;

	sigfillset(&set);
	for (size_t i = 0; i < ARRAY_LEN(deadly); i++)
		sigdelset(&set, deadly[i]);
	/* If SIGCHLD were ignored, waitpid() could not get the child's status. */
	sigaction(SIGCHLD, &standard, &saved->child_action);
	sigprocmask(SIG_SETMASK, &set, &saved->mask);
}

/* In the child: executes the program, or writes the errno of exec to the pipe. */
__attribute__((noreturn)) static void become(char **argv, const struct saved_signals *saved,
					     int pipe_fd)
{
	int exec_errno;

	sigaction(SIGCHLD, &saved->child_action, NULL);
	sigprocmask(SIG_SETMASK, &saved->mask, NULL);
	execvp(argv[0], argv);
	exec_errno = errno;
	while (write(pipe_fd, &exec_errno, sizeof(exec_errno)) < 0 && errno == EINTR)
		;
	_exit(127);
}

static int start(char **argv, const struct saved_signals *saved, struct run_child *ret,
		 struct err *err)
{
	int fds[2];
	ssize_t n;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_set_errno(err, errno, "cannot create a pipe");
	ret->pid = fork();
	if (ret->pid < 0) {
		int fork_errno = errno;

		close(fds[0]);
		close(fds[1]);
		return err_set_errno(err, fork_errno, "cannot start a process");
	}
	if (ret->pid == 0)
		become(argv, saved, fds[1]);
	close(fds[1]);
	do
		n = read(fds[0], &ret->exec_errno, sizeof(ret->exec_errno));
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(ret->exec_errno))
		ret->exec_errno = 0; /* a successful exec closed the pipe */
	close(fds[0]);
	return 0;
}

/* Waits a moment, then asks the kernel whether the child is stopped. */
static bool is_still_stopped(pid_t pid)
{
	const struct timespec pause = {.tv_nsec = SETTLE_NS};
	char path[64], line[512];
	const char *name_end;
	FILE *f;
	bool result = false;

	nanosleep(&pause, NULL);
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	if (fgets(line, sizeof(line), f)) {
		name_end = strrchr(line, ')'); /* the name may contain ')' */
		result = name_end && name_end[1] == ' ' && name_end[2] == 'T';
	}
	fclose(f);
	return result;
}

/* Takes the child's changes of state: stops us when the child has stopped. True if the child has
 * ended. */
static bool follow_child(struct run_child *child)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(child->pid, &status, WNOHANG | WUNTRACED)) > 0) {
		if (!WIFSTOPPED(status)) {
			child->status = status;
			return true;
		}
		if (is_still_stopped(child->pid))
			raise(SIGSTOP); /* the shell sees a stopped job */
	}
	if (pid < 0 && errno == ECHILD) {
		child->status = 0;
		return true;
	}
	return false;
}

/* Sends the signal on to the child, unless the child gets it directly: from the terminal, from the
 * kernel, or because the signal was sent to the process group and the child is still in it. */
static void pass_on(const struct run_child *child, const struct group_watch *watch,
		    const siginfo_t *info)
{
	bool is_from_process = info->si_code <= 0; /* SI_USER, SI_QUEUE, SI_TKILL ... */
	bool was_for_group = group_watch_has(watch, info->si_signo);

	if (was_for_group && getpgid(child->pid) == getpgrp())
		return;
	if (info->si_signo == SIGCONT || (is_from_process && info->si_pid != child->pid))
		kill(child->pid, info->si_signo);
}

int run_child(char **argv, struct run_child *ret, struct err *err)
{
	struct group_watch watch;
	struct saved_signals saved;
	sigset_t all;
	siginfo_t info;
	int r;

	*ret = (struct run_child){0};
	block_signals(&saved);
	group_watch_open(&watch);
	r = start(argv, &saved, ret, err);
	sigfillset(&all);
	while (r == 0 && !follow_child(ret)) {
		int signal_number = sigwaitinfo(&all, &info);

		if (signal_number > 0 && signal_number != SIGCHLD)
			pass_on(ret, &watch, &info);
	}
	group_watch_close(&watch);
	sigaction(SIGCHLD, &saved.child_action, NULL);
	return r;
}

void run_child_end_like(const struct run_child *child)
{
	const struct rlimit no_core = {0, 0};
	int signal_number;
	sigset_t set;

	fflush(NULL);
	if (!WIFSIGNALED(child->status))
		exit(WEXITSTATUS(child->status));
	signal_number = WTERMSIG(child->status);
	setrlimit(RLIMIT_CORE, &no_core);
	signal(signal_number, SIG_DFL);
	raise(signal_number);
	sigemptyset(&set);
	sigaddset(&set, signal_number);
	sigprocmask(SIG_UNBLOCK, &set, NULL); /* the signal arrives here */
	exit(128 + signal_number);
}
