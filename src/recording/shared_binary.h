/* recording/shared_binary.h - binaries that lie beside the recordings that need them.
 *
 * The file of a binary is a recording of nothing but that binary: a FILE chunk and its FILE_DATA
 * (format/shared_name.h). A recording names it by build id and size only. It is believed if its
 * FILE chunk has the same build id and size, and if nobody but the owner of the recording, the user
 * of this process or root can have written it.
 */
#ifndef RECORDING_SHARED_BINARY_H
#define RECORDING_SHARED_BINARY_H

#include "recording/chunk_reader.h"
#include "recording/metadata.h"

/* The name relative to the folder of the recording, to free(). NULL: no memory, or a build id that
 * names no file. */
char *shared_binary_name(const struct metadata_file *f);

/* Opens the file of f for a recording in folder that belongs to owner, and moves a reader behind its
 * FILE chunk: FILE_DATA chunks follow. The caller ends with shared_binary_close(). ERR_IO: there is
 * none. ERR_REFUSED: it is not believed. ERR_FORMAT and other errors of header_page_read(). */
struct shared_binary {
	struct file file;
	struct damage damage;
	struct chunk_reader reader;
};

int shared_binary_open(const char *folder, uint32_t owner, const struct metadata_file *f,
		       struct shared_binary **ret, struct err *err);
void shared_binary_close(struct shared_binary *b); /* NULL does nothing */

/* The next FILE_DATA chunk. 1; 0: there is none; or an error. */
int shared_binary_next(struct shared_binary *b, struct chunk_ref *ret, struct err *err);

/* Marks the files of a recording whose contents are beside it as complete. */
int shared_binary_mark(const char *folder, uint32_t owner, struct metadata *m, struct err *err);

#endif
