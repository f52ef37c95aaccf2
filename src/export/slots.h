/* export/slots.h - numbers for things that come and go: the least used stay few.
 *
 * Numbers that were given back are given out again, the latest first. Those that wait are kept
 * in memory up to a limit, and beyond it in a temporary file without a name.
 */
#ifndef EXPORT_SLOTS_H
#define EXPORT_SLOTS_H

#include "util/err.h"

struct slots {
	uint64_t n; /* numbers ever given out: 0 ... n - 1 */
	uint64_t *free; /* given back, the latest last */
	size_t n_free, cap_free;
	uint64_t n_spilled; /* given back earlier: in the file */
	const char *temp_folder;
	int fd; /* -1: no file yet */
};

#define SLOTS_CHUNK (1u << 20) /* numbers moved to or from the file at once: 8 MiB */

void slots_init(struct slots *s, const char *temp_folder); /* borrowed */
void slots_fini(struct slots *s);
int slots_take(struct slots *s, uint64_t *ret, struct err *err);
int slots_give(struct slots *s, uint64_t slot, struct err *err);

#endif
