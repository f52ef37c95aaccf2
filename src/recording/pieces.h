/* recording/pieces.h - which files are pieces of one run of the recorder (docs/FORMAT.md 1.4). */
#ifndef RECORDING_PIECES_H
#define RECORDING_PIECES_H

#include "util/err.h"

/* Sorts the paths of pieces by their numbers. ERR_USAGE: they are not all of one run, or one is
 * there twice; the text names two of the files. Errors of reading the headers. One path is always
 * fine, and is not looked at. */
int pieces_sort(const char **path, size_t n_paths, struct err *err);

/* Paths that belong together. */
struct pieces_group {
	const char **path; /* in order; borrowed texts */
	size_t n;
};

/* Groups paths: the pieces of a run are a group, in the place of the first of them. Every other
 * path (also of a file that cannot be read, or that is there twice) is a group of its own. The
 * groups' arrays lie in one piece of memory: *ret, to be freed. ERR_MEMORY. */
int pieces_group(const char *const *path, size_t n_paths, struct pieces_group **ret,
		 size_t *n_groups, struct err *err);

/* The other pieces of the same run in the folder of a piece, for what this piece does not carry.
 * *ret: their number, and an array of texts that pieces_free() frees; nothing if the file is no
 * piece or the folder cannot be read. ERR_MEMORY. */
int pieces_beside(const char *path, char ***ret, size_t *n, struct err *err);
void pieces_free(char **path, size_t n);

#endif
