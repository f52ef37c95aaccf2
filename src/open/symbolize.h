/* open/symbolize.h - the resolver of store/frames.h: from codes of a store to functions and lines.
 *
 * It looks for names in this order:
 *   1. names that the recording carries (symbol_table.h);
 *   2. the binaries embedded in the recording;
 *   3. files of this machine with the same build id, and their debug files;
 *   4. for code in no module, the files of just-in-time compilers (jit_files.h).
 *
 * Modules are resolved in parallel, each by one thread, the modules with the most codes first. A
 * module's symbols and debug information stay open for the next names, up to 64 modules and 128 MiB.
 * Everything is opened when the first name is asked for: a report whose names are all cached does
 * not touch the recording. Threads: one caller at a time.
 */
#ifndef OPEN_SYMBOLIZE_H
#define OPEN_SYMBOLIZE_H

#include "store/frames.h"

struct symbolize_options {
	const char *const *debug_path; /* files and folders the user named; borrowed */
	size_t n_debug_paths;
	bool use_debuginfod;
	bool use_only_recording; /* and debug_path, nothing else of this machine */
	unsigned n_threads; /* 0: as many as there are CPUs, at most SYMBOLIZE_MAX_THREADS */
	bool show_progress; /* on a terminal, when resolving takes long */
	const char *const *piece; /* the other pieces of the recording; borrowed */
	size_t n_pieces; /* 0: they are looked for in the folder of the recording */
	const char *temp_folder; /* for embedded binaries; NULL: temp_file_folder() */
};

#define SYMBOLIZE_MAX_THREADS 8 /* each may need SYMBOL_MAX_INDEX_BYTES */

struct symbolize; /* opaque: defined in symbolize.c */

/* recording_path and options are copied (what options point to is borrowed), store is borrowed. */
int symbolize_create(const char *recording_path, const struct store *store,
		     const struct symbolize_options *options, struct symbolize **ret,
		     struct err *err);
void symbolize_destroy(struct symbolize *s); /* NULL does nothing */

/* The callback frames_resolve; user is the struct symbolize. ERR_MEMORY. */
int symbolize_resolve(void *user, struct frames *f, const uint32_t *code, size_t n,
		      struct err *err);

#endif
