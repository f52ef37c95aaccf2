/* ingest/build.h - makes the store of a recording, in bounded memory.
 *
 * Reads all events once in order of time (replay.h), makes a row of each allocation (rows.h), adds
 * up figures per stack (alloc_sums.h, site_stats.h) and over time (usage_buckets.h), and writes the
 * tables (build_tables.h). What grows with the number of events lies in files. In memory are the
 * stacks, the newest rows (rows.h), and the live blocks of the program up to a budget; further live
 * blocks lie in a temporary file (live.h).
 */
#ifndef INGEST_BUILD_H
#define INGEST_BUILD_H

#include "recording/recording.h"

enum build_how {
	BUILD_WHOLE, /* a store that nobody will resume */
	/* The store gets a checkpoint (incremental.h) if the recording grows, is long enough and is
	 * not damaged. */
	BUILD_RESUMABLE,
	/* Loads the checkpoint of the store at store_path and reads the events after the
	 * checkpoint. A store with rows is appended to, a store without rows is made anew.
	 * without_rows must be as in that store. */
	BUILD_RESUME,
};

struct build_options {
	enum build_how how;
	/* The recording is being written, whatever `how` is. The store is marked with
	 * STORE_GROWING_NS, so that nobody takes it for the store of the finished recording. */
	bool is_growing;
	/* Only the tables: enough for reports on the whole recording, faster, and small. Such a
	 * store has no rows: store_n_rows() is 0, although store_facts.n_rows is not. */
	bool without_rows;
	const char *temp_folder; /* for temporary files; NULL: the folder of the store */
	/* Called in the caller's thread before each batch of events (stream.h), and at the end.
	 * n_done of the n_total blocks of the recording's file are read. A result below 0 ends the
	 * build with -ERR_CANCELLED. May be NULL. */
	int (*on_progress)(void *user, uint64_t n_done, uint64_t n_total);
	void *user;
};

/* Makes the store of an opened recording at store_path. r->damage lists all damaged parts
 * afterwards: most are found only by reading. o may be NULL: BUILD_WHOLE with rows. Threads: one
 * caller per recording; starts a thread that reads events and one that compresses rows.
 *
 * Returns 0 or -ERR_x. On failure no new file is left, and a store that was at store_path still has
 * its old contents. Errors:
 *   ERR_REFUSED, ERR_FORMAT, ERR_VERSION   of BUILD_RESUME: the store cannot be resumed. Use
 *                  BUILD_RESUMABLE or BUILD_WHOLE, which make a new one.
 *   ERR_REFUSED    of BUILD_RESUMABLE and BUILD_RESUME: the clock of a lane went back, so that an
 *                  event before the checkpoint is later than the checkpoint. Use BUILD_WHOLE.
 *   ERR_CANCELLED  on_progress() returned less than 0.
 *   ERR_IO, ERR_MEMORY, ERR_LIMIT          with a text that says what failed. */
int build_store(struct recording *r, const char *store_path, const struct build_options *o,
		struct err *err);

#endif
