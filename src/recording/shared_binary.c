/* recording/shared_binary.c - see shared_binary.h. */
#include "recording/shared_binary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "format/shared_name.h"
#include "recording/chunk_unpack.h"
#include "recording/header_page.h"

#define MAX_FILE_CHUNK_BYTES 65536u

char *shared_binary_name(const struct metadata_file *f)
{
	char name[SHARED_NAME_BYTES];
	struct text text = text_make(name, sizeof(name));
	char *ret = NULL;

	if (!shared_name_put(&text, (const uint8_t *)f->build_id.bytes, f->build_id.len,
			     f->size_bytes) ||
	    asprintf(&ret, SHARED_NAME_FOLDER "/%s", name) < 0)
		return NULL;
	return ret;
}

static bool is_believed(const struct file *f, uint32_t owner)
{
	struct stat st;

	return file_is_trusted(f) || (fstat(f->fd, &st) == 0 && st.st_uid == owner &&
				      !(st.st_mode & (S_IWGRP | S_IWOTH)));
}

static bool is_same(const struct metadata_file *a, const struct metadata_file *b)
{
	return a->size_bytes == b->size_bytes && a->build_id.len == b->build_id.len &&
	       a->build_id.len > 0 &&
	       memcmp(a->build_id.bytes, b->build_id.bytes, a->build_id.len) == 0;
}

/* Reads the FILE chunk, which comes first. Is it the binary that is wanted? */
static int check(struct shared_binary *b, const struct metadata_file *wanted, struct err *err)
{
	struct metadata m = {0};
	struct chunk_ref chunk;
	uint8_t *payload = NULL;
	int n = chunk_reader_next(&b->reader, &chunk, err);

	if (n > 0 &&
	    (chunk.header.type != CHUNK_FILE || chunk.header.stored_bytes > MAX_FILE_CHUNK_BYTES))
		n = 0;
	if (n > 0) {
		payload = malloc(chunk.header.stored_bytes + 1);
		n = payload ? 1 : err_set_memory(err, chunk.header.stored_bytes);
	}
	if (n > 0)
		n = file_read_all(&b->file, chunk.offset + CHUNK_HEADER_BYTES, payload,
				  chunk.header.stored_bytes, err);
	if (n == 0 && payload)
		n = metadata_add(&m, CHUNK_FILE, payload, chunk.header.stored_bytes, err);
	if (n == 0 && (m.n_embedded != 1 || !is_same(&m.embedded[0], wanted)))
		n = err_set(err, ERR_FORMAT, "is not the binary that its name says");
	free(payload);
	metadata_fini(&m);
	return n;
}

static int open_path(const char *path, uint32_t owner, const struct metadata_file *wanted,
		     struct shared_binary *b, struct err *err)
{
	struct header_page page;
	int n = file_open(path, &b->file, err);

	if (n == 0 && !is_believed(&b->file, owner))
		n = err_set(err, ERR_REFUSED, "somebody else may have written it");
	if (n == 0)
		n = header_page_read(&b->file, &page, err);
	if (n == 0)
		n = chunk_reader_init(&b->reader, &b->file, &b->damage,
				      align_up(page.header.header_bytes, FORMAT_CHUNK_ALIGN), err);
	return n == 0 ? check(b, wanted, err) : n;
}

int shared_binary_open(const char *folder, uint32_t owner, const struct metadata_file *f,
		       struct shared_binary **ret, struct err *err)
{
	struct shared_binary *b = calloc(1, sizeof(*b));
	char *name = shared_binary_name(f), *path = NULL;
	int n;

	if (!b || !name || asprintf(&path, "%s/%s", folder, name) < 0) {
		free(b);
		free(name);
		return err_set(err, ERR_FORMAT, "a build id that names no file");
	}
	b->file = FILE_NONE;
	n = open_path(path, owner, f, b, err);
	if (n < 0) {
		err_prefix(err, "%s", path);
		shared_binary_close(b);
	} else {
		*ret = b;
	}
	free(name);
	free(path);
	return n;
}

void shared_binary_close(struct shared_binary *b)
{
	if (!b)
		return;
	chunk_reader_fini(&b->reader);
	file_close(&b->file);
	free(b);
}

int shared_binary_next(struct shared_binary *b, struct chunk_ref *ret, struct err *err)
{
	int n;

	do
		n = chunk_reader_next(&b->reader, ret, err);
	while (n > 0 && (ret->header.type != CHUNK_FILE_DATA ||
			 ret->header.stored_bytes < CHUNK_UNPACK_FILE_DATA_HEAD));
	return n;
}

int shared_binary_mark(const char *folder, uint32_t owner, struct metadata *m, struct err *err)
{
	for (size_t i = 0; i < m->n_embedded; i++) {
		struct metadata_file *f = &m->embedded[i];
		struct shared_binary *b = NULL;
		struct err ignored = {0};
		int n;

		if (!f->is_beside || f->is_complete)
			continue;
		n = shared_binary_open(folder, owner, f, &b, &ignored);
		shared_binary_close(b);
		if (n == -ERR_MEMORY)
			return err_set_memory(err, sizeof(*b));
		f->is_complete = n == 0;
		f->covered_bytes = n == 0 ? f->size_bytes : 0;
	}
	return 0;
}
