/* record/hooks_wait.c - a program whose orphans come back to it does not see the writers among them.
 *
 * Process 1 of a container and a subreaper (PR_SET_CHILD_SUBREAPER) become the parent of each orphan. When
 * a recorded child ends, its writer, which goes on for a moment, is such an orphan, and wait() would
 * return a process that the program never made. Programs count what wait() returns. So there the hooks
 * look first, without taking anything (WNOWAIT), and take the writers themselves. A signal SIGCHLD for
 * a writer still comes.
 *
 * What asks for one process or one group is passed on: writers are in groups of their own.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/text.h"
#include "record/options.h"
#include "record/real.h"
#include "record/record.h"
#include "record/sys.h"

/* May writers of other processes be children of this process? */
static bool gets_writers(void)
{
	struct recorder *rec;
	int is_subreaper = 0;

	if (!real_is_ready())
		real_init();
	if (!options_active.TRACK_CHILD_PROCESSES || !real.waitid || !real.wait4)
		return false;
	rec = record_find_own();
	if (!rec || atomic_load(&rec->is_sandboxed)) /* a filter may kill for what follows */
		return false;
	if (rec->pid == 1)
		return true;
	arch_syscall2(SYS_prctl, PR_GET_CHILD_SUBREAPER, &is_subreaper);
	return is_subreaper;
}

/* Is the process that ended a writer? Until somebody takes it, /proc has its name. */
static bool is_writer(const siginfo_t *si)
{
	static const char writer[] = WRITER_PROCESS_NAME "\n";
	char path[64], name[32] = {0};
	struct text text = text_make(path, sizeof(path));

	if (si->si_code != CLD_EXITED || si->si_status)
		return false;
	text_put(&text, "/proc/");
	text_put_u64(&text, (uint64_t)si->si_pid);
	text_put(&text, "/comm");
	return sys_read_file(path, name, sizeof(name) - 1) > 0 && !strcmp(name, writer);
}

/* Finds a process for the program as waitid() does, and leaves it there. 0, with si_pid 0 if there is
 * none (WNOHANG), or -1 and errno. */
static int find(siginfo_t *si, int options)
{
	for (;;) {
		memset(si, 0, sizeof(*si));
		if (real.waitid(P_ALL, 0, si, options | WNOWAIT) < 0)
			return -1;
		if (!si->si_pid || !is_writer(si))
			return 0;
		arch_syscall4(SYS_wait4, si->si_pid, NULL, __WALL | WNOHANG, NULL);
	}
}

static pid_t wait_for_any(int *status, int options, struct rusage *usage)
{
	int error = errno;
	siginfo_t si;
	pid_t pid;

	for (;;) {
		if (find(&si, options | WEXITED) < 0)
			return -1;
		if (!si.si_pid)
			return 0;
		pid = real.wait4(si.si_pid, status, options | WNOHANG, usage);
		if (pid > 0 || (pid < 0 && errno != ECHILD))
			return pid;
		errno = error; /* another thread took the process */
	}
}

EXPORT pid_t wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
	if (pid != -1 || !gets_writers()) {
		if (!real_is_ready())
			real_init();
		return real.wait4(pid, status, options, usage);
	}
	return wait_for_any(status, options, usage);
}

EXPORT pid_t wait3(int *status, int options, struct rusage *usage)
{
	return wait4(-1, status, options, usage);
}

EXPORT pid_t waitpid(pid_t pid, int *status, int options)
{
	return wait4(pid, status, options, NULL);
}

EXPORT pid_t wait(int *status)
{
	return wait4(-1, status, 0, NULL);
}

EXPORT int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	int error = errno;
	siginfo_t si;

	if (type != P_ALL || !gets_writers()) {
		if (!real_is_ready())
			real_init();
		return real.waitid(type, id, info, options);
	}
	for (;;) {
		if (find(&si, options) < 0)
			return -1;
		if (si.si_pid && !(options & WNOWAIT)) {
			pid_t pid = si.si_pid;

			si.si_pid = 0;
			if (real.waitid(P_PID, (id_t)pid, &si, options | WNOHANG) < 0 &&
			    errno != ECHILD)
				return -1;
			errno = error;
			if (!si.si_pid)
				continue; /* another thread took the process */
		}
		if (info)
			*info = si;
		return 0;
	}
}
