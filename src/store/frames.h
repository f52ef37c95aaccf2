/* store/frames.h - names for code: the frames of a stack as people read them.
 *
 * A code address stands for one or more frames: inlined functions first (innermost first), then
 * the function that holds the machine code. Names are looked up when they are first asked for,
 * by a resolver that the opener of the store gives (open/symbolize.h), and kept in a file beside the
 * store, so the next run finds them there. Without a resolver, or where nothing is known, a frame has
 * only its address and module; that is not remembered, so a later resolver is asked.
 *
 * Threads: any number of callers; resolving is serialised inside.
 */
#ifndef STORE_FRAMES_H
#define STORE_FRAMES_H

#include "store/frame.h"
#include "store/store.h"

struct frames; /* opaque: defined in frames.c */

/* Looks up n codes and calls frames_put() once for each. It may use threads of its own, but calls
 * frames_put() from one at a time. Resolved or not, every code must be put: "nothing known" is
 * n_names == 0 and is remembered, too. */
typedef int (*frames_resolve)(void *user, struct frames *f, const uint32_t *code, size_t n,
			      struct err *err);

/* store is borrowed. cache_path may be NULL: nothing is kept. A cache that is damaged or belongs
 * to another store is ignored and written anew. */
int frames_open(const struct store *store, const char *cache_path, struct frames **ret,
		struct err *err);
void frames_close(struct frames *f); /* writes what is new; NULL does nothing */

/* Writes what is new now, for who opens them meanwhile. */
void frames_save(struct frames *f);

void frames_set_resolver(struct frames *f, frames_resolve resolve, void *user);

/* Forgets what the cache holds: for when names may be found now that were not before, such as with
 * other debug files. Only before the first question. */
void frames_forget(struct frames *f);

/* For the resolver. */
int frames_put(struct frames *f, uint32_t code, const struct frame_names *names, size_t n_names,
	       struct err *err);

/* Makes sure that the frames of these codes (or of all codes of the store) are known. */
int frames_need(struct frames *f, const uint32_t *code, size_t n, struct err *err);
int frames_need_all(struct frames *f, struct err *err);

/* The frames of a code that was asked for: at least one. Borrowed until frames_close(). Of a code that
 * was not asked for, one with the address alone, unless the cache has it. */
const struct frame *frames_of_code(struct frames *f, uint32_t code, size_t *n);

/* Calls fn for the frames of a stack, innermost first, until it returns false. Nodes that are
 * marks and not frames are passed over. Names that were not asked for are looked up now. */
int frames_each(struct frames *f, uint32_t stack, bool (*fn)(void *user, const struct frame *frame),
		void *user, struct err *err);

/* The same as an array of *n, for the caller to free(); what it points to is borrowed. */
int frames_list(struct frames *f, uint32_t stack, const struct frame ***ret, size_t *n,
		struct err *err);

#endif
