/* rewrite/strip.h - a recording without allocations that did not live long.
 *
 * Which ones: see strip_lifetime.h. With an allocation go its free and its reallocs; what the
 * allocations left out summed up to, by stack, is kept in DROPPED chunks (dropped_chunk.h). All
 * other events stay. Also left out, because they would be of use only with what is gone: reallocs
 * that failed, and kinds of events that this version does not know.
 * Reads the recording twice; memory: see strip_lifetime.h and recording_write.h.
 */
#ifndef REWRITE_STRIP_H
#define REWRITE_STRIP_H

#include "rewrite/strip_lifetime.h"

struct strip_result {
	struct dropped_summary dropped;
	uint64_t n_events_kept;
	uint64_t n_unknown_events; /* of kinds that this version does not know: left out */
	uint64_t out_bytes; /* size of the new file */
};

/* Writes the file out_path. */
int strip_run(struct recording *r, const struct strip_rule *rule, const char *out_path,
	      struct strip_result *ret, struct err *err);

#endif
