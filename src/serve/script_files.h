/* serve/script_files.h - the files that scripts wrote, kept in memory for a while.
 *
 * Scripts in the server have no files: what they save is kept here, and has an address with a hash of
 * its bytes. The least recently used files are dropped when all together have more than
 * SCRIPT_FILES_MAX_BYTES, or are more than SCRIPT_FILES_MAX. Threads: any.
 */
#ifndef SERVE_SCRIPT_FILES_H
#define SERVE_SCRIPT_FILES_H

#include <stdio.h>

#include "util/err.h"

#define SCRIPT_FILES_MAX 256u
#define SCRIPT_FILES_MAX_BYTES ((size_t)64 << 20)
#define SCRIPT_FILES_HASH_BYTES 33 /* 32 hexadecimal digits and a zero */

struct script_files; /* opaque: defined in script_files.c */
int script_files_create(struct script_files **ret, struct err *err);
void script_files_destroy(struct script_files *f); /* NULL does nothing */

/* Keeps len bytes, and takes them over (free()) also on failure. hash becomes the text for
 * script_files_write(). */
int script_files_add(struct script_files *f, char *bytes, size_t len,
		     char hash[SCRIPT_FILES_HASH_BYTES], struct err *err);

/* Writes a file to out. ERR_USAGE: there is none with this hash (any more). */
int script_files_write(struct script_files *f, const char *hash, FILE *out, struct err *err);

#endif
