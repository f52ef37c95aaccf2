/* util/spill.c - see spill.h. */
#include "util/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define STEP_BYTES ((size_t)1 << 20)

void spill_init(struct spill *s, const char *folder, const char *path)
{
	*s = (struct spill){.fd = -1, .folder = folder, .path = path};
}

void spill_fini(struct spill *s)
{
	if (s->data)
		munmap(s->data, s->n_bytes);
	if (s->fd >= 0)
		close(s->fd);
	*s = (struct spill){.fd = -1};
}

static int open_file(const struct spill *s, struct err *err)
{
	char name[PATH_MAX];
	int fd;

	if (s->path) {
		fd = open(s->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd < 0)
			return err_set_errno(err, errno, "%s: cannot be made for scratch data",
					     s->path);
		unlink(s->path);
		return fd;
	}
	fd = open(s->folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0)
		return fd;
	if (snprintf(name, sizeof(name), "%s/.memory-profiler.XXXXXX", s->folder) >=
	    (int)sizeof(name))
		return err_set(err, ERR_IO, "%s: too long a name", s->folder);
	fd = mkostemp(name, O_CLOEXEC);
	if (fd < 0)
		return err_set_errno(err, errno, "%s: no scratch file can be made there",
				     s->folder);
	unlink(name);
	return fd;
}

static int grow_memory(struct spill *s, size_t n_bytes, struct err *err)
{
	uint8_t *data = s->data ? mremap(s->data, s->n_bytes, n_bytes, MREMAP_MAYMOVE)
				: mmap(NULL, n_bytes, PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (data == MAP_FAILED)
		return err_set_memory(err, n_bytes);
	s->data = data;
	s->n_bytes = n_bytes;
	return 0;
}

static int grow_file(struct spill *s, int fd, size_t n_bytes, struct err *err)
{
	int problem = posix_fallocate(fd, 0, (off_t)n_bytes);
	uint8_t *data;

	if (problem)
		return err_set_errno(err, problem, "%s: no room for %zu bytes of scratch data",
				     s->path ? s->path : s->folder, n_bytes);
	data = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (data == MAP_FAILED)
		return err_set_memory(err, n_bytes);
	if (s->fd < 0 && s->data)
		memcpy(data, s->data, s->n_bytes);
	if (s->data)
		munmap(s->data, s->n_bytes);
	s->data = data;
	s->n_bytes = n_bytes;
	s->fd = fd;
	return 0;
}

int spill_reserve(struct spill *s, size_t n_bytes, struct err *err)
{
	size_t want = n_bytes + n_bytes / 2;
	int fd = s->fd, r;

	if (n_bytes <= s->n_bytes)
		return 0;
	want = (want + STEP_BYTES - 1) / STEP_BYTES * STEP_BYTES;
	if (want <= SPILL_MEMORY_BYTES)
		return grow_memory(s, want, err);
	if (fd < 0)
		fd = open_file(s, err);
	if (fd < 0)
		return fd;
	r = grow_file(s, fd, want, err);
	if (r < 0 && s->fd < 0)
		close(fd);
	return r;
}
