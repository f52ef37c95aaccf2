/* open/open.h - from the name of a recording to a store that can be asked, with its names.
 *
 * A store that was made before and still fits is taken from the cache; else it is made now, which
 * takes time and shows a progress line. Names of functions are looked up when they are asked for.
 */
#ifndef OPEN_OPEN_H
#define OPEN_OPEN_H

#include "store/frames.h"
#include "store/store.h"

struct open_options {
	bool no_cache; /* read the recording anew and keep nothing */
	bool without_rows; /* only figures of the whole recording will be asked for: faster */
	uint64_t
		small_bytes; /* without_rows: rows are made all the same of a recording whose events
			       * take at most so many bytes */
	bool use_debuginfod;
	const char *const *debug_path; /* -d: borrowed until open_recording_close() */
	size_t n_debug_paths;
	unsigned n_threads; /* for symbols; 0: as many as there are CPUs */
	/* Called now and then while a store is made, instead of the progress line; less than 0 ends
	 * it with -ERR_CANCELLED. May be NULL. */
	int (*on_progress)(void *user, uint64_t n_done, uint64_t n_total);
	void *user;
};

#define OPEN_MAX_NOTES 4
#define OPEN_NOTE_BYTES 512

struct open_recording {
	struct store *store;
	struct frames *frames;
	bool is_from_cache;
	bool is_growing; /* it was still being written: opened anew there may be more */
	uint64_t status_sequence; /* of the recording, then */
	char note[OPEN_MAX_NOTES][OPEN_NOTE_BYTES]; /* for the user: where the cache went ... */
	size_t n_notes;

	struct symbolize *symbolize;
};

/* Opens the recording at path. o may be NULL. Errors name the path and what to do; *ret is then
 * zeroed. A recording that is damaged or still being written is no error: store_facts() tell. */
int open_recording_open(const char *path, const struct open_options *o, struct open_recording *ret,
			struct err *err);

/* Is there more in a recording that was growing, or has it ended? Cheap: looks at its first page. */
bool open_recording_has_grown(const struct open_recording *o, const char *path);
void open_recording_close(struct open_recording *o); /* a zeroed struct is closed */

#endif
