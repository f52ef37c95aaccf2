/* record/sandbox.h - programs that forbid themselves system calls (seccomp).
 *
 * A filter also holds for what the recorder does in the program's threads. (The writer is a process
 * of its own, which the filter does not reach.) A filter that kills would end a program that runs
 * without the recorder. So each filter is run beforehand on the calls that the recorder makes there.
 * Where it would do harm, the recording ends in order first, and says why (hooks_sandbox.c).
 */
#ifndef RECORD_SANDBOX_H
#define RECORD_SANDBOX_H

#include <linux/filter.h>

#include "base/compiler.h"

/* Would the recorder go on working under this filter? Reads the program's memory, as the kernel is
 * about to do. */
bool sandbox_is_harmless(const struct sock_fprog *filter);

/* Would the kernel carry out this system call (SYS_seccomp or SYS_prctl), which begins a sandbox?
 * A process that lives for this moment only tries the call. True also if no such process can be made.
 * Libraries make calls that must fail, to ask what the kernel supports: these begin nothing. */
bool sandbox_would_begin(long number, const unsigned long arg[5]);

#endif
