/* record/hooks_sandbox.c - the ways in which a program puts itself into a sandbox; see sandbox.h.
 *
 * syscall() is passed on by a jump (arch/<cpu>/syscall_tail.S). Only the few calls that have a hook
 * under a name of their own come here.
 */
#include <errno.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "record/ending.h"
#include "record/real.h"
#include "record/sandbox.h"
#include "record/start.h"

extern long (*hook_real_syscall)(long, ...);
long hook_syscall(long number, ...);
int prctl(int option, ...);
int unshare(int flags);

long (*hook_real_syscall)(long, ...);

/* Ends the recording, or makes sure that none begins. In this process only: a vfork child, which
 * runs in the memory of its parent, is another. */
static void give_up(const char *why)
{
	struct recorder *rec = record_find_own();

	if (rec)
		ending_give_up(rec, why);
	else if (!record_get())
		start_never();
}

static void before_strict_mode(void)
{
	give_up("the program permits itself no system calls (seccomp)");
}

/* A filter that the kernel will refuse counts as harmful. */
static void before_filter(const struct sock_fprog *filter, unsigned long flags)
{
	if (filter && filter->filter &&
	    !sandbox_is_harmless(filter, flags & SECCOMP_FILTER_FLAG_TSYNC))
		give_up("the program forbids itself system calls that recording needs (seccomp)");
}

EXPORT int prctl(int option, ...)
{
	unsigned long arg[4];
	va_list args;

	va_start(args, option);
	for (unsigned i = 0; i < ARRAY_LEN(arg); i++)
		arg[i] = va_arg(args, unsigned long);
	va_end(args);
	if (!real_is_ready())
		real_init();
	if (option == PR_SET_SECCOMP && arg[0] == SECCOMP_MODE_STRICT)
		before_strict_mode();
	else if (option == PR_SET_SECCOMP && arg[0] == SECCOMP_MODE_FILTER)
		before_filter((const void *)arg[1], 0);
	return real.prctl(option, arg[0], arg[1], arg[2], arg[3]);
}

long hook_syscall(long number, ...)
{
	long arg[6];
	va_list args;

	va_start(args, number);
	for (unsigned i = 0; i < ARRAY_LEN(arg); i++)
		arg[i] = va_arg(args, long);
	va_end(args);
	if (!real_is_ready())
		real_init();
	hook_real_syscall = real.syscall;
	switch (number) {
	case SYS_unshare:
		return unshare((int)arg[0]);
	case SYS_prctl:
		return prctl((int)arg[0], arg[1], arg[2], arg[3], arg[4]);
	case SYS_seccomp:
		if (arg[0] == SECCOMP_SET_MODE_STRICT)
			before_strict_mode();
		else if (arg[0] == SECCOMP_SET_MODE_FILTER)
			before_filter((const void *)arg[2], (unsigned long)arg[1]);
		break;
	default:
		break;
	}
	return real.syscall(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}
