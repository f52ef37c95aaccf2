/* serve/registry.h - the recordings that the server has: being loaded, ready, or failed.
 *
 * Each is loaded by a thread of its own, few at a time, while the others can be asked. None is taken
 * off before registry_destroy().
 *
 * A recording that is still being written is opened again when somebody asks for it, but not at once
 * after the last time, and not for more than a small share of the time. Who asks gets the newest
 * snapshot of it that there is, and keeps that to the end of his request: answers are of one moment.
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

/* The opener of a recording reports here how far it is, now and then. False: stop, the server ends. */
struct registry_loading; /* opaque: defined in registry.c */
bool registry_progress(struct registry_loading *l, uint64_t n_done, uint64_t n_all);

struct registry_opened {
	struct store *store;
	struct frames *frames;
	void *handle; /* for close() */
	bool is_growing; /* it is still being written: opened again when has_grown() */
};

/* How to open recordings. The server does not know: whoever starts the server does. All functions may
 * run in several threads at once, for different paths. */
struct registry_source {
	/* The 16 bytes that name a recording, from its first page, without loading it. Less than 0: the
	 * file is no recording. May be NULL. */
	int (*identify)(void *user, const char *path, uint8_t id[16]);
	/* A recording that grows is opened again while the older one is still open. */
	int (*open)(void *user, const char *path, struct registry_loading *l,
		    struct registry_opened *ret, struct err *err);
	void (*close)(void *user, struct registry_opened *o);
	/* Is there more of a recording that was growing? Takes microseconds. May be NULL: never. */
	bool (*has_grown)(void *user, const char *path, const struct registry_opened *o);
	void *user;
};

struct registry_entry; /* opaque: defined in registry.c */
struct registry_snapshot; /* a recording at one moment; opaque: defined in registry.c */
struct registry; /* opaque: defined in registry.c */

/* Begins to load all of path. source is borrowed. */
int registry_create(const struct registry_source *source, const char *const *path, size_t n_paths,
		    struct registry **ret, struct err *err);
void registry_destroy(struct registry *s); /* stops what is still loading; NULL does nothing */

size_t registry_n_entries(const struct registry *s);
struct registry_entry *registry_entry(const struct registry *s, size_t index);

/* By id, or "last": the last one given that has not failed. NULL: there is none. */
struct registry_entry *registry_find(const struct registry *s, const char *id);

enum registry_state registry_state(struct registry_entry *i);
double registry_percent(struct registry_entry *i); /* 0 to 100 */

/* While it is loading: in how many seconds it will be ready, if it goes on as fast as so far. False: too
 * early to say. */
bool registry_eta_s(struct registry_entry *i, double *ret);
const char *registry_id(const struct registry_entry *i);
const char *registry_path(const struct registry_entry *i);

/* Of one that failed: why. */
const char *registry_error(struct registry_entry *i);

/* The newest snapshot of one that is ready, else NULL. To be given back; NULL may be, too. */
struct registry_snapshot *registry_take(struct registry_entry *i);
void registry_give(struct registry_snapshot *p);

const struct store *registry_store(const struct registry_snapshot *p);
bool registry_is_growing(const struct registry_snapshot *p); /* it was still being written then */
struct frames *registry_frames(const struct registry_snapshot *p);

/* The number of allocations whose stack has a code, by code. Counted when first asked for; NULL
 * when there is no memory for it. */
const uint64_t *registry_code_counts(struct registry_snapshot *p);

/* The peaks of filters, found once; may be NULL. */
struct peak_cache *registry_peaks(const struct registry_snapshot *p);

/* If it is time to look whether a recording has grown: looks, and waits so long for what comes of it. */
void registry_freshen(struct registry_entry *i, unsigned max_ms);

/* Waits until it is no longer loading, the time is over, or gone(user) says so. */
void registry_wait(struct registry_entry *i, unsigned max_ms, bool (*gone)(void *user), void *user);

#endif
