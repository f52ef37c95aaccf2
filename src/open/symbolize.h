/* open/symbolize.h - the resolver of store/frames.h: codes of a store to functions and lines.
 *
 * In this order: names that the recording carries ready-made (postprocess), the binaries embedded in
 * it, the files of this machine with the same build id and their debug files, and for code without
 * a module the tables that just-in-time compilers write. Modules are worked on in parallel, each by
 * one thread, those with most to do first.
 *
 * Everything is opened when the first name is asked for: a report whose names are all cached does
 * not touch the recording.
 */
#ifndef OPEN_SYMBOLIZE_H
#define OPEN_SYMBOLIZE_H

#include "store/frames.h"

struct symbolize_options {
	const char *const *debug_path; /* files and folders the user named; borrowed */
	size_t n_debug_paths;
	bool use_debuginfod;
	bool use_only_recording; /* nothing of this machine but debug_path: for tests and postprocess */
	unsigned n_threads; /* 0: as many as there are CPUs, at most SYMBOLIZE_MAX_THREADS */
	bool show_progress; /* on a terminal, when it takes time */
	const char *temp_folder; /* for embedded binaries; NULL: temp_file_folder() */
};

#define SYMBOLIZE_MAX_THREADS 8 /* each may need SYMBOL_MAX_INDEX_BYTES */

struct symbolize; /* opaque: defined in symbolize.c */

/* recording_path and options are copied (what options point to is borrowed), store is borrowed. */
int symbolize_create(const char *recording_path, const struct store *store,
		     const struct symbolize_options *options, struct symbolize **ret,
		     struct err *err);
void symbolize_destroy(struct symbolize *s); /* NULL does nothing */

/* A frames_resolve; user is the struct symbolize. */
int symbolize_resolve(void *user, struct frames *f, const uint32_t *code, size_t n,
		      struct err *err);

#endif
