/* rewrite/size_report.h - what the bytes of a recording are used for, and how long its allocations
 * lived. */
#ifndef REWRITE_SIZE_REPORT_H
#define REWRITE_SIZE_REPORT_H

#include "ingest/replay.h"

#define SIZE_REPORT_N_TYPES 16 /* chunk types by number; 0: unknown ones */
#define SIZE_REPORT_N_KINDS 256 /* by the byte that names the kind */

enum size_report_lifetime {
	LIFETIME_1_MS,
	LIFETIME_10_MS,
	LIFETIME_100_MS,
	LIFETIME_1_S,
	LIFETIME_10_S,
	LIFETIME_1_MIN,
	LIFETIME_10_MIN,
	LIFETIME_LONGER,
	LIFETIME_LEAKED,
	LIFETIME_N,
};

struct size_report_row {
	uint64_t n;
	uint64_t n_bytes;
};

struct size_report {
	struct size_report_row type[SIZE_REPORT_N_TYPES]; /* chunks with their headers */
	uint64_t unused_bytes; /* of the file: its header, and bytes in no chunk */
	struct size_report_row kind[SIZE_REPORT_N_KINDS]; /* n_bytes: before compression */
	double stored_bytes[SIZE_REPORT_N_KINDS]; /* share of each kind after compression */
	struct size_report_row lifetime[LIFETIME_N]; /* of allocations, with their sizes */
	struct replay_totals totals;
};

/* Makes the report. Reads all events twice. Errors: ERR_IO, ERR_MEMORY, ERR_LIMIT. */
int size_report_make(struct recording *r, struct size_report *ret, struct err *err);

const char *size_report_kind_name(unsigned kind);
const char *size_report_lifetime_name(enum size_report_lifetime l); /* "< 1 ms" */

#endif
