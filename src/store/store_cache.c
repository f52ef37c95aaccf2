/* store/store_cache.c - see store_cache.h. */
#include "store/store_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/units.h"
#include "store/checksum64.h"
#include "util/file.h"
#include "util/vec.h"

#define STORE_ENDING ".store"
#define NAMES_ENDING ".symbols"
#define ID_BYTES 16
#define HASH_DIGITS 16
#define STEM_DIGITS (2 * ID_BYTES + 1 + HASH_DIGITS) /* ID-PATH */

void store_paths_fini(struct store_paths *p)
{
	free(p->store);
	free(p->names);
	*p = (struct store_paths){0};
}

/* Fills in the paths of the two files whose names begin with stem. */
static int make_paths(const char *stem, bool is_beside, struct store_paths *ret, struct err *err)
{
	struct store_paths p = {.is_beside = is_beside};

	if (asprintf(&p.store, "%s" STORE_ENDING, stem) < 0)
		p.store = NULL;
	if (asprintf(&p.names, "%s" NAMES_ENDING, stem) < 0)
		p.names = NULL;
	if (!p.store || !p.names) {
		store_paths_fini(&p);
		return err_set_memory(err, strlen(stem));
	}
	*ret = p;
	return 0;
}

/* ---- folders and names ---- */

/* The path of the cache folder, to free(). The folder may not exist yet. -ERR_IO: neither HOME nor
 * XDG_CACHE_HOME is set. */
static int cache_folder(char **ret, struct err *err)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	char *folder = NULL;
	int n;

	if (cache && cache[0] == '/') /* the XDG specification: ignore relative paths */
		n = asprintf(&folder, "%s/memory-profiler", cache);
	else if (home && home[0] == '/')
		n = asprintf(&folder, "%s/.cache/memory-profiler", home);
	else
		return err_set(err, ERR_IO, "there is no cache folder; set HOME or XDG_CACHE_HOME");
	if (n < 0)
		return err_set_memory(err, PATH_MAX);
	*ret = folder;
	return 0;
}

/* Makes the folder and its parents, readable by the owner only. */
static int make_folder(const char *folder, struct err *err)
{
	char part[PATH_MAX];
	size_t len = strlen(folder);

	if (len >= sizeof(part))
		return err_set_errno(err, ENAMETOOLONG, "%s", folder);
	for (size_t i = 1; i <= len; i++) {
		if (folder[i] != '/' && folder[i] != 0)
			continue;
		memcpy(part, folder, i);
		part[i] = 0;
		if (mkdir(part, 0700) < 0 && errno != EEXIST && access(part, F_OK) != 0)
			return err_set_errno(err, errno,
					     "%s: cannot be made; make the folder of the recording "
					     "writable or set XDG_CACHE_HOME",
					     part);
	}
	return 0;
}

/* The path of a recording without symbolic links, to free(). NULL: no memory. */
static char *real_path(const char *recording)
{
	char *real = realpath(recording, NULL);

	return real ? real : strdup(recording);
}

static uint64_t path_hash(const char *real)
{
	return checksum64_of(real, strlen(real));
}

static int paths_in_cache(const char *real, const uint8_t recording_id[ID_BYTES], bool make,
			  struct store_paths *ret, struct err *err)
{
	char id[2 * ID_BYTES + 1];
	char *folder = NULL, *stem = NULL;
	int r = cache_folder(&folder, err);

	if (r == 0 && make)
		r = make_folder(folder, err);
	if (r < 0)
		goto out;
	for (unsigned i = 0; i < ID_BYTES; i++)
		snprintf(id + 2 * (size_t)i, 3, "%02x", recording_id[i]);
	if (asprintf(&stem, "%s/%s-%016" PRIx64, folder, id, path_hash(real)) < 0) {
		stem = NULL;
		r = err_set_memory(err, PATH_MAX);
		goto out;
	}
	r = make_paths(stem, false, ret, err);
out:
	free(stem);
	free(folder);
	return r;
}

/* ---- finding ---- */

/* Opens the file if it is none of somebody else's and begins with magic. */
static bool is_own_file(const char *path, const char magic[8])
{
	struct file f = FILE_NONE;
	char bytes[8];
	bool is = false;

	if (file_open(path, &f, NULL) == 0)
		is = file_is_trusted(&f) && file_read_all(&f, 0, bytes, sizeof(bytes), NULL) == 0 &&
		     memcmp(bytes, magic, sizeof(bytes)) == 0;
	file_close(&f);
	return is;
}

/* Is the name free, or that of a file of ours? Then the file may be used, replaced or removed. A
 * symbolic link is not ours: to replace it is not what its maker wanted, and to follow it is what
 * an attacker may want. */
static bool is_ours(const char *path, const char magic[8])
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno == ENOENT;
	return S_ISREG(st.st_mode) && is_own_file(path, magic);
}

static bool are_ours(const struct store_paths *p)
{
	return is_ours(p->store, "MPSTORE") && is_ours(p->names, "MPNAMES");
}

/* NULL: the files may lie beside the recording. Else why they may not. */
static const char *why_not_beside(const char *real, const struct store_paths *p)
{
	char *folder = file_folder(real);
	bool is_writable = folder && access(folder, W_OK | X_OK) == 0;
	const char *const path[] = {p->store, p->names};

	free(folder);
	if (!is_writable)
		return "the folder of the recording cannot be written";
	for (size_t i = 0; i < ARRAY_LEN(path); i++) {
		struct stat st;

		if (is_ours(path[i], i == 0 ? "MPSTORE" : "MPNAMES"))
			continue;
		if (lstat(path[i], &st) == 0 && S_ISLNK(st.st_mode))
			return "a symbolic link has the name of the store beside the recording";
		if (lstat(path[i], &st) == 0 && ((st.st_uid != geteuid() && st.st_uid != 0) ||
						 (st.st_mode & (S_IWGRP | S_IWOTH))))
			return "the store beside the recording belongs to another user, or others "
			       "may write to it";
		return "another kind of file has the name of the store beside the recording";
	}
	return NULL;
}

int store_cache_paths(const char *recording, const uint8_t recording_id[16],
		      struct store_paths *ret, struct err *err)
{
	struct store_paths p = {0};
	char *real = real_path(recording);
	const char *why;
	int r;

	if (!real)
		return err_set_memory(err, PATH_MAX);
	r = make_paths(real, true, &p, err);
	why = r == 0 ? why_not_beside(real, &p) : NULL;
	if (why) {
		store_paths_fini(&p);
		r = paths_in_cache(real, recording_id, true, &p, err);
		p.why_not_beside = why;
	}
	free(real);
	if (r == 0)
		*ret = p;
	return r;
}

/* Opens the store if it has the identity. NULL: another identity, no store, or the file of names is
 * not ours. */
static struct store *open_if_same(const struct store_paths *p,
				  const struct store_identity *identity)
{
	struct store *s = NULL;

	if (!are_ours(p) || store_open(p->store, &s, NULL) < 0)
		return NULL;
	if (memcmp(store_identity(s), identity, sizeof(*identity)) != 0) {
		store_close(s);
		return NULL;
	}
	return s;
}

int store_cache_find(const char *recording, const struct store_identity *identity,
		     struct store **ret, struct store_paths *paths, struct err *err)
{
	struct store_paths p = {0};
	char *real = real_path(recording);
	struct store *s = NULL;
	int r;

	if (!real)
		return err_set_memory(err, PATH_MAX);
	r = make_paths(real, true, &p, err);
	if (r == 0)
		s = open_if_same(&p, identity);
	if (r == 0 && !s) {
		store_paths_fini(&p);
		/* an error means that there is no cache folder, so nothing is in it */
		if (paths_in_cache(real, identity->recording_id, false, &p, NULL) == 0)
			s = open_if_same(&p, identity);
	}
	free(real);
	if (r < 0)
		return r;
	if (s)
		*paths = p;
	else
		store_paths_fini(&p);
	*ret = s;
	return 0;
}

/* ---- listing and removing ---- */

static bool is_stale(const char *recording, const struct store_identity *identity)
{
	struct stat st;

	if (stat(recording, &st) < 0)
		return true;
	if (store_identity_grows(identity)) /* a later reading continues it */
		return false;
	return (uint64_t)st.st_size != identity->size_bytes ||
	       (uint64_t)st.st_mtim.tv_sec * NS_PER_S + (uint64_t)st.st_mtim.tv_nsec !=
		       identity->changed_ns;
}

/* Visits the store and the names at these paths, if there are any. recording: NULL when not
 * known. */
static int visit_files(const struct store_paths *p, const char *recording, store_cache_visit visit,
		       void *user, struct err *err)
{
	struct store_cache_item item = {.program = ""};
	struct store *s = NULL;
	struct stat st;
	int r;

	if (lstat(p->names, &st) == 0) {
		item.names = p->names;
		item.state = STORE_CACHE_NAMES;
		item.n_bytes = (uint64_t)st.st_size;
		item.changed_ns = (uint64_t)st.st_mtim.tv_sec * NS_PER_S;
	}
	if (lstat(p->store, &st) == 0) {
		item.store = p->store;
		item.n_bytes += (uint64_t)st.st_size;
		item.changed_ns = (uint64_t)st.st_mtim.tv_sec * NS_PER_S;
		r = store_open(p->store, &s, NULL);
		item.state = r == 0              ? STORE_CACHE_GOOD
			     : r == -ERR_VERSION ? STORE_CACHE_VERSION
						 : STORE_CACHE_DAMAGED;
	}
	if (!item.store && !item.names)
		return 0;
	if (s) {
		item.n_rows = store_n_rows(s);
		item.identity = *store_identity(s);
		item.program = store_string(s, store_facts(s)->executable, NULL);
		if (recording && is_stale(recording, &item.identity))
			item.state = STORE_CACHE_STALE;
	}
	r = visit(user, &item, err);
	store_close(s);
	return r;
}

/* The stems of names in the cache folder, sorted, each once. */
struct stems {
	char (*stem)[STEM_DIGITS + 1];
	size_t n, cap;
};

/* Is a file of the cache folder one of ours? hash: NULL, or the checksum of the path that it must
 * have. */
static bool is_cache_name(const char *name, const char *hash)
{
	const char *ending = name + STEM_DIGITS;

	if (strlen(name) <= STEM_DIGITS || name[2 * ID_BYTES] != '-' ||
	    strspn(name, "0123456789abcdef") != 2 * ID_BYTES ||
	    strspn(name + 2 * ID_BYTES + 1, "0123456789abcdef") != HASH_DIGITS)
		return false;
	if (strcmp(ending, STORE_ENDING) != 0 && strcmp(ending, NAMES_ENDING) != 0)
		return false;
	return !hash || strncmp(name + 2 * ID_BYTES + 1, hash, HASH_DIGITS) == 0;
}

static int compare_stems(const void *a, const void *b)
{
	return strcmp(a, b);
}

static int read_stems(const char *folder, const char *hash, struct stems *s, struct err *err)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	size_t n = 0;
	int r = 0;

	if (!dir && errno == ENOENT)
		return 0;
	if (!dir)
		return err_set_errno(err, errno, "%s: cannot be read", folder);
	while (r == 0 && (entry = readdir(dir)) != NULL) {
		if (!is_cache_name(entry->d_name, hash))
			continue;
		r = vec_reserve(&s->stem, &s->cap, s->n + 1, sizeof(*s->stem), err);
		if (r == 0) {
			memcpy(s->stem[s->n], entry->d_name, STEM_DIGITS);
			s->stem[s->n++][STEM_DIGITS] = 0;
		}
	}
	closedir(dir);
	if (r == 0 && s->n > 0)
		qsort(s->stem, s->n, sizeof(*s->stem), compare_stems);
	for (size_t i = 0; i < s->n; i++) {
		if (i == 0 || strcmp(s->stem[i], s->stem[n - 1]) != 0)
			memmove(s->stem[n++], s->stem[i], sizeof(*s->stem));
	}
	s->n = n;
	return r;
}

/* Visits the stores in the cache folder: all, or those of a recording. */
static int visit_folder(const char *recording, store_cache_visit visit, void *user, struct err *err)
{
	char *folder = NULL, *real = NULL;
	char hash[HASH_DIGITS + 1], path[PATH_MAX];
	struct stems stems = {0};
	int r;

	/* no folder, no stores; it is an error only for a caller who asks for the folder itself */
	if (cache_folder(&folder, err) < 0)
		return recording ? 0 : -ERR_IO;
	if (recording) {
		real = real_path(recording);
		snprintf(hash, sizeof(hash), "%016" PRIx64, path_hash(real ? real : recording));
	}
	r = read_stems(folder, recording ? hash : NULL, &stems, err);
	for (size_t i = 0; r == 0 && i < stems.n; i++) {
		struct store_paths p = {0};

		if ((size_t)snprintf(path, sizeof(path), "%s/%s", folder, stems.stem[i]) >=
		    sizeof(path))
			continue;
		r = make_paths(path, false, &p, err);
		if (r == 0)
			r = visit_files(&p, recording, visit, user, err);
		store_paths_fini(&p);
	}
	free(stems.stem);
	free(folder);
	free(real);
	return r;
}

static int visit_beside(const char *recording, store_cache_visit visit, void *user, struct err *err)
{
	char *real = real_path(recording);
	struct store_paths p = {0};
	int r;

	if (!real)
		return err_set_memory(err, PATH_MAX);
	r = make_paths(real, true, &p, err);
	if (r == 0 && are_ours(&p)) /* leave files of others alone */
		r = visit_files(&p, recording, visit, user, err);
	store_paths_fini(&p);
	free(real);
	return r;
}

int store_cache_each(char *const *recording, size_t n, store_cache_visit visit, void *user,
		     struct err *err)
{
	int r = 0;

	if (n == 0)
		return visit_folder(NULL, visit, user, err);
	for (size_t i = 0; r == 0 && i < n; i++) {
		r = visit_beside(recording[i], visit, user, err);
		if (r == 0)
			r = visit_folder(recording[i], visit, user, err);
	}
	return r;
}

static int remove_file(const char *path, struct err *err)
{
	if (path && unlink(path) < 0 && errno != ENOENT)
		return err_set_errno(err, errno, "%s: cannot be removed", path);
	return 0;
}

int store_cache_remove(const struct store_cache_item *item, struct err *err)
{
	int r = remove_file(item->store, err);

	return r == 0 ? remove_file(item->names, err) : r;
}
