/* cli/recorder_lib.h - where libmemory_profiler.so is, and putting it into LD_PRELOAD. */
#ifndef CLI_RECORDER_LIB_H
#define CLI_RECORDER_LIB_H

#include "util/err.h"

/* Looks beside this program, then where an installation puts it, and sets LD_PRELOAD in our own
 * environment, for the program to inherit. What is in LD_PRELOAD stays, behind it. */
int recorder_lib_preload(struct err *err);

#endif
