/* record/hooks_process.c - the ways a process multiplies or ends.
 *
 * Nothing needs to be saved when it ends: all events are in the file already. These hooks only
 * note how it ended, and give a forked child its own recording (or none) at once; children made
 * in other ways are noticed at their next event.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/capture.h"
#include "record/fork.h"
#include "record/real.h"
#include "record/sys.h"

extern char **environ;

static pid_t fork_by(pid_t (*real_fork)(void))
{
	struct fork_guard guard;
	pid_t pid;

	fork_prepare(&guard);
	pid = real_fork();
	if (pid == 0) {
		fork_in_child(&guard);
		return 0;
	}
	fork_in_parent(&guard);
	if (pid > 0)
		capture_note(EVENT_FORK, (uint64_t[]){(uint64_t)pid}, 1);
	return pid;
}

EXPORT pid_t fork(void)
{
	if (!real_is_ready())
		real_init();
	return fork_by(real.fork);
}

pid_t _Fork(void);

EXPORT pid_t _Fork(void)
{
	if (!real_is_ready())
		real_init();
	return fork_by(real._Fork ? real._Fork : real.fork);
}

/* A vfork child runs in our memory but is another process: its end is not ours. */
static bool is_recorded_process(void)
{
	struct recorder *rec = record_get();

	return rec && rec->pid == sys_getpid();
}

static void note_end(enum format_end_how how, int status)
{
	if (!real_is_ready())
		real_init();
	if (is_recorded_process())
		capture_note(EVENT_PROCESS_END, (uint64_t[]){how, (uint32_t)status}, 2);
}

EXPORT void _exit(int status)
{
	note_end(END_BY__EXIT, status);
	for (;;) {
		if (real._exit)
			real._exit(status);
		arch_syscall1(SYS_exit_group, status);
	}
}

EXPORT void _Exit(int status) __attribute__((alias("_exit")));

EXPORT void quick_exit(int status)
{
	note_end(END_BY_QUICK_EXIT, status);
	for (;;)
		real.quick_exit(status);
}

/* exec returns only when it failed. */
static int exec_failed(int result)
{
	int error = errno;

	if (is_recorded_process())
		capture_note(EVENT_EXEC_FAILED, (uint64_t[]){(uint32_t)error}, 1);
	errno = error;
	return result;
}

EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
	note_end(END_BY_EXEC, 0);
	return exec_failed(real.execve(path, argv, envp));
}

EXPORT int execv(const char *path, char *const argv[])
{
	note_end(END_BY_EXEC, 0);
	return exec_failed(real.execve(path, argv, environ));
}

EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
	note_end(END_BY_EXEC, 0);
	return exec_failed(real.execvpe(file, argv, envp));
}

EXPORT int execvp(const char *file, char *const argv[])
{
	note_end(END_BY_EXEC, 0);
	return exec_failed(real.execvpe(file, argv, environ));
}

EXPORT int fexecve(int fd, char *const argv[], char *const envp[])
{
	note_end(END_BY_EXEC, 0);
	return exec_failed(real.fexecve(fd, argv, envp));
}

EXPORT int execveat(int fd, const char *path, char *const argv[], char *const envp[], int flags)
{
	note_end(END_BY_EXEC, 0);
	return exec_failed(real.execveat(fd, path, argv, envp, flags));
}

/* The argument list of execl and its relatives, as an array on the stack; as long as it is. */
#define EXEC_LIST(first, args, argv)                                                               \
	size_t n_args = 1;                                                                         \
	va_list counting;                                                                          \
	va_copy(counting, args);                                                                   \
	while (va_arg(counting, char *))                                                           \
		n_args++;                                                                          \
	va_end(counting);                                                                          \
	char **argv = __builtin_alloca((n_args + 1) * sizeof(char *));                             \
	argv[0] = (char *)(uintptr_t)(first);                                                      \
	for (size_t i = 1; i <= n_args; i++)                                                       \
	argv[i] = va_arg(args, char *)

EXPORT int execl(const char *path, const char *arg, ...)
{
	va_list args;

	va_start(args, arg);
	EXEC_LIST(arg, args, argv);
	va_end(args);
	note_end(END_BY_EXEC, 0);
	return exec_failed(real.execve(path, argv, environ));
}

EXPORT int execlp(const char *file, const char *arg, ...)
{
	va_list args;

	va_start(args, arg);
	EXEC_LIST(arg, args, argv);
	va_end(args);
	note_end(END_BY_EXEC, 0);
	return exec_failed(real.execvpe(file, argv, environ));
}

EXPORT int execle(const char *path, const char *arg, ...)
{
	va_list args;
	char **envp;

	va_start(args, arg);
	EXEC_LIST(arg, args, argv);
	envp = va_arg(args, char **);
	va_end(args);
	note_end(END_BY_EXEC, 0);
	return exec_failed(real.execve(path, argv, envp));
}
