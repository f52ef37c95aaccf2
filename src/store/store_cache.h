/* store/store_cache.h - where stores live, and which of them are still good.
 *
 * The store of app.dat is app.dat.store, beside it, and names of functions are in app.dat.symbols. Where
 * that folder cannot be written, or something of another kind has one of these names, both are in the
 * cache folder: $XDG_CACHE_HOME/memory-profiler or ~/.cache/memory-profiler, as ID-PATH.store and
 * ID-PATH.symbols, with the recording's id and a hash of its path, both in hexadecimal.
 *
 * A store is good for a recording when its identity is the recording's: same id, same size, same
 * time of change. Everything else (an older version, a damaged file) means: make it anew. Threads:
 * any.
 */
#ifndef STORE_STORE_CACHE_H
#define STORE_STORE_CACHE_H

#include "store/store.h"

/* The files of one recording. */
struct store_paths {
	char *store; /* for store_open() and store_writer_create() */
	char *names; /* for frames_open() */
	bool is_beside; /* beside the recording, not in the cache folder */
};

void store_paths_fini(struct store_paths *p); /* also of a zeroed one */

/* Where the store of a recording is to be made. Makes the cache folder when that is the place. ERR_IO:
 * nowhere; it can only be made for this one time then. */
int store_cache_paths(const char *recording, const uint8_t recording_id[16],
		      struct store_paths *ret, struct err *err);

/* Opens the store of a recording if there is a good one, and tells where it is. If not, *ret is NULL,
 * which is no error, and *paths is untouched. Who needs rows asks store_has_rows(). */
int store_cache_find(const char *recording, const struct store_identity *identity,
		     struct store **ret, struct store_paths *paths, struct err *err);

/* ---- looking after them ---- */

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
	/* from here on only of stores that can be opened */
	uint64_t n_rows;
	struct store_identity identity;
	const char *program; /* path; may be empty */
};

/* Less than 0 ends the visit with that result. */
typedef int (*store_cache_visit)(void *user, const struct store_cache_item *item, struct err *err);

/* Visits the stores of these recordings (which need not exist), beside them and in the cache folder;
 * with n == 0 all in the cache folder. */
int store_cache_each(char *const *recording, size_t n, store_cache_visit visit, void *user,
		     struct err *err);

/* Removes the files of an item. Whoever has them open keeps them. */
int store_cache_remove(const struct store_cache_item *item, struct err *err);

#endif
