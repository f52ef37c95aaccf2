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

#include "record/allocators.h"
#include "record/ending.h"
#include "record/own_memory.h"
#include "record/real.h"
#include "record/sandbox.h"
#include "record/start.h"
#include "record/writer.h"
#include "unwind/unwind.h"

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

/* The program makes a system call that may begin a sandbox; or that only asks, or fails. */
static void before_strict_mode(long number, const unsigned long arg[5])
{
	if (sandbox_would_begin(number, arg))
		give_up("the program permitted itself no system calls (seccomp)");
}

/* The recorder of this process does without some system calls from now on. */
static void do_without(unsigned effects, struct recorder *rec)
{
	if (effects & SANDBOX_NO_COPIES)
		unwind_use_no_copies();
	if (effects & SANDBOX_NO_FILES) {
		unwind_use_no_files();
		allocators_use_no_files();
	}
	if (effects & SANDBOX_NO_WIPING)
		own_memory_stay_in_children();
	start_never_in_children();
	atomic_store(&rec->is_confined, 1);
}

static void before_filter(const struct sock_fprog *filter, long number, const unsigned long arg[5])
{
	unsigned effects = filter && filter->filter ? sandbox_effects(filter) : SANDBOX_HARMLESS;
	struct recorder *rec;

	if (effects && !sandbox_would_begin(number, arg))
		effects = SANDBOX_HARMLESS;
	rec = record_find_own();
	if (effects & SANDBOX_FATAL || (effects && !rec)) {
		give_up("the program forbade itself system calls that recording needs (seccomp)");
		return;
	}
	if (effects)
		do_without(effects, rec);
	if (rec)
		writer_stay(rec);
}

/* A new writer would have the filter. This must make no system call. */
static void after_filter(void)
{
	struct recorder *rec = record_get();

	if (rec)
		atomic_store(&rec->is_sandboxed, 1);
}

EXPORT int prctl(int option, ...)
{
	unsigned long arg[5] = {(unsigned long)option};
	va_list args;
	int result;

	va_start(args, option);
	for (unsigned i = 1; i < ARRAY_LEN(arg); i++)
		arg[i] = va_arg(args, unsigned long);
	va_end(args);
	if (!real_is_ready())
		real_init();
	if (option == PR_SET_SECCOMP && arg[1] == SECCOMP_MODE_STRICT)
		before_strict_mode(SYS_prctl, arg);
	else if (option == PR_SET_SECCOMP && arg[1] == SECCOMP_MODE_FILTER)
		before_filter((const void *)arg[2], SYS_prctl, arg);
	result = real.prctl(option, arg[1], arg[2], arg[3], arg[4]);
	if (option == PR_SET_SECCOMP && result == 0)
		after_filter();
	return result;
}

long hook_syscall(long number, ...)
{
	long arg[6], result;
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
			before_strict_mode(SYS_seccomp, (unsigned long *)arg);
		else if (arg[0] == SECCOMP_SET_MODE_FILTER)
			before_filter((const void *)arg[2], SYS_seccomp, (unsigned long *)arg);
		break;
	default:
		break;
	}
	result = real.syscall(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
	if (number == SYS_seccomp && arg[0] <= SECCOMP_SET_MODE_FILTER && result >= 0)
		after_filter();
	return result;
}
