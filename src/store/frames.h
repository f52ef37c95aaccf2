/* store/frames.h - names for code: the frames of a stack as people read them.
 *
 * A code address ("code") stands for one or more frames: inlined functions first (innermost first),
 * then the function that holds the machine code. Names are looked up when they are first asked for.
 * A resolver, which the opener of the store sets (open/symbolize.h), finds them. A file beside the
 * store keeps them (names_file.h), so the next run finds them there.
 *
 * Each code is in one of three states:
 * - known: a resolver or the file gave its names. "Nothing known" (no names) is an answer like any
 *   other: it is kept in memory and in the file, and nobody looks again, unless the store has grown
 *   since the file was written (docs/STORE.md, section 4).
 * - bare: no resolver was set when the code was asked for. The code has one frame with its address
 *   and module. This is not kept: the next question asks a resolver, if one is set by then.
 * - not asked for.
 *
 * Threads: any number of callers. One resolver runs at a time; readers of known codes take no lock.
 */
#ifndef STORE_FRAMES_H
#define STORE_FRAMES_H

#include "store/frame.h"
#include "store/store.h"

struct frames; /* opaque: defined in frames.c */

/* Looks up n distinct codes and calls frames_put() once for each, also for a code of which nothing
 * is known (n_names == 0): a code that is not put becomes bare and is asked for again. A resolver
 * may use threads of its own, but calls frames_put() from one thread at a time. 0, or an error that
 * becomes the result of the question. */
typedef int (*frames_resolve)(void *user, struct frames *f, const uint32_t *code, size_t n,
			      struct err *err);

/* Opens the names of a store, which is borrowed. cache_path: the file of names; NULL: no file is
 * read or written. A file that is damaged or belongs to another store is ignored, and replaced when
 * there is something new to write. -ERR_MEMORY. */
int frames_open(const struct store *store, const char *cache_path, struct frames **ret,
		struct err *err);
void frames_close(struct frames *f); /* saves, then frees; NULL does nothing */

/* Writes the file, if names were found that are not in it. A file that cannot be written is no
 * error: the next run looks the names up again. */
void frames_save(struct frames *f);

void frames_set_resolver(struct frames *f, frames_resolve resolve, void *user);

/* Forgets the names in the file, so that all codes are looked up again: for a run with other debug
 * files. Call it before the first question. */
void frames_forget(struct frames *f);

/* For the resolver: sets the names of a code and copies their texts. Names beyond the 4096th are
 * dropped. -ERR_USAGE: there is no such code; -ERR_MEMORY. */
int frames_put(struct frames *f, uint32_t code, const struct frame_names *names, size_t n_names,
	       struct err *err);

/* Makes the frames of these codes (or of all codes of the store) known, as far as the resolver can.
 * Codes that do not exist are ignored. 0, or the error of the resolver. */
int frames_need(struct frames *f, const uint32_t *code, size_t n, struct err *err);
int frames_need_all(struct frames *f, struct err *err);

/* The frames of a code, at least one; *n is their number. Borrowed until frames_close(). Does not
 * call the resolver: a code that was not asked for has its names only if the file has them, and is
 * bare otherwise. Cannot fail. */
const struct frame *frames_of_code(struct frames *f, uint32_t code, size_t *n);

/* Calls fn for the frames of a stack, innermost first, until fn returns false. Skips nodes that are
 * not frames (STORE_NODE_END, STORE_NODE_GUESS). Looks up names that are not known yet.
 * -ERR_USAGE: there is no such stack. */
int frames_each(struct frames *f, uint32_t stack, bool (*fn)(void *user, const struct frame *frame),
		void *user, struct err *err);

/* The frames of a stack, innermost first, as an array of *n pointers. The caller frees the array;
 * the frames are borrowed until frames_close(). */
int frames_list(struct frames *f, uint32_t stack, const struct frame ***ret, size_t *n,
		struct err *err);

#endif
