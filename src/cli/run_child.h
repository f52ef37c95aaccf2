/* cli/run_child.h - runs a program so that it behaves as if it were started directly. */
#ifndef CLI_RUN_CHILD_H
#define CLI_RUN_CHILD_H

#include <sys/types.h>

#include "util/err.h"

struct run_child {
	pid_t pid;
	int status; /* as waitpid() gives it */
	int exec_errno; /* why the program could not be executed; 0 if it was */
};

/* Starts argv (found as execvp() finds it) in our process group and returns when it has ended.
 * Until then:
 * - A signal that a process sends to us alone is sent on to the child.
 * - A signal from the terminal, or to the whole process group, reaches the child directly and is not
 *   sent on.
 * - When the child stops, we stop as well; when we are continued, so is the child.
 * Returns 0 or -ERR_x. A failed exec is a success with exec_errno set. */
int run_child(char **argv, struct run_child *ret, struct err *err);

/* Ends this process as the child ended: with the same exit status, or by the same signal (without
 * writing a second core file). */
__attribute__((noreturn)) void run_child_end_like(const struct run_child *child);

#endif
