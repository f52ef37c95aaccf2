/* record/hooks_process.c - the ways in which a process multiplies or ends.
 *
 * Nothing needs to be saved when a process ends: all events are in the file already. These hooks
 * only record how it ended (ending.h), and give a forked child its own recording, or none, at once.
 * Children made in other ways are noticed at their next event.
 */
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/capture.h"
#include "record/ending.h"
#include "record/fork.h"
#include "record/hooks_signal.h"
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
		capture_standalone(EVENT_FORK, (uint64_t[]){(uint64_t)pid}, 1);
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

static struct recorder *find_recorder(void)
{
	if (!real_is_ready())
		real_init();
	return record_find_own();
}

/* A program that calls _exit() wants to be gone: it does not wait for the writer. */
EXPORT void _exit(int status)
{
	if (find_recorder())
		capture_standalone(EVENT_PROCESS_END, (uint64_t[]){END_BY__EXIT, (uint32_t)status},
				   2);
	for (;;) {
		if (real._exit)
			real._exit(status);
		arch_syscall1(SYS_exit_group, status);
	}
}

EXPORT void _Exit(int status) __attribute__((alias("_exit")));

EXPORT void quick_exit(int status)
{
	struct recorder *rec = find_recorder();

	if (rec)
		ending_begin(rec, END_BY_QUICK_EXIT, status);
	for (;;)
		real.quick_exit(status);
}

/* The program is about to become another one. It does not wait for the writer if the exec cannot
 * succeed for an obvious reason: some programs try one directory after another. path: NULL if it is
 * not known. */
static void before_exec(int folder_fd, const char *path)
{
	struct recorder *rec = find_recorder();

	hooks_signal_before_exec();
	if (!rec)
		return;
	if (!path || arch_syscall3(SYS_faccessat, folder_fd, path, X_OK) == 0)
		ending_begin(rec, END_BY_EXEC, 0);
	else
		capture_standalone(EVENT_PROCESS_END, (uint64_t[]){END_BY_EXEC, 0}, 2);
}

static void before_exec_in_path(const char *file)
{
	before_exec(AT_FDCWD, file[strcspn(file, "/")] ? file : NULL);
}

/* exec returns only when it failed. */
static int exec_failed(int result)
{
	int error = errno;
	struct recorder *rec = find_recorder();

	if (rec) {
		capture_standalone(EVENT_EXEC_FAILED, (uint64_t[]){(uint32_t)error}, 1);
		ending_take_back(rec);
	}
	errno = error;
	hooks_signal_after_failed_exec();
	return result;
}

EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
	before_exec(AT_FDCWD, path);
	return exec_failed(real.execve(path, argv, envp));
}

EXPORT int execv(const char *path, char *const argv[])
{
	before_exec(AT_FDCWD, path);
	return exec_failed(real.execve(path, argv, environ));
}

EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
	before_exec_in_path(file);
	return exec_failed(real.execvpe(file, argv, envp));
}

EXPORT int execvp(const char *file, char *const argv[])
{
	before_exec_in_path(file);
	return exec_failed(real.execvpe(file, argv, environ));
}

EXPORT int fexecve(int fd, char *const argv[], char *const envp[])
{
	before_exec(fd, NULL);
	return exec_failed(real.fexecve(fd, argv, envp));
}

EXPORT int execveat(int fd, const char *path, char *const argv[], char *const envp[], int flags)
{
	before_exec(fd, path[0] ? path : NULL);
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
	before_exec(AT_FDCWD, path);
	return exec_failed(real.execve(path, argv, environ));
}

EXPORT int execlp(const char *file, const char *arg, ...)
{
	va_list args;

	va_start(args, arg);
	EXEC_LIST(arg, args, argv);
	va_end(args);
	before_exec_in_path(file);
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
	before_exec(AT_FDCWD, path);
	return exec_failed(real.execve(path, argv, envp));
}

/* To stop sharing its memory is nothing for a process with one thread, but the kernel refuses it
 * for ours: the writer has the memory as well. */
EXPORT int unshare(int flags)
{
	int result, error = errno;

	if (!real_is_ready())
		real_init();
	result = real.unshare(flags);
	if (result == 0 || errno != EINVAL || !(flags & CLONE_VM) || !find_recorder())
		return result;
	errno = error;
	return real.unshare((flags & ~CLONE_VM) | CLONE_SIGHAND);
}
