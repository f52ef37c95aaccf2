/* recording/embedded.h - the files that a recording carries: binaries, and other files that were
 * embedded.
 *
 * embedded_open() walks the headers of the chunks and lists where the pieces of files are. Contents
 * are read and decompressed by embedded_extract(). Threads: after opening, any number of readers.
 */
#ifndef RECORDING_EMBEDDED_H
#define RECORDING_EMBEDDED_H

#include "recording/metadata.h"

struct embedded; /* opaque: defined in embedded.c */

/* Opens a recording for its files only. Files in damaged ranges are missing; that is no error.
 * Errors name the path. */
int embedded_open(const char *path, struct embedded **ret, struct err *err);

/* The same with several pieces of one recording. Pieces that cannot be read are left out; an error
 * if that is all of them. */
int embedded_open_pieces(const char *const *path, size_t n_paths, struct embedded **ret,
			 struct err *err);
void embedded_close(struct embedded *e); /* NULL does nothing */

/* Does the recording carry names of functions (open/symbol_table.h)? */
bool embedded_has_symbols(const struct embedded *e);

/* The complete files: their number, and file i, borrowed until embedded_close(). */
size_t embedded_count(const struct embedded *e);
const struct metadata_file *embedded_get(const struct embedded *e, size_t i);

/* Finds the complete file of a module, by its id, or else by path and build id. If build_id is
 * empty only the id counts. NULL when there is none. */
const struct metadata_file *embedded_find_module(const struct embedded *e, uint64_t file_id,
						 const char *path, const uint8_t *build_id,
						 size_t build_id_bytes);

/* Writes a file to a temporary file without a name, in folder. *ret: its descriptor, which the
 * caller closes. ERR_FORMAT: a piece is damaged. ERR_IO, ERR_MEMORY. */
int embedded_extract(const struct embedded *e, const struct metadata_file *file, const char *folder,
		     int *ret, struct err *err);

#endif
