/* store/names_file.h - names of code that were found once, kept in a file beside the store.
 *
 * The file belongs to one store: to its identity and to its tables of codes and modules. It is
 * mapped and used where it lies. docs/STORE.md has the layout.
 */
#ifndef STORE_NAMES_FILE_H
#define STORE_NAMES_FILE_H

#include "store/frame.h"
#include "store/store.h"

struct names_file; /* opaque: defined in names_file.c */

/* ERR_FORMAT or ERR_VERSION when it is damaged or of another store: make it anew. */
int names_file_open(const char *path, const struct store *store, struct names_file **ret,
		    struct err *err);
void names_file_close(struct names_file *f); /* NULL does nothing */

/* What is known of a code. False: nothing is kept about it. Otherwise *n is the number of names, also
 * 0 when it was looked up in vain. */
bool names_file_find(const struct names_file *f, uint32_t code, size_t *n);

/* One of them, borrowed until names_file_close(). i is less than the *n of names_file_find(). */
void names_file_get(const struct names_file *f, uint32_t code, size_t i, struct frame_names *ret);

/* Gives the names of a code to be written, in the way of names_file_find() and names_file_get(). The
 * texts stay good until the writing is done. */
struct names_source {
	void *user;
	bool (*find)(void *user, uint32_t code, size_t *n);
	void (*get)(void *user, uint32_t code, size_t i, struct frame_names *ret);
};

/* Writes all that the source has. The file appears whole or not at all. */
int names_file_write(const char *path, const struct store *store, const struct names_source *source,
		     struct err *err);

#endif
