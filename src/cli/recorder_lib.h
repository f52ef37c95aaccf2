/* cli/recorder_lib.h - finds libmemory_profiler.so and puts it into LD_PRELOAD. */
#ifndef CLI_RECORDER_LIB_H
#define CLI_RECORDER_LIB_H

#include "util/err.h"

/* Searches the library beside this program, then where an installation puts it, and sets LD_PRELOAD
 * in the environment of this process, for the program to inherit. The present value of LD_PRELOAD
 * follows the library. Returns 0 or -ERR_x. */
int recorder_lib_preload(struct err *err);

#endif
