/* record/sandbox.h - programs that forbid themselves system calls (seccomp).
 *
 * A filter also holds for what the recorder does in the program's threads. (The writer is a process
 * of its own, which the filter does not reach.) A filter that kills would end a program that runs
 * without the recorder. So each filter is run beforehand on the calls that the recorder makes there.
 * Where it would do harm, the recorder does without the call from then on, or the recording ends in
 * order first, and says why (hooks_sandbox.c).
 */
#ifndef RECORD_SANDBOX_H
#define RECORD_SANDBOX_H

#include <linux/filter.h>

#include "base/compiler.h"

/* What the recorder must do without in the program's threads. */
enum sandbox_effect {
	SANDBOX_HARMLESS = 0,
	SANDBOX_NO_COPIES = 1, /* process_vm_readv() */
	SANDBOX_NO_FILES = 2, /* openat() and what follows it */
	SANDBOX_NO_WIPING = 4, /* madvise(MADV_WIPEONFORK) */
	SANDBOX_FATAL = 8, /* something that it cannot do without */
};

/* Bits of enum sandbox_effect: what this filter would harm. Reads the program's memory, as the kernel
 * is about to do. */
unsigned sandbox_effects(const struct sock_fprog *filter);

/* Would the kernel carry out this system call (SYS_seccomp or SYS_prctl), which begins a sandbox?
 * A process that lives for this moment only tries the call. True also if no such process can be made.
 * Libraries make calls that must fail, to ask what the kernel supports: these begin nothing. */
bool sandbox_would_begin(long number, const unsigned long arg[5]);

#endif
