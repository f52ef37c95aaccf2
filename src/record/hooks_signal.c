/* record/hooks_signal.c - see hooks_signal.h. */
#define _GNU_SOURCE
#include "record/hooks_signal.h"

#include <errno.h>
#include <signal.h>

#include "record/real.h"

static struct sigaction previous[2]; /* of SIGUSR1 and SIGUSR2 */
static void (*toggles[2])(void);

static unsigned index_of(int signal_number)
{
	return signal_number == SIGUSR2;
}

static void on_signal(int signal_number, siginfo_t *info, void *context)
{
	const struct sigaction *before = &previous[index_of(signal_number)];
	int error = errno;

	toggles[index_of(signal_number)]();
	errno = error;
	if (before->sa_flags & SA_SIGINFO) {
		if (before->sa_sigaction)
			before->sa_sigaction(signal_number, info, context);
	} else if (before->sa_handler != SIG_DFL && before->sa_handler != SIG_IGN) {
		before->sa_handler(signal_number);
	}
}

static bool is_ours(int signal_number, const struct sigaction *action)
{
	return (signal_number == SIGUSR1 || signal_number == SIGUSR2) &&
	       (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == on_signal;
}

static bool is_ignored(const struct sigaction *action)
{
	return !(action->sa_flags & SA_SIGINFO) && action->sa_handler == SIG_IGN;
}

static void install(int signal_number)
{
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};

	sigemptyset(&action.sa_mask);
	real.sigaction(signal_number, &action, NULL);
}

void hooks_signal_register(int signal_number, void (*toggle)(void))
{
	struct sigaction *before = &previous[index_of(signal_number)];

	if (real.sigaction(signal_number, NULL, before) != 0 || is_ours(signal_number, before))
		return;
	toggles[index_of(signal_number)] = toggle;
	install(signal_number);
}

static void ignore_for_exec(int signal_number)
{
	struct sigaction now;

	if (toggles[index_of(signal_number)] && is_ignored(&previous[index_of(signal_number)]) &&
	    real.sigaction(signal_number, NULL, &now) == 0 && is_ours(signal_number, &now))
		real.sigaction(signal_number, &previous[index_of(signal_number)], NULL);
}

void hooks_signal_before_exec(void)
{
	ignore_for_exec(SIGUSR1);
	ignore_for_exec(SIGUSR2);
}

static void handle_again(int signal_number)
{
	struct sigaction now;

	if (toggles[index_of(signal_number)] && is_ignored(&previous[index_of(signal_number)]) &&
	    real.sigaction(signal_number, NULL, &now) == 0 && is_ignored(&now))
		install(signal_number);
}

void hooks_signal_after_failed_exec(void)
{
	int error = errno;

	handle_again(SIGUSR1);
	handle_again(SIGUSR2);
	errno = error;
}

int __sigaction(int signal_number, const struct sigaction *action, struct sigaction *old) __THROW;
sighandler_t bsd_signal(int signal_number, sighandler_t handler) __THROW;

EXPORT int sigaction(int signal_number, const struct sigaction *action, struct sigaction *old)
{
	int ret;

	if (!real_is_ready())
		real_init();
	ret = real.sigaction(signal_number, action, old);
	if (ret == 0 && old && is_ours(signal_number, old))
		*old = previous[index_of(signal_number)];
	return ret;
}

EXPORT int __sigaction(int signal_number, const struct sigaction *action, struct sigaction *old)
	__attribute__((alias("sigaction")));

/* The kernel's answer in the form of signal(): the handler, whichever its form is. */
static sighandler_t hide(int signal_number, sighandler_t old)
{
	struct sigaction action = {.sa_flags = SA_SIGINFO};

	action.sa_handler = old;
	return is_ours(signal_number, &action) ? previous[index_of(signal_number)].sa_handler : old;
}

EXPORT sighandler_t signal(int signal_number, sighandler_t handler)
{
	if (!real_is_ready())
		real_init();
	return hide(signal_number, real.signal(signal_number, handler));
}

EXPORT sighandler_t bsd_signal(int signal_number, sighandler_t handler)
	__attribute__((alias("signal")));
EXPORT sighandler_t ssignal(int signal_number, sighandler_t handler)
	__attribute__((alias("signal")));

sighandler_t __sysv_signal(int signal_number, sighandler_t handler);

EXPORT sighandler_t __sysv_signal(int signal_number, sighandler_t handler)
{
	if (!real_is_ready())
		real_init();
	return hide(signal_number, (real.__sysv_signal ? real.__sysv_signal
						       : real.signal)(signal_number, handler));
}

EXPORT sighandler_t sysv_signal(int signal_number, sighandler_t handler)
	__attribute__((alias("__sysv_signal")));

EXPORT sighandler_t sigset(int signal_number, sighandler_t handler)
{
	if (!real_is_ready())
		real_init();
	return hide(signal_number,
		    (real.sigset ? real.sigset : real.signal)(signal_number, handler));
}
