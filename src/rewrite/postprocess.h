/* rewrite/postprocess.h - a recording with names instead of binaries.
 *
 * All places in the code that its stacks name are resolved, with the embedded binaries, the files
 * of this machine and the debug files the user names; the names go into SYMBOLS chunks, the
 * embedded ELF files are dropped. Names that the recording carries already are kept. Reads the events
 * twice; memory depends on the number of stacks and what resolving takes.
 */
#ifndef REWRITE_POSTPROCESS_H
#define REWRITE_POSTPROCESS_H

#include "rewrite/anonymize.h"

struct postprocess_options {
	enum anonymize_level level;
	const char *const *debug_path; /* files and folders */
	size_t n_debug_paths;
	const char *scratch_folder; /* for embedded binaries, while they are looked at */
	bool use_debuginfod;
	bool use_only_recording; /* nothing of this machine but debug_path */
};

struct postprocess_result {
	uint64_t n_locations; /* in the code, that stacks name */
	uint64_t n_named; /* of these */
	uint64_t out_bytes; /* size of the new file */
};

/* in_path is that of r. Writes the file out_path. */
int postprocess_run(struct recording *r, const char *in_path,
		    const struct postprocess_options *options, const char *out_path,
		    struct postprocess_result *ret, struct err *err);

#endif
