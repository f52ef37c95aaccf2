/* rewrite/extract.h - writes the files that a recording carries to a folder.
 *
 * Below the folder each file has the path that it had on the recorded machine, made safe: no "..",
 * no control characters, only UTF-8, and no symbolic link is followed. Files with equal paths get
 * the suffixes .1, .2 ... Only complete files are written. Threads: one.
 */
#ifndef REWRITE_EXTRACT_H
#define REWRITE_EXTRACT_H

#include "recording/recording.h"

#define EXTRACT_PATH_BYTES 4096

enum extract_outcome {
	EXTRACT_WRITTEN,
	EXTRACT_INCOMPLETE, /* the recording does not hold all of it */
	EXTRACT_EXISTS, /* there is such a file already, and it may not be replaced */
};

struct extract_file {
	const struct metadata_file *file;
	const char *path; /* where it is now, or would be */
	enum extract_outcome outcome;
};

struct extract_options {
	const char *folder; /* made if it does not exist */
	bool replaces; /* existing files are replaced */
	void (*on_file)(void *user, const struct extract_file *f); /* after each; may be NULL */
	void *user;
};

/* Writes all files. ERR_IO when one cannot be read or written, ERR_MEMORY. */
int extract_run(const struct recording *r, const struct extract_options *options, struct err *err);

/* Makes a path of len bytes safe and relative, in buf. If nothing remains of it, buf gets fallback:
 * it is never empty. */
void extract_safe_path(const char *path, size_t len, const char *fallback,
		       char buf[EXTRACT_PATH_BYTES]);

#endif
