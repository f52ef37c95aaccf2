/* serve/source_file.h - the text of a source file, where this machine has it.
 *
 * Recordings name sources as the compiler wrote them, often of another machine. Rules say where they are:
 *	FROM=TO		a path that begins with FROM (whole parts of it) has TO instead
 *	DIR		the path lies below DIR, without as many of its first parts as it takes:
 *			/build/app/src/x.c is DIR/build/app/src/x.c, DIR/app/src/x.c, DIR/src/x.c
 * Tried in this order: each FROM=TO, each DIR, the path as it is if it is absolute, and at last each DIR with the
 * name of the file alone. The first regular file counts.
 *
 * A recording may come from anybody, and the server from someone who may read more than its clients: without a rule
 * a file is read only if it has the name of a source (x.c, .../include/vector), and whatever the rule, parts such
 * as ".." never lead out of DIR or TO. The caller makes sure that the recording names the file at all.
 *
 * Threads: any number.
 */
#ifndef SERVE_SOURCE_FILE_H
#define SERVE_SOURCE_FILE_H

#include "util/err.h"

#define SOURCE_FILE_MAX_BYTES ((size_t)4 << 20)
#define SOURCE_FILE_PATH_BYTES 4096

struct source_rules {
	const char *const *rule; /* borrowed */
	size_t n;
};

struct source_file {
	char path[SOURCE_FILE_PATH_BYTES]; /* where it was found */
	char *text; /* owned; NULL: not found */
	size_t len;
	uint64_t changed_ns; /* since 1970 */
	char reason[160]; /* why there is no text; "" when there is */
};

/* Finds and reads it. Not being there is no error: reason says so. Only ERR_MEMORY. */
int source_file_read(const struct source_rules *r, const char *source, struct source_file *ret,
		     struct err *err);
void source_file_fini(struct source_file *f);

/* Is this a rule: does the folder exist? ERR_USAGE. */
int source_file_check_rule(const char *rule, struct err *err);

#endif
