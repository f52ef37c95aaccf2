/* cli/export_file.c - see export_file.h. */
#include "cli/export_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/units.h"
#include "export/gzip_out.h"
#include "util/atomic_file.h"
#include "util/progress.h"

struct export_file {
	struct atomic_file *atomic; /* NULL: stdout, or not a regular file (a pipe) */
	FILE *plain; /* writes to atomic, or is the output itself */
	FILE *gzip; /* writes to plain; NULL: no compression */
	struct progress progress; /* bytes written to atomic */
	struct err err; /* of the first write to atomic that failed */
};

static bool is_stdout(const char *path)
{
	return !path || strcmp(path, "-") == 0;
}

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), n_end = strlen(end);

	return n >= n_end && strcmp(text + n - n_end, end) == 0;
}

int export_file_check(const char *path, const struct export_format *f, struct err *err)
{
	if (is_stdout(path)) {
		if (f->flags & EXPORT_BINARY && isatty(STDOUT_FILENO))
			return err_set(
				err, ERR_USAGE,
				"the format %s is binary and not for a terminal; add -o FILE",
				f->name);
		return 0;
	}
	if (ends_with(path, ".zst") || ends_with(path, ".xz") || ends_with(path, ".bz2"))
		return err_set(err, ERR_USAGE,
			       "'%s': the only compression is .gz; for others leave out -o and use "
			       "a pipe",
			       path);
	return 0;
}

static ssize_t cookie_write(void *cookie, const char *bytes, size_t len)
{
	struct export_file *file = cookie;

	progress_add(&file->progress, len);
	if (atomic_file_append(file->atomic, bytes, len, &file->err) < 0) {
		errno = EIO;
		return 0; /* fopencookie(): 0 is an error */
	}
	return (ssize_t)len;
}

static int open_plain(struct export_file *file, const char *path, struct err *err)
{
	const cookie_io_functions_t io = {.write = cookie_write};
	char label[PROGRESS_LABEL_BYTES];
	struct stat st;
	int r;

	file->plain = stdout;
	if (is_stdout(path))
		return 0;
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) { /* a pipe, /dev/null */
		file->plain = fopen(path, "we");
		return file->plain ? 0 : err_set_errno(err, errno, "cannot write '%s'", path);
	}
	r = atomic_file_create(path, 0666, 0, &file->atomic, err);
	if (r < 0)
		return r;
	file->plain = fopencookie(file, "w", io);
	if (!file->plain) {
		atomic_file_discard(file->atomic);
		return err_set_memory(err, sizeof(FILE));
	}
	setvbuf(file->plain, NULL, _IOFBF, 256 * KIB);
	snprintf(label, sizeof(label), "writing %s", path);
	progress_start(&file->progress, label, 0, PROGRESS_BYTES); /* 0: the size is not known */
	return 0;
}

int export_file_open(const char *path, const struct export_format *f, struct export_file **ret,
		     struct err *err)
{
	struct export_file *file = calloc(1, sizeof(*file));
	int r;

	if (!file)
		return err_set_memory(err, sizeof(*file));
	r = open_plain(file, path, err);
	if (r < 0) {
		free(file);
		return r;
	}
	if (!is_stdout(path) && ends_with(path, ".gz") && !(f->flags & EXPORT_COMPRESSED))
		r = gzip_out_open(file->plain, &file->gzip, err);
	if (r < 0)
		return export_file_close(file, r, err);
	*ret = file;
	return 0;
}

FILE *export_file_stream(struct export_file *file)
{
	return file->gzip ? file->gzip : file->plain;
}

int export_file_close(struct export_file *file, int result, struct err *err)
{
	struct err closing = {0};

	progress_end(&file->progress);

	if (file->gzip) {
		int r = gzip_out_close(file->gzip, file->plain, &closing);

		if (result == 0 && r < 0) {
			*err = closing;
			result = r;
		}
	}
	if (file->plain != stdout && fclose(file->plain) != 0 && result == 0)
		result = err_set_errno(err, errno, "cannot write the output");
	if (file->err.code) { /* says more than stdio's EIO */
		*err = file->err;
		result = -file->err.code;
	}
	if (result == 0 && file->atomic)
		result = atomic_file_commit(file->atomic, err);
	else
		atomic_file_discard(file->atomic);
	free(file);
	return result;
}
