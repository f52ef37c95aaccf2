/* recording/pieces.c - see pieces.h. */
#include "recording/pieces.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "recording/header_page.h"
#include "util/vec.h"

/* A path and its header. */
struct candidate {
	const char *path;
	struct file_header header;
	bool is_known; /* the header could be read */
	bool is_taken; /* a group has it */
};

static int read_header(const char *path, struct file_header *ret, struct err *err)
{
	struct file f = FILE_NONE;
	struct header_page page;
	int r = file_open(path, &f, err);

	if (r == 0)
		r = header_page_read(&f, &page, err);
	file_close(&f);
	if (r == 0)
		*ret = page.header;
	return r;
}

static int compare_pieces(const void *x, const void *y)
{
	const struct candidate *a = x, *b = y;

	return a->header.piece < b->header.piece ? -1 : a->header.piece > b->header.piece;
}

/* Are a and b, which follow each other in the order of their numbers, pieces of one run? */
static int check_pair(const struct candidate *a, const struct candidate *b, struct err *err)
{
	const struct candidate *old = !a->header.piece ? a : b;

	if (!old->header.piece)
		return err_set(err, ERR_USAGE,
			       "%s is no piece of a run of the recorder: open it alone", old->path);
	if (!file_header_is_same_run(&a->header, &b->header))
		return err_set(err, ERR_USAGE,
			       "%s and %s are of different runs of the recorder: open them one by "
			       "one",
			       a->path, b->path);
	if (a->header.piece == b->header.piece)
		return err_set(err, ERR_USAGE, "%s and %s are the same piece (number %u)", a->path,
			       b->path, a->header.piece);
	return 0;
}

int pieces_sort(const char **path, size_t n_paths, struct err *err)
{
	struct candidate *c;
	int r = 0;

	if (n_paths < 2)
		return 0;
	if (n_paths > UINT16_MAX)
		return err_set(err, ERR_LIMIT, "%zu pieces are too many", n_paths);
	c = calloc(n_paths, sizeof(*c));
	if (!c)
		return err_set_memory(err, n_paths * sizeof(*c));
	for (size_t i = 0; r == 0 && i < n_paths; i++) {
		c[i].path = path[i];
		r = read_header(path[i], &c[i].header, err);
		if (r < 0)
			err_prefix(err, "%s", path[i]);
	}
	if (r == 0)
		qsort(c, n_paths, sizeof(*c), compare_pieces);
	for (size_t i = 1; r == 0 && i < n_paths; i++)
		r = check_pair(&c[i - 1], &c[i], err);
	for (size_t i = 0; r == 0 && i < n_paths; i++)
		path[i] = c[i].path;
	free(c);
	return r;
}

/* Collects the pieces of the run of c[first] at path. Returns their number. */
static size_t collect(struct candidate *c, size_t first, size_t n, const char **path)
{
	size_t n_found = 0;

	for (size_t i = first; i < n; i++) {
		if (i > first && (c[i].is_taken || !c[i].is_known || !c[first].is_known ||
				  !file_header_is_same_run(&c[first].header, &c[i].header)))
			continue;
		c[i].is_taken = true;
		path[n_found++] = c[i].path;
	}
	if (n_found > 1 && pieces_sort(path, n_found, NULL) < 0) {
		/* one is there twice: each alone */
		for (size_t i = first + 1; i < n; i++)
			c[i].is_taken = c[i].is_taken && c[i].is_known &&
					!file_header_is_same_run(&c[first].header, &c[i].header);
		path[0] = c[first].path;
		c[first].header.piece = 0;
		n_found = 1;
	}
	return n_found;
}

int pieces_group(const char *const *path, size_t n_paths, struct pieces_group **ret,
		 size_t *n_groups, struct err *err)
{
	size_t n_bytes = n_paths * (sizeof(struct pieces_group) + sizeof(char *));
	struct candidate *c = calloc(n_paths + 1, sizeof(*c));
	struct pieces_group *group = malloc(n_bytes + 1);
	const char **at = (const char **)(void *)(group + n_paths);

	if (!c || !group) {
		free(c);
		free(group);
		return err_set_memory(err, n_bytes);
	}
	for (size_t i = 0; i < n_paths; i++) {
		c[i].path = path[i];
		c[i].is_known = read_header(path[i], &c[i].header, NULL) == 0;
	}
	*n_groups = 0;
	for (size_t i = 0; i < n_paths; i++) {
		if (c[i].is_taken)
			continue;
		group[*n_groups] =
			(struct pieces_group){.path = at, .n = collect(c, i, n_paths, at)};
		at += group[(*n_groups)++].n;
	}
	free(c);
	*ret = group;
	return 0;
}

/* Adds the file if it is another piece of the run. */
static int consider(const char *path, const struct file_header *own, char ***ret, size_t *n,
		    size_t *cap, struct err *err)
{
	struct file_header h;
	char *copy;
	int r;

	if (read_header(path, &h, NULL) < 0 || !file_header_is_same_run(own, &h) ||
	    h.piece == own->piece)
		return 0;
	r = vec_reserve(ret, cap, *n + 1, sizeof(**ret), err);
	if (r < 0)
		return r;
	copy = strdup(path);
	if (!copy)
		return err_set_memory(err, strlen(path));
	(*ret)[(*n)++] = copy;
	return 0;
}

int pieces_beside(const char *path, char ***ret, size_t *n, struct err *err)
{
	struct file_header own;
	char *folder = NULL;
	DIR *dir = NULL;
	struct dirent *entry;
	size_t cap = 0;
	int r = 0;

	*ret = NULL;
	*n = 0;
	if (read_header(path, &own, NULL) < 0 || !own.piece)
		return 0;
	folder = file_folder(path);
	dir = folder ? opendir(folder) : NULL;
	while (dir && r == 0 && *n < UINT16_MAX && (entry = readdir(dir))) {
		char *sibling = NULL;

		if (entry->d_name[0] == '.' ||
		    asprintf(&sibling, "%s/%s", folder, entry->d_name) < 0)
			continue;
		r = consider(sibling, &own, ret, n, &cap, err);
		free(sibling);
	}
	if (dir)
		closedir(dir);
	free(folder);
	if (r < 0) {
		pieces_free(*ret, *n);
		*ret = NULL;
		*n = 0;
	}
	return r;
}

void pieces_free(char **path, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(path[i]);
	free(path);
}
