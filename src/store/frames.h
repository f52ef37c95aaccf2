/* store/frames.h - names for code: the frames of a stack as people read them.
 *
 * A code is an index in STORE_CODES and stands for a code address. A code has one or more frames:
 * inlined functions first (innermost first), then the function that holds the machine code. Names
 * are looked up when they are first asked for. A resolver, which the opener of the store sets
 * (open/symbolize.h), finds the names. A file beside the store keeps the names for the next run
 * (names_file.h).
 *
 * Each code is in one of three states:
 * - known: a resolver or the file gave an answer. The answer may be "no names": then the code has
 *   one frame with address and module only. All answers are kept in memory and in the file. One
 *   exception: if the store has grown since the file was written, codes to which the file gives no
 *   names are looked up again; names in the file stay.
 * - bare: nobody gave an answer, for example because no resolver was set. The code has one frame
 *   with address and module only. The next question asks the resolver again.
 * - not asked for.
 * A bare code may become known. Frames that a caller got before stay valid, without names.
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
 * may use threads of its own, but calls frames_put() from one thread at a time. A resolver may call
 * frames_put() and frames_of_code(); any other function here would wait for the resolver itself.
 * 0, or an error that becomes the result of the question; codes that were put stay known. */
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

/* From any thread, at any time; waits while the resolver of before runs. user must stay valid until
 * the last question. */
void frames_set_resolver(struct frames *f, frames_resolve resolve, void *user);

/* Forgets the names in the file, so that all codes are looked up again: for a run with other debug
 * files. Only before the first question: later, frames would point to texts of the closed file. */
void frames_forget(struct frames *f);

/* For the resolver: sets the names of a code and copies their texts. Of more than 4096 names for
 * one code, the first 4096 are kept. -ERR_USAGE: there is no such code; -ERR_MEMORY. */
int frames_put(struct frames *f, uint32_t code, const struct frame_names *names, size_t n_names,
	       struct err *err);

/* Makes the frames of these codes (or of all codes of the store) known, as far as the resolver can.
 * Codes that do not exist are ignored. 0 (also without a resolver), the error of the resolver, or
 * -ERR_MEMORY. */
int frames_need(struct frames *f, const uint32_t *code, size_t n, struct err *err);
int frames_need_all(struct frames *f, struct err *err);
bool frames_has_all(struct frames *f); /* nothing is left to be looked up */

/* The frames of a code, which must exist; *n is their number, at least 1. Borrowed until
 * frames_close(). Does not call the resolver: a code that was not asked for has its names only if
 * the file has them, and is bare otherwise. Without memory the result is one empty frame. */
const struct frame *frames_of_code(struct frames *f, uint32_t code, size_t *n);

/* Looks up the names of a stack as frames_need() does, then calls fn for each frame, innermost
 * first, until fn returns false. Nodes of the stack that are not frames (STORE_NODE_END,
 * STORE_NODE_GUESS) are left out. -ERR_USAGE: there is no such stack; or an error of frames_need().
 * After an error fn was not called. */
int frames_each(struct frames *f, uint32_t stack, bool (*fn)(void *user, const struct frame *frame),
		void *user, struct err *err);

/* As frames_each(), but gives an array of *n pointers. The caller frees the array; the frames are
 * borrowed until frames_close(). Errors: as frames_each(), and -ERR_MEMORY. */
int frames_list(struct frames *f, uint32_t stack, const struct frame ***ret, size_t *n,
		struct err *err);

#endif
