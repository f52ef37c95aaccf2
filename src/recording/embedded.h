/* recording/embedded.h - the files that a recording carries: binaries, and what else was embedded.
 *
 * Opening walks the headers of the chunks and notes where the pieces are; contents are read and
 * decompressed when a file is taken out. Threads: after opening, any number of readers.
 */
#ifndef RECORDING_EMBEDDED_H
#define RECORDING_EMBEDDED_H

#include "recording/metadata.h"

struct embedded; /* opaque: defined in embedded.c */

/* Opens the recording for its files only. Damage is passed over: files that lie in it are missing.
 * Errors name the path. */
int embedded_open(const char *path, struct embedded **ret, struct err *err);
void embedded_close(struct embedded *e); /* NULL does nothing */

/* Does the recording carry names ready-made (open/symbol_table.h)? */
bool embedded_has_symbols(const struct embedded *e);

/* The complete files, borrowed until embedded_close(). */
size_t embedded_count(const struct embedded *e);
const struct metadata_file *embedded_get(const struct embedded *e, size_t i);

/* The complete file of a module: by its id, or by path and build id (build_id may be empty, then
 * only the id counts). NULL when there is none. */
const struct metadata_file *embedded_find_module(const struct embedded *e, uint64_t file_id,
						 const char *path, const uint8_t *build_id,
						 size_t build_id_bytes);

/* Writes a file into a temporary one without a name, in folder; *ret is the caller's to close.
 * ERR_FORMAT when a piece is damaged. */
int embedded_extract(const struct embedded *e, const struct metadata_file *file, const char *folder,
		     int *ret, struct err *err);

#endif
