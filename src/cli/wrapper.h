/* cli/wrapper.h - commands that only start the program that is meant: shells, env, nice, sudo ...
 *
 * `run` records what such a command starts, too, and reports on that.
 */
#ifndef CLI_WRAPPER_H
#define CLI_WRAPPER_H

#include "util/err.h"

/* Is the program at this path a shell or another command that starts what its arguments name? */
bool wrapper_is_one(const char *path);

/* Does the command start its program with another environment, without LD_PRELOAD (sudo, doas)? */
bool wrapper_clears_environment(const char *path);

/* The number of the argument that is the program which `sudo` or `doas` starts; 0: there is none. */
size_t wrapper_find_program(char **argv);

/* argv with `env NAME=VALUE ...` in front of the program at index program, so that LD_PRELOAD and all
 * MEMORY_PROFILER_* variables reach it. Free the result with free(); the strings of argv are borrowed
 * and the assignments are owned by it. ERR_MEMORY. */
int wrapper_add_environment(char **argv, size_t program, char ***ret, struct err *err);

#endif
