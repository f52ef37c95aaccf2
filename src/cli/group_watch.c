/* cli/group_watch.c - see group_watch.h. */
#include "cli/group_watch.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define N_SIGNALS 65 /* numbers 1 to 64 */

/* Takes the pending signals and counts them, except those of our parent. A signal that does not queue
 * counts once, as in every process. */
static void take_pending(const sigset_t *all, uint32_t count[N_SIGNALS])
{
	const struct timespec no_time = {0};
	siginfo_t info;

	while (sigtimedwait(all, &info, &no_time) > 0) {
		if (info.si_code <= 0 && info.si_pid == getppid())
			continue;
		count[info.si_signo] = info.si_signo < SIGRTMIN ? 1 : count[info.si_signo] + 1;
	}
}

/* By system call: libc has a function for it since 2.34 only, and kernels the call since 5.9. */
static void close_behind(int fd)
{
	long end = sysconf(_SC_OPEN_MAX);

	if (syscall(SYS_close_range, fd + 1, ~0u, 0) == 0)
		return;
	if (end < 0 || end > 65536)
		end = 65536;
	for (int i = fd + 1; i < end; i++)
		close(i);
}

/* The watcher: answers until the other end of the socket is closed. All other descriptors are closed,
 * so that no reader of a pipe waits for this process to end. */
__attribute__((noreturn)) static void answer(int fd)
{
	uint32_t count[N_SIGNALS] = {0};
	unsigned char byte;
	sigset_t all;

	if (dup3(fd, 0, 0) < 0)
		_exit(1);
	close_behind(0);
	prctl(PR_SET_NAME, "mem-prof-group");
	sigfillset(&all);
	while (read(0, &byte, 1) == 1 && byte < N_SIGNALS) {
		unsigned signal_number = byte;

		take_pending(&all, count);
		byte = count[signal_number] > 0;
		count[signal_number] -= byte;
		if (send(0, &byte, 1, MSG_NOSIGNAL) != 1)
			break;
	}
	_exit(0);
}

void group_watch_open(struct group_watch *w)
{
	int fds[2];
	pid_t pid;

	*w = GROUP_WATCH_NONE;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		return;
	pid = fork();
	if (pid == 0)
		answer(fds[1]);
	close(fds[1]);
	if (pid < 0)
		close(fds[0]);
	else
		*w = (struct group_watch){.pid = pid, .fd = fds[0]};
}

void group_watch_close(struct group_watch *w)
{
	if (w->pid <= 0)
		return;
	close(w->fd);
	kill(w->pid, SIGKILL);
	waitpid(w->pid, NULL, 0);
	*w = GROUP_WATCH_NONE;
}

bool group_watch_has(const struct group_watch *w, int signal_number)
{
	unsigned char byte = (unsigned char)signal_number;

	if (w->pid <= 0)
		return false;
	/* The kernel sends a signal to one process of a group after the other and holds a lock
	 * meanwhile: we may be awake before the watcher has the signal. setpgid() takes the same lock,
	 * so the watcher has the signal when it returns. The call changes nothing else, because the
	 * watcher is in our group already. */
	setpgid(w->pid, getpgrp());
	kill(w->pid, SIGCONT); /* the group may have been stopped and only we continued */
	return send(w->fd, &byte, 1, MSG_NOSIGNAL) == 1 && read(w->fd, &byte, 1) == 1 && byte;
}
