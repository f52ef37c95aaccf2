/* rewrite/postprocess.h - makes a recording with names of functions instead of binaries.
 *
 * Resolves all locations in the code that the stacks of a recording name, with the embedded
 * binaries, the files of this machine and the debug files that the user names. Writes the names
 * into SYMBOLS chunks, and drops the embedded ELF files. Names that the recording carries already
 * are kept. Reads the events twice. Memory depends on the number of stacks and on what resolving
 * takes. Threads: one.
 */
#ifndef REWRITE_POSTPROCESS_H
#define REWRITE_POSTPROCESS_H

#include "rewrite/anonymize.h"

struct postprocess_options {
	enum anonymize_level level;
	const char *const *debug_path; /* files and folders */
	size_t n_debug_paths;
	const char *scratch_folder; /* for embedded binaries, while they are used */
	bool use_debuginfod;
	bool use_only_recording; /* and debug_path, nothing else of this machine */
};

struct postprocess_result {
	uint64_t n_locations; /* in the code that stacks name */
	uint64_t n_named; /* of these, those with a name */
	uint64_t out_bytes; /* size of the new file */
};

/* Writes the file out_path. in_path is the path of r. Errors: ERR_IO, ERR_MEMORY, ERR_LIMIT; no
 * file is left. */
int postprocess_run(struct recording *r, const char *in_path,
		    const struct postprocess_options *options, const char *out_path,
		    struct postprocess_result *ret, struct err *err);

#endif
