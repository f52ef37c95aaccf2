/* record/hooks_signal.h - the handler of the recorder for SIGUSR1 and SIGUSR2, which the program does not
 * see.
 *
 * The recorder installs its handler before the program begins. Where the program asks what a signal
 * does, by sigaction() or by what signal() returns, it gets what it would get without us. A handler
 * that the program installs replaces ours for good. What cannot be hidden: the signal does not end
 * the program as long as our handler is there, and /proc/PID/status shows that it is caught.
 */
#ifndef RECORD_HOOKS_SIGNAL_H
#define RECORD_HOOKS_SIGNAL_H

/* Calls toggle, which must be safe in signal handlers, for each signal of this number; then the handler
 * that was there before, as the kernel would have called it. */
void hooks_signal_register(int signal_number, void (*toggle)(void));

/* A signal that was ignored when the program began is ignored by the program that it executes, too.
 * Afterwards, if the exec failed, errno stays. */
void hooks_signal_before_exec(void);
void hooks_signal_after_failed_exec(void);

#endif
