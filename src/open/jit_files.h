/* open/jit_files.h - finding what just-in-time compilers tell of their code: perf-PID.map, and the
 * jitdump jit-PID.dump. Those that the recording carries count; else those of this machine that the
 * recorded process may have written: of its number, and not older than the recording.
 */
#ifndef OPEN_JIT_FILES_H
#define OPEN_JIT_FILES_H

#include "recording/embedded.h"
#include "store/store.h"
#include "symbol/perf_map.h"

struct jit_files_options {
	const struct embedded *embedded; /* may be NULL */
	const char *temp_folder; /* for embedded_extract() */
	bool use_local_files;
};

/* Adds to m. Files that are not what their name says are passed over; fails when memory is out. */
int jit_files_load(struct perf_map *m, const struct store *store, const struct jit_files_options *o,
		   struct err *err);

#endif
