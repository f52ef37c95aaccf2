/* cli/target.h - can a program be recorded? Checked before the start, so that `run` can say why not.
 */
#ifndef CLI_TARGET_H
#define CLI_TARGET_H

#include "util/err.h"

#define TARGET_NOT_EXECUTABLE 126 /* exit status, as shells use it */
#define TARGET_NOT_FOUND 127

struct target {
	int exit_status; /* for the command, if the target is refused */
	bool is_wrapper; /* it starts the program that is meant: a shell, env, nice ... (wrapper.h) */
};

/* Searches the command as execvp() does, follows a script to its interpreter, and refuses a program
 * that the recorder cannot be loaded into. Returns 0, or -ERR_x with ret->exit_status. */
int target_check(const char *command, struct target *ret, struct err *err);

#endif
