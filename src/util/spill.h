/* util/spill.h - a growing piece of memory that the system can move to disk.
 *
 * Small ones are ordinary memory. From SPILL_MEMORY_BYTES on the bytes lie in a file without a name,
 * mapped: they are in memory as long as there is room. The file vanishes with the process. Its
 * space is reserved when it grows, so a full disk is an error here and not a crash later.
 * One thread at a time.
 */
#ifndef UTIL_SPILL_H
#define UTIL_SPILL_H

#include "util/err.h"

#define SPILL_MEMORY_BYTES ((size_t)32 << 20)

struct spill {
	uint8_t *data; /* moves when it grows; new bytes are 0 */
	size_t n_bytes; /* a multiple of the page size, or 0 */
	int fd; /* -1: in memory */
	const char *folder; /* borrowed */
	const char *path; /* borrowed, or NULL */
};

/* folder is where the file goes; path, if not NULL, is its name there for a moment: it must not
 * exist. Both are borrowed. */
void spill_init(struct spill *s, const char *folder, const char *path);
void spill_fini(struct spill *s);

/* Makes it at least n_bytes long. On failure nothing changes. */
int spill_reserve(struct spill *s, size_t n_bytes, struct err *err);

#endif
