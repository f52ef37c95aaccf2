/* open/jit_files.h - finds the files in which just-in-time compilers describe their code.
 *
 * These are perf-PID.map, the jitdump jit-PID.dump, and the ELF images that the recorder copied
 * (record/jit_images.h). Files that the recording carries are used
 * first. Otherwise files of this machine that the recorded process may have written: with its
 * process id, and not older than the recording.
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

/* Adds the functions of these files to m. Skips files that are not what their name says.
 * ERR_MEMORY. */
int jit_files_load(struct perf_map *m, const struct store *store, const struct jit_files_options *o,
		   struct err *err);

#endif
