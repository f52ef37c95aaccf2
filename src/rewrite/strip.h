/* rewrite/strip.h - makes a recording without the allocations that did not live long.
 *
 * strip_lifetime.h says which allocations. With an allocation go its free and its reallocs. Their
 * sums, by stack, are kept in DROPPED chunks (dropped_chunk.h). All other events stay, except
 * reallocs that failed and kinds of events that this version does not know, which mean nothing
 * without the events that are gone.
 *
 * Reads the recording twice. Memory: see strip_lifetime.h and recording_write.h. Threads: one.
 */
#ifndef REWRITE_STRIP_H
#define REWRITE_STRIP_H

#include "rewrite/strip_lifetime.h"

struct strip_result {
	struct dropped_summary dropped;
	uint64_t n_events_kept;
	uint64_t n_unknown_events; /* of unknown kinds, which were left out */
	uint64_t out_bytes; /* size of the new file */
};

/* Writes the file out_path. Errors: ERR_IO, ERR_MEMORY, ERR_LIMIT; no file is left. */
int strip_run(struct recording *r, const struct strip_rule *rule, const char *out_path,
	      struct strip_result *ret, struct err *err);

#endif
