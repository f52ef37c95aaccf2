/* cli/target.h - can this program be recorded? Asked before it is started, to say why not. */
#ifndef CLI_TARGET_H
#define CLI_TARGET_H

#include "util/err.h"

#define TARGET_NOT_EXECUTABLE 126 /* exit status, as shells use it */
#define TARGET_NOT_FOUND 127

/* Looks for the command as execvp() does, follows scripts to their interpreter, and refuses what
 * the recorder cannot be loaded into. On failure *exit_status is what to end with. */
int target_check(const char *command, int *exit_status, struct err *err);

#endif
