/* open/open.h - from the path of a recording to a store that answers queries, with names of
 * functions.
 *
 * A store that was made before and still fits is taken from the cache. Otherwise the store is made
 * now, which takes time and shows a progress line. Names of functions are looked up when they are
 * asked for. Threads: opening and closing by one thread; what the store and the frames allow in
 * between.
 */
#ifndef OPEN_OPEN_H
#define OPEN_OPEN_H

#include "open/suppressions.h"
#include "store/frames.h"
#include "store/store.h"

struct open_options {
	bool no_cache; /* read the recording again and keep nothing */
	/* Further pieces of the recording (recording/pieces.h); borrowed until
	 * open_recording_close(). */
	const char *const *piece;
	size_t n_pieces;
	bool without_rows; /* only figures of the whole recording will be asked for: faster */
	/* With without_rows: a recording whose events take at most so many bytes, decompressed, gets
	 * rows all the same. */
	uint64_t small_bytes;
	bool use_debuginfod;
	const char *const *debug_path; /* option -d; borrowed until open_recording_close() */
	size_t n_debug_paths;
	/* Leaks that do not count, borrowed until open_recording_close(); NULL: all leaks count. Not
	 * together with without_rows. */
	const struct suppressions *suppressions;
	unsigned n_threads; /* for symbols; 0: as many as there are CPUs */
	/* Called now and then while a store is made, instead of the progress line. A result below 0
	 * ends the opening with -ERR_CANCELLED. May be NULL. */
	int (*on_progress)(void *user, uint64_t n_done, uint64_t n_total);
	void *user;
};

#define OPEN_MAX_NOTES 4
#define OPEN_NOTE_BYTES 512

/* A recording that answers queries. */
struct open_recording {
	struct store *store;
	struct frames *frames;
	bool is_from_cache;
	bool is_growing; /* the recording was being written: opened again there may be more */
	const char **path; /* of all pieces, in order; the texts are borrowed */
	const char *growing_path; /* the recording, or its last piece */
	uint64_t status_sequence; /* of the recording when it was opened */
	char note[OPEN_MAX_NOTES][OPEN_NOTE_BYTES]; /* for people: where the cache is ... */
	size_t n_notes;

	struct symbolize *symbolize;
};

/* Opens the recording at path, with the further pieces of it in o. o may be NULL. A recording that is damaged or still being written is
 * no error: store_facts() say so. Errors name the path and what to do; *ret is zeroed then. */
int open_recording_open(const char *path, const struct open_options *o, struct open_recording *ret,
			struct err *err);

/* Has a recording that was growing more events now, or has it ended? Cheap: reads its first page
 * only. */
bool open_recording_has_grown(const struct open_recording *o);
void open_recording_close(struct open_recording *o); /* a zeroed struct is closed */

#endif
