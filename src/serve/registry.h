/* serve/registry.h - the recordings of the server: loading, ready, or failed.
 *
 * Each recording has a thread that loads it; at most two threads load at a time. The server answers
 * questions about the other recordings meanwhile. No recording is removed before
 * registry_destroy().
 *
 * A recording that is still being written is opened again when a request asks for it
 * (registry_freshen()) and the recording has grown. After each look at the recording a pause
 * follows: half a second, or a quarter of what the look took, if this is longer. During a look the
 * recording stays ready, with the older snapshot; also if opening fails. A request takes the newest
 * snapshot (registry_take()) and gives it back at its end, so all parts of an answer are of one
 * moment.
 *
 * Threads: any. registry_destroy(): when all snapshots were given back and nobody else calls.
 */
#ifndef SERVE_REGISTRY_H
#define SERVE_REGISTRY_H

#include "store/frames.h"
#include "store/store.h"

#define REGISTRY_ID_BYTES 33 /* 32 hexadecimal digits and the end */

enum registry_state {
	REGISTRY_LOADING,
	REGISTRY_READY,
	REGISTRY_FAILED,
};

/* The function that opens a recording calls this now and then with its progress. False: stop, the
 * server ends. */
struct registry_loading; /* opaque: defined in registry.c */
bool registry_progress(struct registry_loading *l, uint64_t n_done, uint64_t n_all);

struct registry_opened {
	struct store *store;
	struct frames *frames;
	void *handle; /* for close() */
	bool is_growing; /* still being written: opened again when has_grown() */
};

/* How to open recordings. The caller that starts the server gives these functions.
 * registry_create() calls identify(). The thread of a recording calls open() and has_grown(). The
 * thread that gives a snapshot back last calls close(), perhaps while open() runs for the same
 * path. */
struct registry_source {
	/* Reads the 16 bytes that identify a recording from its first page, without loading it.
	 * Negative: the file is no recording. May be NULL. */
	int (*identify)(void *user, const char *path, uint8_t id[16]);
	/* A growing recording is opened again while the older store is still open. */
	int (*open)(void *user, const char *path, struct registry_loading *l,
		    struct registry_opened *ret, struct err *err);
	void (*close)(void *user, struct registry_opened *o);
	/* A recording is ready for the first time, elapsed_ns after its loading began. NULL: not
	 * called. */
	void (*loaded)(void *user, const char *path, uint64_t elapsed_ns);
	/* Has a growing recording new data? Takes microseconds. NULL: never. */
	bool (*has_grown)(void *user, const char *path, const struct registry_opened *o);
	void *user;
};

struct registry_entry; /* opaque: defined in registry.c */
struct registry_snapshot; /* a recording at one moment; opaque: defined in registry.c */
struct registry; /* opaque: defined in registry.c */

/* Starts to load all paths. source and the array path are copied; the texts of the paths and
 * source->user are borrowed until registry_destroy(). */
int registry_create(const struct registry_source *source, const char *const *path, size_t n_paths,
		    struct registry **ret, struct err *err);
void registry_destroy(struct registry *s); /* stops all loading; NULL does nothing */

size_t registry_n_entries(const struct registry *s);
struct registry_entry *registry_entry(const struct registry *s, size_t index);

/* Finds a recording by its id. "last": of the paths that have not failed (ready or loading), the
 * last one in the order of registry_create(). NULL: none. */
struct registry_entry *registry_find(const struct registry *s, const char *id);

enum registry_state registry_state(struct registry_entry *i);
double registry_percent(struct registry_entry *i); /* 0 to 100 */

/* Of the names of functions, which are looked up in the background when a recording is ready: 0 to
 * 100. */
double registry_names_percent(struct registry_entry *i);

/* While the recording is loading: estimates in how many seconds it is ready, at the speed so far.
 * False: too early for an estimate. */
bool registry_eta_s(struct registry_entry *i, double *ret);

/* 32 digits from registry_create() on, different for all entries. If identify() gave none: a hash
 * of the path. */
const char *registry_id(const struct registry_entry *i);
const char *registry_path(const struct registry_entry *i);

/* Why loading failed; only in the state REGISTRY_FAILED. Borrowed until registry_destroy(). */
const char *registry_error(struct registry_entry *i);

/* The newest snapshot of a recording that is ready, else NULL. The caller gives the snapshot back
 * with registry_give(), which accepts NULL. What the functions below return is borrowed until
 * then. */
struct registry_snapshot *registry_take(struct registry_entry *i);
void registry_give(struct registry_snapshot *p);
void registry_hold(struct registry_snapshot *p); /* once more: a second registry_give() is due */

const struct store *registry_store(const struct registry_snapshot *p);
bool registry_is_growing(const struct registry_snapshot *p); /* was it still being written? */
struct frames *registry_frames(const struct registry_snapshot *p);

/* An array with a number for each code (index in STORE_CODES): how many allocations have the code
 * in their stack. The first call counts, which takes time. NULL: no memory. */
const uint64_t *registry_code_counts(struct registry_snapshot *p);

/* Results that the queries of a snapshot share (query/shared_results.h). NULL: no memory. */
struct shared_results *registry_shared(const struct registry_snapshot *p);

/* For a growing recording: lets its thread look whether the recording has grown, and open it again
 * if so, unless the pause since the last look is not over. Waits at most max_ms for the end of a
 * look, also of a look that another request began. Then use registry_take(). */
void registry_freshen(struct registry_entry *i, unsigned max_ms);

/* Waits until the recording is no longer loading, max_ms have passed, or gone(user) returns true
 * (the client has hung up). The calling thread calls gone() every 50 ms. */
void registry_wait(struct registry_entry *i, unsigned max_ms, bool (*gone)(void *user), void *user);

#endif
