/* serve/shelf.h - the recordings that the server has: being loaded, ready, or failed.
 *
 * Each is loaded by a thread of its own, few at a time, while the others can be asked. None is taken
 * off before shelf_destroy().
 *
 * A recording that is still being written is opened again when somebody asks for it, but not at once
 * after the last time, and not for more than a small share of the time. Who asks gets the newest
 * picture of it that there is, and keeps that to the end of his request: answers are of one moment.
 * Threads: any.
 */
#ifndef SERVE_SHELF_H
#define SERVE_SHELF_H

#include "serve/serve.h"

#define SHELF_ID_BYTES 33 /* 32 hexadecimal digits and the end */

enum shelf_state {
	SHELF_LOADING,
	SHELF_READY,
	SHELF_FAILED,
};

struct shelf_item; /* opaque: defined in shelf.c */
struct shelf_picture; /* a recording at one moment; opaque: defined in shelf.c */
struct shelf; /* opaque: defined in shelf.c */

/* Begins to load all of path. source is borrowed. */
int shelf_create(const struct serve_source *source, const char *const *path, size_t n_paths,
		 struct shelf **ret, struct err *err);
void shelf_destroy(struct shelf *s); /* stops what is still loading; NULL does nothing */

size_t shelf_n_items(const struct shelf *s);
struct shelf_item *shelf_item(const struct shelf *s, size_t index);

/* By id, or "last": the last one given that has not failed. NULL: there is none. */
struct shelf_item *shelf_find(const struct shelf *s, const char *id);

enum shelf_state shelf_state(struct shelf_item *i);
double shelf_percent(struct shelf_item *i); /* 0 to 100 */

/* While it is loading: in how many seconds it will be ready, if it goes on as fast as so far. False: too
 * early to say. */
bool shelf_eta_s(struct shelf_item *i, double *ret);
const char *shelf_id(const struct shelf_item *i);
const char *shelf_path(const struct shelf_item *i);

/* Of one that failed: why. */
const char *shelf_error(struct shelf_item *i);

/* The newest picture of one that is ready, else NULL. To be given back; NULL may be, too. */
struct shelf_picture *shelf_take(struct shelf_item *i);
void shelf_give(struct shelf_picture *p);

const struct store *shelf_store(const struct shelf_picture *p);
bool shelf_is_growing(const struct shelf_picture *p); /* it was still being written then */
struct frames *shelf_frames(const struct shelf_picture *p);

/* The number of allocations whose stack has a code, by code. Counted when first asked for; NULL
 * when there is no memory for it. */
const uint64_t *shelf_code_counts(struct shelf_picture *p);

/* The peaks of filters, found once; may be NULL. */
struct peak_cache *shelf_peaks(const struct shelf_picture *p);

/* If it is time to look whether a recording has grown: looks, and waits so long for what comes of it. */
void shelf_freshen(struct shelf_item *i, unsigned max_ms);

/* Waits until it is no longer loading, the time is over, or gone(user) says so. */
void shelf_wait(struct shelf_item *i, unsigned max_ms, bool (*gone)(void *user), void *user);

#endif
