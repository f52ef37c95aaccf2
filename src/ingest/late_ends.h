/* ingest/late_ends.h - ends of rows that come after their block was packed, in a temporary file.
 *
 * Kept in bins of LATE_ENDS_BIN_BLOCKS blocks: each bin has a small page in memory; full pages go to
 * the file and are linked. At the end each bin is read once. Threads: one.
 */
#ifndef INGEST_LATE_ENDS_H
#define INGEST_LATE_ENDS_H

#include "ingest/rows.h"

#define LATE_ENDS_BIN_BLOCKS 256u

struct late_ends_entry {
	struct row_end end;
	uint32_t row; /* in its bin */
};

struct late_ends; /* opaque: defined in late_ends.c */

int late_ends_create(const char *folder, struct late_ends **ret, struct err *err);
void late_ends_destroy(struct late_ends *l); /* NULL does nothing */

int late_ends_add(struct late_ends *l, uint64_t row, const struct row_end *end, struct err *err);

/* All entries of a bin, ordered by block, inside it in order of late_ends_add(). *ret is owned by l
 * and good until the next call. */
int late_ends_read(struct late_ends *l, uint64_t bin, const struct late_ends_entry **ret, size_t *n,
		   struct err *err);

#endif
