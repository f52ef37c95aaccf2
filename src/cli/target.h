/* cli/target.h - can a program be recorded? Checked before the start, so that `run` can say why not.
 */
#ifndef CLI_TARGET_H
#define CLI_TARGET_H

#include "util/err.h"

#define TARGET_NOT_EXECUTABLE 126 /* exit status, as shells use it */
#define TARGET_NOT_FOUND 127

/* Searches the command as execvp() does, follows a script to its interpreter, and refuses a program
 * that the recorder cannot be loaded into. Returns 0, or -ERR_x with the exit status for the
 * command in *exit_status. */
int target_check(const char *command, int *exit_status, struct err *err);

#endif
