/* cli/run_child.h - running a program as if we were not there: signals, stops, exit status. */
#ifndef CLI_RUN_CHILD_H
#define CLI_RUN_CHILD_H

#include <sys/types.h>

#include "util/err.h"

struct run_child {
	pid_t pid;
	int status; /* as of waitpid() */
	int exec_errno; /* the program could not be executed; 0: it was */
};

/* Starts argv (found as execvp() does), stays until it ends, passes on what arrives:
 * signals sent to us by a process go to the child; those that the terminal sends, or that somebody
 * sends to the whole process group, it gets itself.
 * When the child is stopped we stop, too, and continue with it.
 */
int run_child(char **argv, struct run_child *ret, struct err *err);

/* Ends this process the way the child did: same exit status, or death by the same signal (without
 * a second core file). Does not return. */
__attribute__((noreturn)) void run_child_end_like(const struct run_child *child);

#endif
