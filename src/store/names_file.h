/* store/names_file.h - the names of code addresses, in a file beside the store.
 *
 * The file belongs to one store: it holds the store's identity and a checksum of the store's tables
 * of codes and modules. Readers map the file and use it where it lies. docs/STORE.md, section 4,
 * has the layout. Threads: any number of readers.
 */
#ifndef STORE_NAMES_FILE_H
#define STORE_NAMES_FILE_H

#include "store/frame.h"
#include "store/store.h"

struct names_file; /* opaque: defined in names_file.c */

/* Opens and checks the file. -ERR_FORMAT: damaged, or of another store; -ERR_VERSION: of another
 * version. In all three cases: write a new file. -ERR_IO: the file cannot be opened. */
int names_file_open(const char *path, const struct store *store, struct names_file **ret,
		    struct err *err);
void names_file_close(struct names_file *f); /* NULL does nothing */

/* Is there an answer for a code? If so, *n is the number of its names; 0 means that the code was
 * looked up and has no names. If the store has grown since the file was written, codes without
 * names count as not answered: what was not found then may be found now. */
bool names_file_find(const struct names_file *f, uint32_t code, size_t *n);

/* Name i of a code, borrowed until names_file_close(). i is less than the *n of
 * names_file_find(). */
void names_file_get(const struct names_file *f, uint32_t code, size_t i, struct frame_names *ret);

/* Gives the names to write. find and get mean what names_file_find() and names_file_get() mean. The
 * texts stay valid until names_file_write() returns. */
struct names_source {
	void *user;
	bool (*find)(void *user, uint32_t code, size_t *n);
	void (*get)(void *user, uint32_t code, size_t i, struct frame_names *ret);
};

/* Writes the names of all codes for which the source has an answer. The file appears complete or
 * not at all (util/atomic_file.h). */
int names_file_write(const char *path, const struct store *store, const struct names_source *source,
		     struct err *err);

#endif
