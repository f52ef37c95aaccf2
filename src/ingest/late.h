/* ingest/late.h - ends of rows that come after their block was packed, in a temporary file.
 *
 * Kept in bins of LATE_BIN_BLOCKS blocks: each bin has a small page in memory; full pages go to
 * the file and are linked. At the end each bin is read once. Threads: one.
 */
#ifndef INGEST_LATE_H
#define INGEST_LATE_H

#include "ingest/rows.h"

#define LATE_BIN_BLOCKS 256u

struct late_end {
	struct row_end end;
	uint32_t row; /* in its bin */
};

struct late; /* opaque: defined in late.c */

int late_create(const char *folder, struct late **ret, struct err *err);
void late_destroy(struct late *l); /* NULL does nothing */

int late_add(struct late *l, uint64_t row, const struct row_end *end, struct err *err);

/* All entries of a bin, ordered by block, inside it in order of late_add(). *ret is owned by l
 * and good until the next call. */
int late_read(struct late *l, uint64_t bin, const struct late_end **ret, size_t *n,
	      struct err *err);

#endif
