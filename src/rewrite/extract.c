/* rewrite/extract.c - see extract.h. */
#include "rewrite/extract.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/text.h"
#include "recording/chunk_unpack.h"
#include "rewrite/recording_copy.h"
#include "util/atomic_file.h"
#include "util/map.h"
#include "util/progress.h"
#include "util/utf8.h"

#define NAME_MAX_BYTES 240 /* of one part of a path; a suffix has room after it */
#define MAX_SUFFIX 1000000u

/* A file that is being written. */
struct extract_open {
	struct atomic_file *file; /* NULL: nothing to write, or done */
	uint64_t covered_bytes;
	bool is_begun;
	char *path;
};

struct extract {
	const struct recording *rec;
	const struct extract_options *options;
	struct extract_open *open; /* one for each of metadata.embedded */
	struct map taken; /* hash of each path written in this run -> 1 */
	struct progress progress; /* of the file that is being written */
};

/* ---- names ---- */

/* Copies one part of a path. Returns the number of bytes written. */
static size_t put_part(const char *part, size_t len, char *out)
{
	const uint8_t *p = (const uint8_t *)part;
	size_t n_out = 0;

	for (size_t i = 0; i < len && n_out + 4 < NAME_MAX_BYTES;) {
		unsigned n = utf8_length(p + i, len - i);
		bool is_control =
			p[i] < 0x20 || p[i] == 0x7f || (n == 2 && p[i] == 0xc2 && p[i + 1] < 0xa0);

		if (n == 0 || is_control) {
			out[n_out++] = '_';
			i += n ? n : 1;
			continue;
		}
		memcpy(out + n_out, p + i, n);
		n_out += n;
		i += n;
	}
	return n_out;
}

void extract_safe_path(const char *path, size_t len, const char *fallback,
		       char buf[EXTRACT_PATH_BYTES])
{
	size_t n_out = 0;

	for (size_t at = 0; at < len;) {
		const char *slash = memchr(path + at, '/', len - at);
		size_t n = slash ? (size_t)(slash - path) - at : len - at;
		const char *part = path + at;

		at += n + 1;
		if (n == 0 || (n == 1 && part[0] == '.'))
			continue;
		if (n_out + NAME_MAX_BYTES + 2 >= EXTRACT_PATH_BYTES / 2)
			break;
		if (n_out > 0)
			buf[n_out++] = '/';
		if (n == 2 && part[0] == '.' && part[1] == '.') {
			buf[n_out++] = '_';
			continue;
		}
		n_out += put_part(part, n, buf + n_out);
	}
	buf[n_out] = 0;
	if (n_out == 0)
		snprintf(buf, EXTRACT_PATH_BYTES, "%s", fallback);
}

/* ---- folders ---- */

/* Makes the folders of path after its first skip bytes. Fails with ENOTDIR if something that is no
 * folder is in the way (a file of the same recording, a symbolic link). */
static int make_folders(char *path, size_t skip)
{
	for (char *slash = strchr(path + skip, '/'); slash; slash = strchr(slash + 1, '/')) {
		struct stat st;
		int n;

		*slash = 0;
		n = lstat(path, &st);
		if (n == 0 && !S_ISDIR(st.st_mode)) {
			errno = ENOTDIR;
			n = -1;
		} else if (n < 0 && errno == ENOENT) {
			n = mkdir(path, 0777);
		}
		*slash = '/';
		if (n < 0)
			return -1;
	}
	return 0;
}

/* Makes the target folder with its parents, unless it exists. It may be a symbolic link. */
static int make_top(const char *folder, struct err *err)
{
	char path[EXTRACT_PATH_BYTES];
	struct stat st;

	if (strlen(folder) + 2 >= sizeof(path) / 2)
		return err_set(err, ERR_USAGE, "%.100s...: too long a name", folder);
	if (folder[0] == 0)
		return err_set(err, ERR_USAGE, "the name of the folder is empty");
	snprintf(path, sizeof(path), "%s/", folder);
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		if (stat(path, &st) < 0 && mkdir(path, 0777) < 0)
			return err_set_errno(err, errno, "%s: cannot be made", path);
		*slash = '/';
	}
	if (stat(folder, &st) == 0 && !S_ISDIR(st.st_mode))
		return err_set(err, ERR_REFUSED, "%s: is not a folder; name another one", folder);
	return 0;
}

/* ---- files ---- */

static void report_file(struct extract *x, size_t i, const char *path, enum extract_outcome outcome)
{
	const struct extract_file f = {
		.file = &x->rec->metadata.embedded[i], .path = path, .outcome = outcome};

	progress_end(&x->progress); /* the user may print something */
	if (x->options->on_file)
		x->options->on_file(x->options->user, &f);
}

/* Must this run not use the path? Because it wrote it already, or a folder or a link is there. */
static bool is_in_way(const struct extract *x, const char *path)
{
	struct stat st;

	if (map_find(&x->taken, hash_bytes(path, strlen(path))))
		return true;
	return lstat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

/* The path that the file had. The recorder opens the program by a name that says nothing; its path
 * is in the metadata. */
static const struct metadata_text *original_path(const struct extract *x,
						 const struct metadata_file *f)
{
	const struct metadata_text *executable = &x->rec->metadata.process.executable;

	if (f->path.bytes && strcmp(f->path.bytes, "/proc/self/exe") == 0 && executable->bytes)
		return executable;
	return &f->path;
}

/* Finds a path for a file and makes its folders. */
static int find_path(struct extract *x, const struct metadata_file *f,
		     char path[EXTRACT_PATH_BYTES], struct err *err)
{
	const struct metadata_text *original = original_path(x, f);
	char safe[EXTRACT_PATH_BYTES], fallback[32];
	size_t skip = strlen(x->options->folder) + 1;

	snprintf(fallback, sizeof(fallback), "file_%" PRIu64, f->id);
	extract_safe_path(original->bytes, original->len, fallback, safe);
	for (unsigned suffix = 0; suffix < MAX_SUFFIX; suffix++) {
		char tail[16] = "";

		if (suffix)
			snprintf(tail, sizeof(tail), ".%u", suffix);
		if (snprintf(path, EXTRACT_PATH_BYTES, "%s/%s%s", x->options->folder, safe, tail) >=
		    EXTRACT_PATH_BYTES)
			return err_set(err, ERR_LIMIT, "%.100s...: too long a name", path);
		if (make_folders(path, skip) < 0) {
			/* a file has the name of one of the folders: use the target folder
			 * itself */
			if (errno != ENOTDIR || !strchr(safe, '/'))
				return err_set_errno(err, errno, "%s: no folder can be made for it",
						     path);
			for (char *p = safe; *p; p++)
				*p = *p == '/' ? '_' : *p;
			continue;
		}
		if (!is_in_way(x, path))
			return 0;
	}
	return err_set(err, ERR_LIMIT, "%s: too many files of this name", path);
}

static int begin_file(struct extract *x, size_t i, struct err *err)
{
	const struct metadata_file *f = &x->rec->metadata.embedded[i];
	struct extract_open *o = &x->open[i];
	char path[EXTRACT_PATH_BYTES], label[PROGRESS_LABEL_BYTES];
	struct stat st;
	uint64_t *slot;
	int r;

	o->is_begun = true;
	if (!f->is_complete) {
		report_file(x, i, f->path.bytes, EXTRACT_INCOMPLETE);
		return 0;
	}
	r = find_path(x, f, path, err);
	if (r < 0)
		return r;
	if (!x->options->replaces && lstat(path, &st) == 0) {
		report_file(x, i, path, EXTRACT_EXISTS);
		return 0;
	}
	o->path = strdup(path);
	if (!o->path)
		return err_set_memory(err, strlen(path));
	r = map_add(&x->taken, hash_bytes(path, strlen(path)), &slot, NULL, err);
	if (r < 0)
		return r;
	progress_end(&x->progress);
	snprintf(label, sizeof(label), "extracting %s", text_basename(path));
	progress_start(&x->progress, label, f->size_bytes, PROGRESS_BYTES);
	return atomic_file_create(path, 0666, x->options->replaces ? 0 : ATOMIC_FILE_KEEP_EXISTING,
				  &o->file, err);
}

static int end_file(struct extract *x, size_t i, struct err *err)
{
	struct extract_open *o = &x->open[i];
	int r = atomic_file_commit(o->file, err);

	o->file = NULL;
	if (r == 0)
		report_file(x, i, o->path, EXTRACT_WRITTEN);
	return r;
}

/* Writes a piece that begins where the piece before it ended, as metadata_add_file_data()
 * counts. */
static int add_data(struct extract *x, size_t i, const struct chunk_header *h,
		    const uint8_t *payload, struct err *err)
{
	struct extract_open *o = &x->open[i];
	struct chunk_unpacked u = {0};
	int r = o->is_begun ? 0 : begin_file(x, i, err);

	if (r < 0 || !o->file || load_le64(payload + 8) != o->covered_bytes)
		return r;
	r = chunk_unpack(h, payload, CHUNK_UNPACK_FILE_DATA_HEAD, &u, err);
	if (r == 0 && u.len > 0)
		r = atomic_file_append(o->file, u.data, u.len, err);
	if (r == 0)
		o->covered_bytes += u.len;
	progress_set(&x->progress, o->covered_bytes);
	if (r == 0 && u.len == 0 && o->covered_bytes == x->rec->metadata.embedded[i].size_bytes)
		r = end_file(x, i, err);
	if (r == -ERR_FORMAT) { /* complete by its lengths, but damaged */
		atomic_file_discard(o->file);
		o->file = NULL;
		report_file(x, i, x->rec->metadata.embedded[i].path.bytes, EXTRACT_INCOMPLETE);
		r = 0;
	}
	free(u.buf);
	return r;
}

static int on_chunk(void *user, const struct chunk_header *h, const uint8_t *payload,
		    struct err *err)
{
	struct extract *x = user;
	const uint64_t *at;

	if (h->type != CHUNK_FILE_DATA || h->stored_bytes < CHUNK_UNPACK_FILE_DATA_HEAD)
		return 0;
	at = map_find(&x->rec->metadata.embedded_at, load_le32(payload));
	return at ? add_data(x, *at, h, payload, err) : 0;
}

int extract_run(const struct recording *r, const struct extract_options *options, struct err *err)
{
	struct extract x = {.rec = r, .options = options};
	int n = make_top(options->folder, err);

	if (n < 0)
		return n;
	x.open = calloc(r->metadata.n_embedded + 1, sizeof(*x.open));
	if (!x.open)
		return err_set_memory(err, r->metadata.n_embedded * sizeof(*x.open));
	n = chunk_walk(r, on_chunk, &x, err);
	progress_end(&x.progress);
	for (size_t i = 0; i < r->metadata.n_embedded; i++) {
		/* the recording has nothing of it, or not its end */
		if (n == 0 && (!x.open[i].is_begun || x.open[i].file))
			report_file(&x, i, r->metadata.embedded[i].path.bytes, EXTRACT_INCOMPLETE);
		atomic_file_discard(x.open[i].file);
		free(x.open[i].path);
	}
	free(x.open);
	map_fini(&x.taken);
	return n;
}
