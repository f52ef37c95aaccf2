/* util/file.c - see file.h. */
#include "util/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int check_kind(mode_t mode, struct err *err)
{
	if (S_ISREG(mode))
		return 0;
	if (S_ISDIR(mode))
		return err_set(err, ERR_FOREIGN,
			       "is a directory, not a recording; name a file in it");
	return err_set(err, ERR_FOREIGN,
		       "is not a regular file; copy what it delivers to a file first");
}

int file_open(const char *path, struct file *ret, struct err *err)
{
	struct file f = FILE_NONE;
	struct stat st;
	int r;

	/* O_NONBLOCK: a fifo must not hang us, it is refused below */
	f.fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (f.fd < 0)
		return err_set_errno(err, errno, "cannot be opened");
	if (fstat(f.fd, &st) < 0) {
		r = err_set_errno(err, errno, "cannot be examined");
		goto out;
	}
	r = check_kind(st.st_mode, err);
	if (r < 0)
		goto out;
	f.size_bytes = (uint64_t)st.st_size;
	*ret = f;
	f = FILE_NONE; /* the caller's now */
out:
	file_close(&f);
	return r;
}

void file_close(struct file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	*f = FILE_NONE;
}

int file_update_size(struct file *f, struct err *err)
{
	struct stat st;

	if (fstat(f->fd, &st) < 0)
		return err_set_errno(err, errno, "cannot be examined");
	f->size_bytes = (uint64_t)st.st_size;
	return 0;
}

int file_read(const struct file *f, uint64_t offset, void *buf, size_t len, size_t *n_read,
	      struct err *err)
{
	size_t done = 0;

	if (offset > INT64_MAX || len > INT64_MAX - offset)
		return err_set(err, ERR_FORMAT, "offset %" PRIu64 " is beyond any file", offset);
	while (done < len) {
		ssize_t n = pread(f->fd, (char *)buf + done, len - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set_errno(err, errno, "offset %" PRIu64 " cannot be read",
					     offset + done);
		if (n == 0)
			break;
		done += (size_t)n;
	}
	*n_read = done;
	return 0;
}

int file_read_all(const struct file *f, uint64_t offset, void *buf, size_t len, struct err *err)
{
	size_t n_read = 0;
	int r = file_read(f, offset, buf, len, &n_read, err);

	if (r < 0)
		return r;
	if (n_read < len)
		return err_set(err, ERR_FORMAT,
			       "the file ends at offset %" PRIu64 ", inside %zu bytes at %" PRIu64,
			       offset + n_read, len, offset);
	return 0;
}

bool file_is_trusted(const struct file *f)
{
	struct stat st;

	return fstat(f->fd, &st) == 0 && (st.st_uid == geteuid() || st.st_uid == 0) &&
	       !(st.st_mode & (S_IWGRP | S_IWOTH));
}

char *file_folder(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return strdup(".");
	return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

bool file_is_same(const char *path, const char *other)
{
	struct stat a, b;

	return stat(path, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}
