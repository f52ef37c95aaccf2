/* ingest/build.h - makes the store of a recording, in bounded memory.
 *
 * Reads all events once in order of time (replay.h), makes a row of each allocation (rows.h), adds
 * up figures per stack (alloc_sums.h, site_stats.h) and over time (usage_buckets.h), and writes the
 * tables (build_tables.h). What grows with the number of events lies in files. In memory are the
 * live blocks up to a budget (live.h), the stacks, and the window of rows.h.
 */
#ifndef INGEST_BUILD_H
#define INGEST_BUILD_H

#include "recording/recording.h"

enum build_how {
	BUILD_WHOLE, /* a store that nobody will resume */
	BUILD_RESUMABLE, /* the recording grows: the store holds a checkpoint (incremental.h) */
	BUILD_RESUME, /* loads the checkpoint of the store at this path and appends to that store */
};

struct build_options {
	enum build_how how;
	bool is_growing; /* the store gets an identity that no recording has: STORE_GROWING_NS */
	/* Only the tables: enough for reports on the whole recording, faster, and small. Such a
	 * store has no rows: store_n_rows() is 0, although store_facts.n_rows is not. */
	bool without_rows;
	const char *temp_folder; /* for temporary files; NULL: the folder of the store */
	/* Called before each batch of calls: n_done of n_total blocks of events are read. A result
	 * below 0 ends the build with -ERR_CANCELLED. May be NULL. */
	int (*on_progress)(void *user, uint64_t n_done, uint64_t n_total);
	void *user;
};

/* Makes the store of an opened recording at store_path, and completes r->damage. o may be NULL:
 * BUILD_WHOLE with rows. Threads: one caller per recording; starts a thread that reads and one that
 * packs rows.
 *
 * On failure no new file is left; BUILD_RESUME leaves the store that was there. Errors:
 *   ERR_REFUSED, ERR_FORMAT, ERR_VERSION   of BUILD_RESUME: the store cannot be resumed. Use
 *                  BUILD_RESUMABLE or BUILD_WHOLE, which make a new one.
 *   ERR_REFUSED    of BUILD_RESUMABLE: the times of the recording go back, so it has no
 *                  checkpoint. Use BUILD_WHOLE.
 *   ERR_CANCELLED  on_progress() returned less than 0.
 *   ERR_IO, ERR_MEMORY, ERR_LIMIT          with a text that says what failed. */
int build_store(struct recording *r, const char *store_path, const struct build_options *o,
		struct err *err);

#endif
