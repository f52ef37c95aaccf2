/* ingest/build_state.h - all that a build (build.h) knows while it runs.
 *
 * Private to build.c (which fills it from the events), build_tables.c (which writes it as tables)
 * and incremental.c (which writes it to a checkpoint and reads it back). Threads: one.
 */
#ifndef INGEST_BUILD_STATE_H
#define INGEST_BUILD_STATE_H

#include "ingest/rows.h"
#include "ingest/site_stats.h"
#include "ingest/usage_buckets.h"
#include "recording/recording.h"
#include "util/map.h"
#include "util/spill.h"

#define BUILD_RECENT_THREADS 64u

/* Threads by their number in the recording, and by their index in the store. */
struct build_threads {
	struct map index_of;
	struct {
		uint32_t number, index;
	} recent[BUILD_RECENT_THREADS]; /* a cache, at number % BUILD_RECENT_THREADS */
	struct store_thread *thread; /* by index; index 0 stands for no thread */
	size_t n, cap;
};

struct build_options; /* build.h */

struct build {
	struct recording *rec; /* borrowed */
	const struct build_options *options; /* borrowed; NULL: none */
	struct store_writer *writer;
	struct store *old; /* BUILD_RESUME: the store as it was; else NULL */
	struct rows *rows; /* NULL: a store without rows */
	uint64_t n_rows;
	struct site_stats site_stats;
	struct alloc_sums alloc_sums;
	struct usage_buckets usage;
	struct build_threads threads;
	struct spill *chains; /* struct store_chain, by chain - 1 */
	uint64_t n_chains;
	uint64_t n_kept_chains; /* that the checkpoint holds: a change of one is logged in undo */
	struct spill *undo; /* struct store_undo */
	uint64_t n_undo;
	struct spill *calls; /* struct store_call */
	uint64_t n_calls;
	uint64_t heap_start, heap_end; /* the heap that brk() makes; equal: not known */
	uint64_t wasted_bytes; /* of the store's file when reading began: see incremental.h */
	uint64_t n_progress; /* calls of on_progress() */
	uint64_t marker; /* the last value of memory_profiler_set_marker() */
	uint64_t peak_bytes;
	uint64_t peak_count;
	uint64_t peak_ns;
	uint64_t n_temporary;
	uint64_t temporary_bytes;
	int result; /* 0, or the first error of a callback, whose text is in err */
	struct err err;
};

#endif
