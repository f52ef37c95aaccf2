/* open/symbols_chunk.h - names of functions that a recording carries: reads and writes the payload
 * of SYMBOLS chunks (docs/FORMAT.md section 8).
 */
#ifndef OPEN_SYMBOLS_CHUNK_H
#define OPEN_SYMBOLS_CHUNK_H

#include "symbol/symbol.h"
#include "util/map.h"

#define SYMBOLS_CHUNK_BYTES (1u << 20) /* a payload of this size is complete; the next one begins */
#define SYMBOLS_NO_MODULE 0 /* module id of code that is in no module; modules count from 1 */

/* What is known of one location in the code. */
struct symbols_location {
	uint64_t module_id; /* as in MODULE chunks, or SYMBOLS_NO_MODULE */
	uint64_t offset; /* return address - base of the module; without one: return address */
	const struct symbol_frame *frame; /* innermost first; texts lie in the payload */
	size_t n_frames; /* 0: a tool looked for names, and found none */
};

/* Gets a location. A result below 0 ends the reading with it. */
typedef int (*symbols_chunk_fn)(void *user, const struct symbols_location *location,
				struct err *err);

/* Reads a payload. ERR_FORMAT when it is malformed; fn got what came before. */
int symbols_chunk_decode(const uint8_t *data, size_t len, symbols_chunk_fn fn, void *user,
			 struct err *err);

/* A payload that is being written. A zeroed struct is empty. */
struct symbols_writer {
	uint8_t *data;
	size_t len, cap;
	struct map string_at; /* hash of a text (+ 1 on collisions) -> its number */
	size_t *string_offset; /* in data, by number - 1 */
	size_t n_strings, cap_strings;
	uint64_t module_id;
	uint64_t offset; /* of the location added last */
	bool has_module;
};

void symbols_writer_fini(struct symbols_writer *w);
void symbols_writer_clear(struct symbols_writer *w); /* begins a new payload */

/* Adds a location. The payload is smallest when the locations of a module come together, by rising
 * offset. ERR_MEMORY. */
int symbols_writer_add(struct symbols_writer *w, const struct symbols_location *location,
		       struct err *err);

#endif
