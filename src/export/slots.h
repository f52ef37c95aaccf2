/* export/slots.h - gives out slot numbers and reuses those that were given back.
 *
 * The number that was given back last is given out first, so no more numbers are in use than items
 * were alive at once. Numbers that wait for reuse are in memory up to 2 * SLOTS_CHUNK, the older
 * ones in a temporary file without a name. Threads: one at a time.
 */
#ifndef EXPORT_SLOTS_H
#define EXPORT_SLOTS_H

#include "util/err.h"

struct slots {
	uint64_t n; /* distinct numbers given out so far: 0 ... n - 1 */
	uint64_t *free; /* given back, the latest at the end */
	size_t n_free, cap_free;
	uint64_t n_spilled; /* given back earlier, in the file */
	const char *temp_folder;
	int fd; /* -1: no file yet */
};

#define SLOTS_CHUNK (1u << 20) /* numbers moved to or from the file at once: 8 MiB */

void slots_init(struct slots *s, const char *temp_folder); /* temp_folder is borrowed */
void slots_fini(struct slots *s);

/* Gives out a number; takes a number back. 0, or the error of the temporary file or of memory. */
int slots_take(struct slots *s, uint64_t *ret, struct err *err);
int slots_give(struct slots *s, uint64_t slot, struct err *err);

#endif
