/* cli/run_output.h - where the recordings of `run` go.
 *
 * The recorder makes each name from a pattern with placeholders (output_name.h). A run with several
 * processes needs the process in the name: app.dat becomes app_%e_%p.dat, and when the run has ended,
 * run_output_name() gives the name app.dat to the recording of the program that was meant.
 */
#ifndef CLI_RUN_OUTPUT_H
#define CLI_RUN_OUTPUT_H

#include <limits.h>

#include "util/err.h"

#define RUN_OUTPUT_VARIABLE "MEMORY_PROFILER_OUTPUT"
#define RUN_OUTPUT_BYTES (2 * PATH_MAX)

struct run_output {
	char pattern[RUN_OUTPUT_BYTES]; /* absolute; as the recorder gets it */
	char name[RUN_OUTPUT_BYTES]; /* the file that was asked for, if it is not the pattern; "" */
};

/* Makes the pattern from what was asked for (NULL: the variable, else the default), creates missing
 * folders, and puts the pattern into the environment. has_children: several processes are recorded.
 * -ERR_REFUSED or -ERR_IO: nothing could be written there. */
int run_output_set(const char *wanted, bool has_children, struct run_output *ret, struct err *err);

/* Renames the recording at path to o->name. An earlier file of that name is kept as NAME.old, or
 * NAME.old.1 and so on. Returns the path that the recording has now: o->name, or path if the name
 * cannot be had. */
const char *run_output_name(const struct run_output *o, const char *path);

#endif
