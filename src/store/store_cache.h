/* store/store_cache.h - where the files of stores are, and which stores are up to date.
 *
 * The store of app.dat is app.dat.store, and the names of its functions are in app.dat.symbols, in
 * the folder of the recording. If that folder is not writable, or one of these names is taken by a
 * symbolic link, by a file of another kind or by a file that is not trusted (file_is_trusted()),
 * both files are in the cache folder instead: $XDG_CACHE_HOME/memory-profiler or
 * ~/.cache/memory-profiler, as ID-PATH.store and ID-PATH.symbols, with the recording's id and a
 * checksum of its path, both in hexadecimal.
 *
 * A store is good for a recording when their identities are equal: same id, same size, same time of
 * change. A store with another identity or version, or a damaged one, is made anew. The store of a
 * recording that was still growing is no exception: it is found no more once the file has grown, but
 * ingest/incremental.h reads on from it.
 * Threads: any number of callers.
 */
#ifndef STORE_STORE_CACHE_H
#define STORE_STORE_CACHE_H

#include "store/store.h"

/* The paths of the files that belong to one recording. The strings are owned. */
struct store_paths {
	char *store; /* for store_open() and store_writer_create() */
	char *names; /* for frames_open() */
	bool is_beside; /* in the folder of the recording, not in the cache folder ... */
	const char *why_not_beside; /* ... for people; from store_cache_paths() only, a constant */
};

void store_paths_fini(struct store_paths *p); /* a zeroed struct is empty */

/* Decides where the store of a recording is to be made, and makes the cache folder if the store
 * goes there. -ERR_IO: neither folder can be used, so the caller needs a temporary store. */
int store_cache_paths(const char *recording, const uint8_t recording_id[16],
		      struct store_paths *ret, struct err *err);

/* Opens the store of a recording and fills *paths, if there is a good one. If not, *ret is NULL,
 * which is no error, and *paths is untouched. The store may be without rows: ask
 * store_has_rows(). */
int store_cache_find(const char *recording, const struct store_identity *identity,
		     struct store **ret, struct store_paths *paths, struct err *err);

/* ---- listing and removing ---- */

enum store_cache_state {
	STORE_CACHE_GOOD,
	STORE_CACHE_STALE, /* the recording has changed or is gone */
	STORE_CACHE_VERSION, /* made by another version */
	STORE_CACHE_DAMAGED,
	STORE_CACHE_NAMES, /* names without a store */
};

struct store_cache_item {
	const char *store; /* path; NULL with STORE_CACHE_NAMES */
	const char *names; /* path; NULL: there are none */
	uint64_t n_bytes; /* both files */
	uint64_t changed_ns; /* when it was made, since 1970 */
	enum store_cache_state state;
	/* from here on: only for stores that can be opened */
	uint64_t n_rows;
	struct store_identity identity;
	const char *program; /* path; may be empty */
};

/* 0: continue. A negative result ends the visit and becomes its result. */
typedef int (*store_cache_visit)(void *user, const struct store_cache_item *item, struct err *err);

/* Visits the stores of n recordings (which need not exist), in the folders of the recordings and in
 * the cache folder. With n == 0: all stores in the cache folder. */
int store_cache_each(char *const *recording, size_t n, store_cache_visit visit, void *user,
		     struct err *err);

/* Removes the files of an item. A process that has them open keeps them. -ERR_IO. */
int store_cache_remove(const struct store_cache_item *item, struct err *err);

#endif
