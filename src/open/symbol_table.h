/* open/symbol_table.h - all names that a recording carries ready-made, to look them up.
 *
 * Made by `postprocess`. What is here is to be preferred to what is found elsewhere: it was
 * resolved with the right files at hand. Threads: after loading, any number of readers.
 */
#ifndef OPEN_SYMBOL_TABLE_H
#define OPEN_SYMBOL_TABLE_H

#include "open/symbols_chunk.h"
#include "recording/recording.h"

struct symbol_table; /* opaque: defined in symbol_table.c */

/* Reads the SYMBOLS chunks of r (fast when it has none). Malformed ones are told in r->damage. */
int symbol_table_load(struct recording *r, struct symbol_table **ret, struct err *err);
void symbol_table_destroy(struct symbol_table *t); /* NULL does nothing */

/* The frames of a place (see struct symbols_location), innermost first. False when the recording does
 * not tell of it. *n_frames may be 0. Borrowed from the table. */
bool symbol_table_find(const struct symbol_table *t, uint64_t module_id, uint64_t offset,
		       const struct symbol_frame **ret, size_t *n_frames);

#endif
