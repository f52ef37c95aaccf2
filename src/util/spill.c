/* util/spill.c - see spill.h. */
#include "util/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bits.h"
#include "util/temp_file.h"

#define PAGE_BYTES 4096u /* sizes are rounded to it; larger pages of the system do no harm */

/* data is NULL exactly when mapped_bytes is 0. fd is -1 as long as the bytes are in memory; once
 * in a file they stay there. The file is always mapped_bytes long, all of it reserved. */
struct spill {
	uint8_t *data;
	size_t size_bytes;
	size_t mapped_bytes; /* size_bytes, rounded up to pages */
	size_t budget_bytes;
	int fd;
	char *folder;
};

int spill_create(const char *folder, size_t budget_bytes, struct spill **ret, struct err *err)
{
	struct spill *s = calloc(1, sizeof(*s));

	if (!s)
		return err_set_memory(err, sizeof(*s));
	*s = (struct spill){.fd = -1, .budget_bytes = budget_bytes, .folder = strdup(folder)};
	if (!s->folder) {
		free(s);
		return err_set_memory(err, strlen(folder) + 1);
	}
	*ret = s;
	return 0;
}

void spill_destroy(struct spill *s)
{
	if (!s)
		return;
	if (s->data)
		munmap(s->data, s->mapped_bytes);
	if (s->fd >= 0)
		close(s->fd);
	free(s->folder);
	free(s);
}

/* Reserves [from, to) of the file, so that storing into a mapping of it cannot fail. */
static int reserve(const struct spill *s, int fd, size_t from, size_t to, struct err *err)
{
	int e;

	do
		e = posix_fallocate(fd, (off_t)from, (off_t)(to - from));
	while (e == EINTR);
	if (e == 0)
		return 0;
	if (ftruncate(fd, (off_t)from) < 0)
		e = errno;
	return err_set_errno(err, e, "%s: a temporary file needs %zu MiB there", s->folder,
			     to / (1024 * 1024) + 1);
}

/* Moves the array from memory to a file of new_bytes. write() instead of a copy into the mapping: a
 * copy would hold the bytes in memory twice. */
static int move_to_file(struct spill *s, size_t new_bytes, struct err *err)
{
	void *data = MAP_FAILED;
	int fd = -1;
	int r;

	r = temp_file_create(s->folder, &fd, err);
	if (r < 0)
		return r;
	r = reserve(s, fd, 0, new_bytes, err);
	if (r < 0)
		goto out;
	r = temp_file_write(fd, 0, s->data, s->size_bytes, err);
	if (r < 0) {
		err_prefix(err, "%s", s->folder);
		goto out;
	}
	data = mmap(NULL, new_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (data == MAP_FAILED) {
		r = err_set_memory(err, new_bytes);
		goto out;
	}
	if (s->data)
		munmap(s->data, s->mapped_bytes);
	s->data = data;
	s->mapped_bytes = new_bytes;
	s->fd = fd;
	fd = -1;
out:
	if (fd >= 0)
		close(fd);
	return r;
}

/* Resizes the array where it is, in memory or in its file. */
static int remap(struct spill *s, size_t new_bytes, struct err *err)
{
	void *data;
	int r = 0;

	if (s->fd >= 0 && new_bytes > s->mapped_bytes) {
		r = reserve(s, s->fd, s->mapped_bytes, new_bytes, err);
		if (r < 0)
			return r;
	}
	if (s->data)
		data = mremap(s->data, s->mapped_bytes, new_bytes, MREMAP_MAYMOVE);
	else
		data = mmap(NULL, new_bytes, PROT_READ | PROT_WRITE,
			    s->fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, s->fd, 0);
	if (data == MAP_FAILED) {
		if (s->fd >= 0 && ftruncate(s->fd, (off_t)s->mapped_bytes) < 0)
			return err_set_errno(err, errno, "%s: a temporary file", s->folder);
		return err_set_memory(err, new_bytes);
	}
	s->data = data;
	if (s->fd >= 0 && new_bytes < s->mapped_bytes && ftruncate(s->fd, (off_t)new_bytes) < 0)
		r = err_set_errno(err, errno, "%s: a temporary file", s->folder);
	s->mapped_bytes = new_bytes;
	return r;
}

static void empty(struct spill *s)
{
	if (s->data)
		munmap(s->data, s->mapped_bytes);
	if (s->fd >= 0)
		close(s->fd);
	s->data = NULL;
	s->fd = -1;
	s->size_bytes = 0;
	s->mapped_bytes = 0;
}

int spill_resize(struct spill *s, size_t size_bytes, struct err *err)
{
	size_t new_bytes = align_up(size_bytes, PAGE_BYTES);
	int r = 0;

	if (size_bytes > PTRDIFF_MAX - PAGE_BYTES)
		return err_set(err, ERR_LIMIT, "a temporary array of %zu bytes is too long",
			       size_bytes);
	if (size_bytes == 0) {
		empty(s);
		return 0;
	}
	/* the rest of the last page must be zero when the array grows again */
	if (size_bytes < s->size_bytes)
		memset(s->data + size_bytes, 0, new_bytes - size_bytes);
	if (s->fd < 0 && size_bytes > s->budget_bytes)
		r = move_to_file(s, new_bytes, err);
	else if (new_bytes != s->mapped_bytes)
		r = remap(s, new_bytes, err);
	if (r == 0)
		s->size_bytes = size_bytes;
	return r;
}

int spill_write(struct spill *s, size_t offset, const void *bytes, size_t len, struct err *err)
{
	int r;

	ASSERT(offset <= s->size_bytes && len <= s->size_bytes - offset);
	if (s->fd < 0) {
		if (len)
			memcpy(s->data + offset, bytes, len);
		return 0;
	}
	r = temp_file_write(s->fd, offset, bytes, len, err);
	if (r < 0)
		err_prefix(err, "%s", s->folder);
	return r;
}

void *spill_data(const struct spill *s)
{
	return s->data;
}

size_t spill_size(const struct spill *s)
{
	return s->size_bytes;
}

bool spill_is_file(const struct spill *s)
{
	return s->fd >= 0;
}

void spill_trim(const struct spill *s)
{
	if (s->fd >= 0 && s->data)
		madvise(s->data, s->mapped_bytes, MADV_DONTNEED);
}

void spill_trim_part(const struct spill *s, size_t offset, size_t len)
{
	uint64_t from = align_up(offset, PAGE_BYTES);
	uint64_t to = align_down(offset + len, PAGE_BYTES);

	if (s->fd >= 0 && s->data && from < to && to <= s->mapped_bytes)
		madvise(s->data + from, to - from, MADV_DONTNEED);
}
