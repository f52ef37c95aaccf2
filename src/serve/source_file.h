/* serve/source_file.h - the text of a source file, if this machine has it.
 *
 * A recording names sources as the compiler wrote them, often on another machine. Rules say where
 * the files are:
 *	FROM=TO		TO replaces FROM at the start of a path (whole parts only)
 *	DIR		the path lies below DIR, without some of its first parts:
 *			/build/app/src/x.c is DIR/build/app/src/x.c, DIR/app/src/x.c, DIR/src/x.c
 * The candidates are tried in this order; the first regular file counts:
 *  1. each FROM=TO
 *  2. each DIR
 *  3. the path as it is, if it is absolute
 *  4. each DIR with the name of the file alone
 *
 * Security: a recording may come from anybody, and the server may have more rights than its
 * clients.
 *  - Without a rule, a file is read only if it has the name of a source (x.c, .../include/vector).
 *  - With any rule, parts such as ".." never lead out of DIR or TO.
 *  - The caller checks that the recording names the file at all.
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
	char path[SOURCE_FILE_PATH_BYTES]; /* path of the file that was read */
	char *text; /* owned; NULL: not found */
	size_t len;
	uint64_t changed_ns; /* since 1970 */
	char reason[160]; /* why there is no text; "" if there is one */
};

/* Finds and reads a source. A missing file is no error: `reason` says why. The only error is
 * ERR_MEMORY. */
int source_file_read(const struct source_rules *r, const char *source, struct source_file *ret,
		     struct err *err);
void source_file_fini(struct source_file *f);

/* Checks a rule. ERR_USAGE: its folder does not exist. */
int source_file_check_rule(const char *rule, struct err *err);

#endif
