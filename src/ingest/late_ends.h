/* ingest/late_ends.h - ends of rows that came after their block was packed, in a temporary file.
 *
 * A log, cut into bins of LATE_ENDS_BIN_BLOCKS blocks of rows. Each bin has one page of about 4 KiB
 * in memory. A full page goes to the end of the file and holds the offset of the bin's page before
 * it:
 *
 *   bin 0: page in memory -> page at 8192 -> page at 0
 *   bin 1: page in memory -> page at 4096
 *
 * At the end each bin is read once, from its last page to its first. The file is made when the
 * first page is full. Threads: one.
 */
#ifndef INGEST_LATE_ENDS_H
#define INGEST_LATE_ENDS_H

#include "ingest/row.h"
#include "util/err.h"

#define LATE_ENDS_BIN_BLOCKS 256u

struct late_ends_entry {
	struct row_end end;
	uint32_t row; /* counted from the first row of the bin */
};

struct late_ends; /* opaque: defined in late_ends.c */

/* folder (for the temporary file) is borrowed until late_ends_destroy(). ERR_MEMORY. */
int late_ends_create(const char *folder, struct late_ends **ret, struct err *err);
void late_ends_destroy(struct late_ends *l); /* NULL does nothing */

/* Appends an end. ERR_IO or ERR_MEMORY. */
int late_ends_add(struct late_ends *l, uint64_t row, const struct row_end *end, struct err *err);

/* Gives all entries of a bin, ordered by block; the entries of a block are in the order of
 * late_ends_add(). *n may be 0. *ret is owned by l and valid until the next call. ERR_IO or
 * ERR_MEMORY. */
int late_ends_read(struct late_ends *l, uint64_t bin, const struct late_ends_entry **ret, size_t *n,
		   struct err *err);

#endif
