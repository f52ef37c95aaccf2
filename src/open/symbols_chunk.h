/* open/symbols_chunk.h - names that a recording carries ready-made: the payload of SYMBOLS
 * chunks (docs/FORMAT.md section 8), unpacked.
 */
#ifndef OPEN_SYMBOLS_CHUNK_H
#define OPEN_SYMBOLS_CHUNK_H

#include "symbol/symbol.h"
#include "util/map.h"

#define SYMBOLS_CHUNK_BYTES (1u << 20) /* a payload is ended when it has grown to this */
#define SYMBOLS_NO_MODULE 0 /* module id of code that is in no module; modules count from 1 */

/* What is known of one place in the code. */
struct symbols_location {
	uint64_t module_id; /* as in MODULE chunks, or SYMBOLS_NO_MODULE */
	uint64_t offset; /* return address - base of the module; without one: return address */
	const struct symbol_frame *frame; /* innermost first; texts lie in the payload */
	size_t n_frames; /* 0: asked for, and nothing was found */
};

/* Less than 0 ends the reading with this result. */
typedef int (*symbols_chunk_fn)(void *user, const struct symbols_location *location,
				struct err *err);

/* Reads a payload. ERR_FORMAT when it is malformed; what came before was given to fn. */
int symbols_chunk_decode(const uint8_t *data, size_t len, symbols_chunk_fn fn, void *user,
			 struct err *err);

/* A payload under way. A zeroed struct is an empty one. */
struct symbols_writer {
	uint8_t *data;
	size_t len, cap;
	struct map string_at; /* hash of a text (+ 1 on collisions) -> its number */
	size_t *string_offset; /* in data, by number - 1 */
	size_t n_strings, cap_strings;
	uint64_t module_id;
	uint64_t offset; /* of the place added last */
	bool has_module;
};

void symbols_writer_fini(struct symbols_writer *w);
void symbols_writer_clear(struct symbols_writer *w); /* begins a new payload */

/* Adds a location. Takes least room when places of a module come together, by rising offset. */
int symbols_writer_add(struct symbols_writer *w, const struct symbols_location *location,
		       struct err *err);

#endif
