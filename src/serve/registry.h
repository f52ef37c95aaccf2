/* serve/registry.h - the recordings of the server: loading, ready, or failed.
 *
 * Each recording is loaded by its own thread, few at a time. The server answers questions about
 * the others meanwhile. No recording is removed before registry_destroy().
 *
 * A recording that is still being written is opened again when a request asks for it. A short
 * pause follows each opening, and opening takes only a small share of the time. A request takes
 * the newest snapshot (registry_take()) and keeps it to its end, so all parts of an answer are of
 * one moment.
 *
 * Threads: any.
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

/* How to open recordings. The caller that starts the server gives these functions. They may run in
 * several threads at once, for different paths. */
struct registry_source {
	/* Reads the 16 bytes that identify a recording from its first page, without loading it.
	 * Negative: the file is no recording. May be NULL. */
	int (*identify)(void *user, const char *path, uint8_t id[16]);
	/* A growing recording is opened again while the older store is still open. */
	int (*open)(void *user, const char *path, struct registry_loading *l,
		    struct registry_opened *ret, struct err *err);
	void (*close)(void *user, struct registry_opened *o);
	/* Has a growing recording new data? Takes microseconds. NULL: never. */
	bool (*has_grown)(void *user, const char *path, const struct registry_opened *o);
	void *user;
};

struct registry_entry; /* opaque: defined in registry.c */
struct registry_snapshot; /* a recording at one moment; opaque: defined in registry.c */
struct registry; /* opaque: defined in registry.c */

/* Starts to load all paths. source is borrowed. */
int registry_create(const struct registry_source *source, const char *const *path, size_t n_paths,
		    struct registry **ret, struct err *err);
void registry_destroy(struct registry *s); /* stops all loading; NULL does nothing */

size_t registry_n_entries(const struct registry *s);
struct registry_entry *registry_entry(const struct registry *s, size_t index);

/* Finds a recording by its id. "last": the last path that has not failed. NULL: none. */
struct registry_entry *registry_find(const struct registry *s, const char *id);

enum registry_state registry_state(struct registry_entry *i);
double registry_percent(struct registry_entry *i); /* 0 to 100 */

/* While the recording is loading: estimates in how many seconds it is ready, at the speed so far.
 * False: too early for an estimate. */
bool registry_eta_s(struct registry_entry *i, double *ret);
const char *registry_id(const struct registry_entry *i);
const char *registry_path(const struct registry_entry *i);

/* Why loading failed. */
const char *registry_error(struct registry_entry *i);

/* The newest snapshot of a recording that is ready, else NULL. The caller gives it back with
 * registry_give(), which accepts NULL. */
struct registry_snapshot *registry_take(struct registry_entry *i);
void registry_give(struct registry_snapshot *p);

const struct store *registry_store(const struct registry_snapshot *p);
bool registry_is_growing(const struct registry_snapshot *p); /* was it still being written? */
struct frames *registry_frames(const struct registry_snapshot *p);

/* By code: the number of allocations whose stack has this code. Counted at the first call. NULL:
 * no memory. */
const uint64_t *registry_code_counts(struct registry_snapshot *p);

/* What queries share (query/shared_results.h). May be NULL. */
struct shared_results *registry_shared(const struct registry_snapshot *p);

/* Checks whether a recording has grown, if it is time to. If so, starts to open it again and waits
 * at most max_ms for the new snapshot. */
void registry_freshen(struct registry_entry *i, unsigned max_ms);

/* Waits until the recording is no longer loading, max_ms have passed, or gone(user) returns
 * true. */
void registry_wait(struct registry_entry *i, unsigned max_ms, bool (*gone)(void *user), void *user);

#endif
