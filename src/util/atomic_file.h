/* util/atomic_file.h - output that appears complete or not at all.
 *
 * The bytes go to a file without a name (O_TMPFILE) in the folder of the target; where the file
 * system has no such files, to .NAME.PID.N.tmp beside the target. atomic_file_commit() replaces the
 * target by the new file in one step. Until then an existing target stays as it was, and a process
 * that ends early leaves no file: a file without a name vanishes by itself; a named one is removed
 * by atomic_file_discard() or, at SIGINT, SIGTERM and SIGHUP, by a handler that then ends the
 * process as the signal would have. (The first file installs the handler, unless the program
 * changed the signal's disposition.)
 *
 * A target that is a symbolic link stays one: the file that the link names is replaced. Nothing but
 * a regular file is ever replaced. Not synced: a power cut may lose the new file, but never mixes
 * old and new bytes. Errors name the target. Threads: one at a time per file.
 */
#ifndef UTIL_ATOMIC_FILE_H
#define UTIL_ATOMIC_FILE_H

#include <sys/types.h>

#include "util/err.h"

#define ATOMIC_FILE_KEEP_EXISTING 1u /* a target that exists at the end is an error */
#define ATOMIC_FILE_NAMED 2u /* never O_TMPFILE; for tests */

struct atomic_file; /* opaque: defined in atomic_file.c */

/* Begins the file that is to become path. mode: as for open(), 0600 for recordings. */
int atomic_file_create(const char *path, mode_t mode, unsigned flags, struct atomic_file **ret,
		       struct err *err);

/* Begins to append to the existing file at path, under its own name.
 *	- One process at a time: waits ten seconds for another one, then -ERR_REFUSED.
 *	- Appended bytes must mean nothing to readers until a final atomic_file_pwrite() of a
 *	  header. All appended bytes are on the disk before that write.
 *	- atomic_file_discard() before that write cuts the file back to its old length. A process
 *	  that is killed before it leaves a longer file. */
int atomic_file_extend(const char *path, struct atomic_file **ret, struct err *err);

/* Appends through a buffer. After a failure the file can only be discarded. */
int atomic_file_append(struct atomic_file *f, const void *data, size_t len, struct err *err);

/* Overwrites or extends the file at offset, after writing the buffer out. The next append goes to
 * the same offset as without this call, unless this call made the file longer. */
int atomic_file_pwrite(struct atomic_file *f, uint64_t offset, const void *data, size_t len,
		       struct err *err);

/* Bytes so far, with those in the buffer: the offset of the next append. */
uint64_t atomic_file_size(const struct atomic_file *f);

/* Writes the buffer out, for users of atomic_file_fd(). */
int atomic_file_flush(struct atomic_file *f, struct err *err);

/* The descriptor (readable and writable), to map or preallocate. It is borrowed. */
int atomic_file_fd(const struct atomic_file *f);

/* Replaces the target by the file. Frees f in any case, also on failure. */
int atomic_file_commit(struct atomic_file *f, struct err *err);

/* Removes the file and frees f. NULL does nothing. */
void atomic_file_discard(struct atomic_file *f);

#endif
