/* serve/name_table.h - numbers for frames that people would call the same: function, source, image.
 *
 * Frames without a function are told apart by their address. Numbers are dense from 0, in the order
 * of first sight. One thread at a time.
 */
#ifndef SERVE_NAME_TABLE_H
#define SERVE_NAME_TABLE_H

#include "store/frames.h"

struct name_table {
	const struct frame **frame; /* the first one seen of each number; borrowed */
	size_t n, cap;
	uint32_t *slot; /* number + 1, or 0 */
	size_t n_slots; /* 0 or a power of two, more than n */
	bool has_lines; /* lines tell apart, too */
};

/* A zeroed table is an empty one. */
void name_table_fini(struct name_table *t);
int name_table_add(struct name_table *t, const struct frame *f, uint32_t *ret, struct err *err);

#endif
