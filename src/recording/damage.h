/* recording/damage.h - which ranges of a recording could not be read, and why.
 *
 * The first DAMAGE_MAX_RANGES ranges are kept with a text; all are counted. A range may lie behind the
 * end of a file that was cut short. Ranges may overlap: a byte that lies in several counts once.
 */
#ifndef RECORDING_DAMAGE_H
#define RECORDING_DAMAGE_H

#include "base/compiler.h"

#define DAMAGE_MAX_RANGES 64
#define DAMAGE_TEXT_BYTES 96

struct damage_range {
	uint64_t offset; /* in the file */
	uint64_t n_bytes;
	char text[DAMAGE_TEXT_BYTES]; /* what is wrong there */
};

/* Bytes from offset to end - 1. */
struct damage_span {
	uint64_t offset, end;
};

/* The spans are disjoint and hold all bytes that are counted, as long as there is room for them: of
 * DAMAGE_MAX_RANGES scattered ranges on, overlaps may count twice. */
struct damage {
	struct damage_range range[DAMAGE_MAX_RANGES];
	size_t n_kept;
	uint64_t n_ranges;
	uint64_t n_bytes; /* that lie in any range */
	struct damage_span span[DAMAGE_MAX_RANGES];
	size_t n_spans;
};

/* Adds a range. A zeroed struct damage is empty. */
void damage_add(struct damage *d, uint64_t offset, uint64_t n_bytes, const char *fmt, ...)
	PRINTF_LIKE(4, 5);

#endif
