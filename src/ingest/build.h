/* ingest/build.h - from a recording to a store, once, in bounded memory.
 *
 * Reads all events in order of time (replay.h), makes a row of each allocation (rows.h), sums up
 * per stack (site_stats.h) and over time (usage_buckets.h), and writes the tables. What grows with the number of
 * events lies in files; in memory are the live blocks up to a budget, the stacks, and the window of
 * rows.h.
 */
#ifndef INGEST_BUILD_H
#define INGEST_BUILD_H

#include "recording/recording.h"

enum build_how {
	BUILD_WHOLE, /* nobody will go on with it */
	BUILD_RESUMABLE, /* the recording grows: what is needed to go on is kept in the store */
	BUILD_RESUME, /* the same, from such a store at the same place, to which it appends */
};

struct build_options {
	enum build_how how;
	bool is_growing; /* the store gets an identity that no recording has: STORE_GROWING_NS */
	/* Only the tables: enough for reports on the whole recording, faster, and small. The store has
	 * no rows then (store_n_rows() is 0 although store_facts.n_rows is not). */
	bool without_rows;
	const char *temp_folder; /* for what does not fit into memory; NULL: the store's folder */
	/* Called now and then; less than 0 ends the work with -ERR_CANCELLED. May be NULL. */
	int (*on_progress)(void *user, uint64_t n_done, uint64_t n_total);
	void *user;
};

/* Makes the store of an opened recording (completing r->damage); o may be NULL. On failure no
 * file is left, but that which was there (BUILD_RESUME). ERR_REFUSED, ERR_FORMAT or ERR_VERSION of the
 * latter two: it can only be made by BUILD_RESUME's other, or by BUILD_WHOLE. */
int build_store(struct recording *r, const char *store_path, const struct build_options *o,
		struct err *err);

#endif
