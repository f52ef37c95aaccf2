/* ingest/build_i.h - between build.c and build_tables.c. */
#ifndef INGEST_BUILD_I_H
#define INGEST_BUILD_I_H

#include "ingest/build.h"
#include "ingest/overview.h"
#include "ingest/pairing.h"
#include "ingest/replay.h"
#include "ingest/rows.h"
#include "ingest/site_stats.h"
#include "ingest/usage_buckets.h"
#include "util/map.h"
#include "util/spill.h"

#define BUILD_RECENT_THREADS 64u

/* Numbers of threads in the recording, and their indexes in the store. */
struct build_threads {
	struct map index_of;
	struct {
		uint32_t number, index;
	} recent[BUILD_RECENT_THREADS]; /* at number % BUILD_RECENT_THREADS */
	struct store_thread *thread; /* by index; 0 stands for none */
	size_t n, cap;
};

struct build {
	struct recording *rec;
	const struct build_options *options;
	const char *temp_folder;
	struct store_writer *writer;
	struct store *old; /* BUILD_RESUME: as it was */
	struct rows *rows; /* NULL: without rows */
	uint64_t n_rows;
	struct site_stats site_stats;
	struct alloc_sums alloc_sums;
	struct usage_buckets usage;
	struct build_threads threads;
	struct spill *chains; /* struct store_chain */
	uint64_t n_chains;
	uint64_t n_kept_chains; /* the state has them: what they were goes to undo */
	struct spill *undo; /* struct store_undo */
	uint64_t n_undo;
	struct spill *calls; /* struct store_call */
	uint64_t n_calls;
	uint64_t heap_start, heap_end; /* what brk() makes; equal: not known */
	uint64_t wasted_bytes; /* of the store's file when reading began: see incremental.h */
	uint64_t n_progress; /* calls of on_progress() */
	uint64_t marker;
	uint64_t peak_bytes;
	uint64_t peak_count;
	uint64_t peak_ns;
	uint64_t n_temporary;
	uint64_t temporary_bytes;
	int result; /* the first thing that went wrong in a callback, in err */
	struct err err;
};

/* Writes all tables but those of rows. */
int build_put_tables(struct build *b, const struct stacks *stacks, const struct overview *o,
		     struct err *err);

#endif
