/* util/atomic_file.h - output that appears complete or not at all.
 *
 * The bytes go to a file without a name (O_TMPFILE) in the folder of the target; where the file
 * system has no such files, to .NAME.PID.N.tmp beside it. atomic_file_commit() puts it in the place
 * of the target in one step. Until then an existing target stays as it was, and whatever ends us
 * leaves nothing behind: a file without a name vanishes by itself, the other is removed by
 * atomic_file_discard() or, at SIGINT, SIGTERM and SIGHUP, by a handler that ends the process as
 * the signal would have. (The first file installs the handler, unless the program changed the
 * signal's disposition.)
 *
 * A target that is a symbolic link stays one: the file that it names is replaced. Nothing
 * but a regular file is ever replaced. Not synced: a power cut may lose the new file, not mix it.
 * Errors name the target. Threads: one at a time per file.
 */
#ifndef UTIL_ATOMIC_FILE_H
#define UTIL_ATOMIC_FILE_H

#include <sys/types.h>

#include "util/err.h"

#define ATOMIC_FILE_KEEP_EXISTING 1u /* a target that exists at the end is an error */
#define ATOMIC_FILE_NAMED 2u /* never O_TMPFILE; for tests */

struct atomic_file; /* opaque: defined in atomic_file.c */

/* Begins the file that is to become path. mode as for open(), 0600 for recordings. */
int atomic_file_create(const char *path, mode_t mode, unsigned flags, struct atomic_file **ret,
		       struct err *err);

/* Begins to append to the file at path, which is there and keeps its name. Nobody else may do so
 * meanwhile: waits ten seconds for others, then -ERR_REFUSED. What is appended must mean nothing before a last
 * atomic_file_pwrite() in front of it; all of it is on the disk before that one. Discarded before, the
 * file has its length again; if we are killed, it is longer. */
int atomic_file_extend(const char *path, struct atomic_file **ret, struct err *err);

/* Appends through a buffer. After a failure the file can only be discarded. */
int atomic_file_append(struct atomic_file *f, const void *data, size_t len, struct err *err);

/* Overwrites or extends at offset; appended bytes before it are written out first. Does not move
 * the place of the next append, unless it extends the file beyond it. */
int atomic_file_pwrite(struct atomic_file *f, uint64_t offset, const void *data, size_t len,
		       struct err *err);

/* Bytes so far, with those in the buffer: where the next append goes. */
uint64_t atomic_file_size(const struct atomic_file *f);

/* Writes the buffer out, for users of atomic_file_fd(). */
int atomic_file_flush(struct atomic_file *f, struct err *err);

/* The descriptor (readable and writable), to map or preallocate; stays the file's. */
int atomic_file_fd(const struct atomic_file *f);

/* Puts the file in the place of the target. f is gone in any case, also on failure. */
int atomic_file_commit(struct atomic_file *f, struct err *err);

/* Gives the file up; nothing remains of it. NULL does nothing. */
void atomic_file_discard(struct atomic_file *f);

#endif
