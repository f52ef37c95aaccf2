/* open/symbol_table.h - finds the names of functions that a recording itself carries.
 *
 * `postprocess` puts them there. They come before names found elsewhere, because they were resolved
 * with the right files at hand. Threads: after loading, any number of readers.
 */
#ifndef OPEN_SYMBOL_TABLE_H
#define OPEN_SYMBOL_TABLE_H

#include "open/symbols_chunk.h"
#include "recording/recording.h"

struct symbol_table; /* opaque: defined in symbol_table.c */

/* Reads the SYMBOLS chunks of r; fast when it has none. Malformed chunks are reported in r->damage.
 * ERR_IO or ERR_MEMORY. */
int symbol_table_load(struct recording *r, struct symbol_table **ret, struct err *err);
void symbol_table_destroy(struct symbol_table *t); /* NULL does nothing */

/* Finds the frames of a location (see struct symbols_location), innermost first, borrowed from the
 * table. *n_frames may be 0. False: the recording says nothing about the location. */
bool symbol_table_find(const struct symbol_table *t, uint64_t module_id, uint64_t offset,
		       const struct symbol_frame **ret, size_t *n_frames);

#endif
