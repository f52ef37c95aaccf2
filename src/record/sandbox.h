/* record/sandbox.h - programs that forbid themselves system calls (seccomp).
 *
 * A filter also holds for what the recorder does in the program's threads, and with
 * SECCOMP_FILTER_FLAG_TSYNC for the writer. A filter that kills would end a program that runs
 * without the recorder. So each filter is run beforehand on the calls that the recorder makes.
 * Where it would do harm, the recording ends in order first, and says why (hooks_sandbox.c).
 */
#ifndef RECORD_SANDBOX_H
#define RECORD_SANDBOX_H

#include <linux/filter.h>

#include "base/compiler.h"

/* Would the recorder go on working under this filter? with_writer: the filter also holds for the
 * writer. Reads the program's memory, as the kernel is about to do. */
bool sandbox_is_harmless(const struct sock_fprog *filter, bool with_writer);

#endif
