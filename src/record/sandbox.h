/* record/sandbox.h - programs that forbid themselves system calls (seccomp).
 *
 * A filter counts for what the recorder does in the program's threads as well, and with
 * SECCOMP_FILTER_FLAG_TSYNC for the writer. One that kills for it would end a program that lives
 * without us. So each is tried out beforehand on the calls that we need, and where it would harm,
 * the recording ends in order first; it says why.
 */
#ifndef RECORD_SANDBOX_H
#define RECORD_SANDBOX_H

#include <linux/filter.h>

#include "base/compiler.h"

/* Would the recorder go on working under this filter? with_writer: does it count for the writer?
 * Reads the program's memory as the kernel is about to. */
bool sandbox_is_harmless(const struct sock_fprog *filter, bool with_writer);

#endif
