/* rewrite/extract.h - writes the files embedded in a recording to a folder.
 *
 * Below the folder they have the path that they had on the recorded machine, made harmless: no
 * "..", no control characters, nothing that is not UTF-8, and no symbolic link is followed. Files
 * with equal names get .1, .2 ... behind them. Only files that are complete are written.
 */
#ifndef REWRITE_EXTRACT_H
#define REWRITE_EXTRACT_H

#include "recording/recording.h"

#define EXTRACT_PATH_BYTES 4096

enum extract_outcome {
	EXTRACT_WRITTEN,
	EXTRACT_INCOMPLETE, /* the recording does not hold all of it */
	EXTRACT_EXISTS, /* there is such a file already, and it was not to be replaced */
};

struct extract_file {
	const struct metadata_file *file;
	const char *path; /* where it went, or would have gone */
	enum extract_outcome outcome;
};

struct extract_options {
	const char *folder; /* made if it does not exist */
	bool replaces; /* existing files are replaced */
	void (*on_file)(void *user, const struct extract_file *f); /* after each; may be NULL */
	void *user;
};

/* Fails when something cannot be read or written. */
int extract_run(const struct recording *r, const struct extract_options *options, struct err *err);

/* path (len bytes) made harmless, relative, never empty; in buf. fallback is used when nothing
 * remains of it. */
void extract_safe_path(const char *path, size_t len, const char *fallback,
		       char buf[EXTRACT_PATH_BYTES]);

#endif
