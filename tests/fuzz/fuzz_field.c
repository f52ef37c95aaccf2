/* Any bytes as the small structures of the format: fields, headers of files, chunks and blocks. */
#include "harness/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "format/block.h"
#include "format/chunk.h"
#include "format/compress.h"
#include "format/field.h"
#include "format/file_header.h"

static void check(bool ok)
{
	if (!ok)
		abort();
}

/* Fields that were read, written again, read the same. */
static void check_fields(const uint8_t *data, size_t len)
{
	struct cursor c = cursor_make(data, len), back;
	struct field f, g;
	uint8_t *copy = malloc(2 * len + 32);
	struct field_writer w = field_writer_make(copy, 2 * len + 32);

	if (!copy)
		return;
	while (field_next(&c, &f)) {
		check(f.bytes >= data && f.len <= len && f.bytes + f.len <= data + len);
		if (f.tag > UINT32_MAX)
			continue;
		w.len = 0;
		field_put_bytes(&w, (unsigned)f.tag, f.bytes, f.len);
		back = cursor_make(copy, w.len);
		check(!w.full && field_next(&back, &g) && g.tag == f.tag && g.len == f.len);
		check(field_u64(&g) == field_u64(&f));
	}
	check(c.failed || cursor_left(&c) == 0);
	free(copy);
}

static void check_headers(const uint8_t *data, size_t len)
{
	struct file_header fh;
	struct file_status st;
	struct chunk_header ch;
	struct block_header bh;
	size_t at = chunk_search(data, len, 0);

	check(at == len || (at % 8 == 0 && at + CHUNK_HEADER_BYTES <= len));
	file_header_decode(data, len, &fh);
	file_status_decode(data, len, &st);
	if (len >= CHUNK_HEADER_BYTES && chunk_decode(data, &ch)) {
		uint8_t again[CHUNK_HEADER_BYTES];

		chunk_encode(&ch, again);
		check(memcmp(again, data, sizeof(again)) == 0);
	}
	if (len >= BLOCK_HEADER_BYTES && block_decode(data, &bh))
		check(bh.used_bytes <= BLOCK_DATA_BYTES && bh.lane < BLOCK_N_LANES);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	static uint8_t raw[BLOCK_DATA_BYTES];

	check_fields(data, size_bytes);
	check_headers(data, size_bytes);
	if (size_bytes > 2)
		decompress_block(data + 2, size_bytes - 2, raw,
				 (data[0] | data[1] << 8) % sizeof(raw));
	return 0;
}
