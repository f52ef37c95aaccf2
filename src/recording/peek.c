/* recording/peek.c - see peek.h. */
#include "recording/peek.h"

#include <stdlib.h>

#include "recording/chunk_reader.h"
#include "recording/header_page.h"
#include "recording/metadata.h"

#define PEEK_CHUNKS 16 /* the process is described at the beginning */

/* Reads the payload of the PROCESS chunk. */
static int take_process(const struct file *f, const struct chunk_ref *p, struct metadata *metadata,
			struct err *err)
{
	uint8_t *payload = malloc(p->header.stored_bytes + 1);
	int r;

	if (!payload)
		return err_set_memory(err, p->header.stored_bytes);
	r = file_read_all(f, p->offset + CHUNK_HEADER_BYTES, payload, p->header.stored_bytes, err);
	if (r == 0 && chunk_payload_ok(&p->header, payload))
		r = metadata_add(metadata, CHUNK_PROCESS, payload, p->header.stored_bytes, err);
	free(payload);
	return r;
}

static int read_process(struct file *f, uint64_t offset, struct peek *ret, struct err *err)
{
	static struct damage ignored;
	struct chunk_reader walk;
	struct chunk_ref chunk;
	struct metadata metadata = {0};
	int r = chunk_reader_init(&walk, f, &ignored, offset, err);

	for (int i = 0; r == 0 && i < PEEK_CHUNKS && !metadata.process.is_known; i++) {
		r = chunk_reader_next(&walk, &chunk, err);
		if (r <= 0)
			break;
		r = chunk.header.type == CHUNK_PROCESS ? take_process(f, &chunk, &metadata, err)
						       : 0;
	}
	ret->ppid = metadata.process.ppid;
	ret->parent_pid = metadata.process.parent_pid;
	chunk_reader_fini(&walk);
	metadata_fini(&metadata);
	return r;
}

int peek_recording(const char *path, struct peek *ret, struct err *err)
{
	struct peek p = {0};
	struct file f = FILE_NONE;
	struct header_page page;
	int r = file_open(path, &f, err);

	if (r == 0)
		r = header_page_read(&f, &page, err);
	if (r == 0) {
		p.header = page.header;
		p.file_bytes = f.size_bytes;
		r = read_process(&f, p.header.header_bytes, &p, err);
	}
	file_close(&f);
	if (r < 0)
		err_prefix(err, "%s", path);
	else
		*ret = p;
	return r;
}
