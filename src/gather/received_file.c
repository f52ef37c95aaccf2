/* gather/received_file.c - see received_file.h. */
#include "gather/received_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "format/block.h"
#include "format/chunk.h"

#define MAX_NAMES 1000
#define MAX_GAP_BYTES (256 * MIB) /* AREA and PENDING between two chunks are smaller by far */

/* What is not a letter, a digit, '.', '-' or '_' becomes '_': the name comes from another host. */
static void clean_name(const char *name, char *ret, size_t capacity)
{
	size_t n = 0;

	for (; name[n] && n < capacity - 1; n++) {
		char c = name[n];
		bool ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			  (c >= '0' && c <= '9') || c == '-' || c == '_' || (c == '.' && n > 0);

		ret[n] = ok ? c : '_';
	}
	ret[n] = 0;
}

static char *make_path(const char *folder, const struct stream_process *process,
		       const struct stream_piece *piece, unsigned number)
{
	time_t start = (time_t)(piece->start_realtime_ns / NS_PER_S);
	char name[STREAM_MAX_NAME], when[32] = "00000000_000000", suffix[16] = "";
	struct tm tm;
	char *path = NULL;

	clean_name(process->name, name, sizeof(name));
	if (gmtime_r(&start, &tm))
		strftime(when, sizeof(when), "%Y%m%d_%H%M%S", &tm);
	if (number > 0)
		snprintf(suffix, sizeof(suffix), ".%u", number);
	if (asprintf(&path, "%s/%s_%05" PRIu32 "_%s%s.dat", folder, when, process->pid, name,
		     suffix) < 0)
		return NULL;
	return path;
}

/* The offset from which a piece is needed that an earlier run has received in part: the start of
 * its last chunk, which may be incomplete. 0: not even the header is there. */
static uint64_t find_end(int fd, uint64_t size_bytes)
{
	uint64_t at = FORMAT_HEADER_BYTES, last = at;
	uint8_t head[CHUNK_HEADER_BYTES];
	struct chunk_header h;

	if (size_bytes < FORMAT_HEADER_BYTES)
		return 0;
	while (pread(fd, head, sizeof(head), (off_t)at) == (ssize_t)sizeof(head) &&
	       chunk_decode(head, &h)) {
		uint64_t end = at + chunk_total_bytes(&h);

		if (end > size_bytes)
			break;
		last = at;
		at = end;
	}
	return last;
}

enum adopted {
	ADOPTED_NO,
	ADOPTED_YES,
	ADOPTED_BUSY
};

/* Looks at a file that has the name already: is it the same piece? */
static enum adopted adopt(int fd, const struct stream_piece *piece, struct received_file *ret)
{
	struct file_header h;
	struct stat st;
	ssize_t n = pread(fd, ret->page, sizeof(ret->page), 0);

	if (fstat(fd, &st) < 0 || n < FILE_HEADER_FIXED_BYTES ||
	    file_header_decode(ret->page, (size_t)n, &h) != FILE_HEADER_OK ||
	    memcmp(h.recording_id, piece->id, sizeof(piece->id)) != 0)
		return ADOPTED_NO;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return ADOPTED_BUSY;
	ret->size_bytes = (uint64_t)st.st_size;
	ret->next = find_end(fd, ret->size_bytes);
	return ADOPTED_YES;
}

/* 1: *ret is open. 0: the name belongs to another file. */
static int try_name(const char *path, const struct stream_piece *piece, struct received_file *ret,
		    struct err *err)
{
	enum adopted adopted;
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd >= 0) {
		flock(fd, LOCK_EX | LOCK_NB);
		ret->fd = fd;
		return 1;
	}
	if (errno != EEXIST)
		return err_set_errno(err, errno, "cannot create %s", path);
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return 0;
	adopted = adopt(fd, piece, ret);
	if (adopted == ADOPTED_YES) {
		ret->fd = fd;
		return 1;
	}
	close(fd);
	if (adopted == ADOPTED_BUSY)
		return err_set(err, ERR_REFUSED, "%s is being received by another process", path);
	return 0;
}

int received_file_open(const char *folder, const struct stream_process *process,
		       const struct stream_piece *piece, struct received_file *ret, struct err *err)
{
	for (unsigned i = 0; i < MAX_NAMES; i++) {
		struct received_file f = RECEIVED_FILE_NONE;
		char *path = make_path(folder, process, piece, i);
		int n;

		if (!path)
			return err_set_memory(err, 256);
		n = try_name(path, piece, &f, err);
		if (n == 1) {
			f.path = path;
			memcpy(f.id, piece->id, sizeof(f.id));
			*ret = f;
			return 0;
		}
		free(path);
		if (n < 0)
			return n;
	}
	return err_set(err, ERR_IO, "%s: there are %d files of this name", folder, MAX_NAMES);
}

void received_file_close(struct received_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	free(f->path);
	*f = RECEIVED_FILE_NONE;
}

static int write_at(struct received_file *f, uint64_t offset, const uint8_t *data, size_t len,
		    struct err *err)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = pwrite(f->fd, data + done, len - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set_errno(err, errno, "cannot write %s", f->path);
		done += (size_t)n;
	}
	if (offset + len > f->size_bytes)
		f->size_bytes = offset + len;
	return 0;
}

/* The file of the recorder may end with an AREA that no thread uses yet: the copy ends there,
 * too. */
static int follow_size(struct received_file *f, struct err *err)
{
	struct file_status status;
	uint64_t end;

	if (!file_status_decode(f->page, sizeof(f->page), &status))
		return 0;
	end = status.field[STATUS_END_OF_CHUNKS];
	if (end <= f->size_bytes || end > f->next + MAX_GAP_BYTES)
		return 0;
	if (ftruncate(f->fd, (off_t)end) < 0)
		return err_set_errno(err, errno, "cannot write %s", f->path);
	f->size_bytes = end;
	return 0;
}

int received_file_data(struct received_file *f, const uint8_t *payload, size_t len, struct err *err)
{
	uint64_t offset;
	size_t n;
	int r;

	if (len < 8)
		return err_set(err, ERR_FORMAT, "a DATA frame is too short");
	offset = load_le64(payload);
	payload += 8;
	len -= 8;
	if (offset > 0 && offset < FORMAT_HEADER_BYTES
		    ? offset + len > FORMAT_HEADER_BYTES
		    : offset < f->next || offset > f->next + MAX_GAP_BYTES)
		return err_set(err, ERR_FORMAT, "data for offset %" PRIu64 " instead of %" PRIu64,
			       offset, f->next);
	r = write_at(f, offset, payload, len, err);
	if (r < 0)
		return r;
	if (offset + len > f->next)
		f->next = offset + len;
	if (offset >= FORMAT_HEADER_BYTES)
		return 0;
	n = FORMAT_HEADER_BYTES - offset;
	memcpy(f->page + offset, payload, n < len ? n : len);
	return offset > 0 ? follow_size(f, err) : 0;
}

int received_file_block(struct received_file *f, const uint8_t *payload, size_t len,
			struct err *err)
{
	static const uint8_t is_free[4];
	const uint8_t *head = payload + 16;
	struct block_header h;
	uint64_t offset;
	uint32_t from;
	size_t n_data;
	int r = 0;

	if (len < 16 + BLOCK_HEADER_BYTES || !block_decode(head, &h))
		return err_set(err, ERR_FORMAT, "a BLOCK frame that holds no block");
	offset = load_le64(payload);
	from = load_le32(payload + 8);
	n_data = len - 16 - BLOCK_HEADER_BYTES;
	if (from > h.used_bytes || n_data != h.used_bytes - from || offset < FORMAT_HEADER_BYTES ||
	    offset > f->next + MAX_GAP_BYTES)
		return err_set(err, ERR_FORMAT, "a BLOCK frame that fits no block");
	/* A reader never sees events with the header of another block. */
	if (from == 0)
		r = write_at(f, offset + 4, is_free, sizeof(is_free), err);
	if (r == 0)
		r = write_at(f, offset + BLOCK_HEADER_BYTES + from, head + BLOCK_HEADER_BYTES,
			     n_data, err);
	if (r == 0)
		r = write_at(f, offset, head, BLOCK_HEADER_BYTES, err);
	return r;
}
