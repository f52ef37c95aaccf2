/* ingest/checkpoint_io.c - see checkpoint_io.h. */
#include "ingest/checkpoint_io.h"

#include <stdlib.h>
#include <string.h>

#define DROP_BYTES ((size_t)8 << 20) /* a multiple of 32, as checksum64_add() wants it */

/* ---- writing ---- */

void checkpoint_io_out_init(struct checkpoint_io_out *s, struct store_writer *writer,
			    struct err *err)
{
	*s = (struct checkpoint_io_out){
		.writer = writer, .err = err, .buffer = malloc(CHECKPOINT_IO_BUFFER_BYTES)};
	checksum64_init(&s->sum);
	s->result = s->buffer ? store_writer_begin_table(writer, STORE_STATE, err)
			      : err_set_memory(err, CHECKPOINT_IO_BUFFER_BYTES);
}

static void flush(struct checkpoint_io_out *s)
{
	if (s->result < 0)
		return;
	checksum64_add(&s->sum, s->buffer, s->n_buffered);
	s->result =
		store_writer_add_items(s->writer, STORE_STATE, s->buffer, s->n_buffered, s->err);
	s->n_buffered = 0;
}

void checkpoint_io_put(struct checkpoint_io_out *s, const void *bytes, size_t len)
{
	const uint8_t *from = bytes;

	while (len > 0 && s->result == 0) {
		size_t room = CHECKPOINT_IO_BUFFER_BYTES - s->n_buffered,
		       n = len < room ? len : room;

		memcpy(s->buffer + s->n_buffered, from, n);
		s->n_buffered += n;
		from += n;
		len -= n;
		if (s->n_buffered == CHECKPOINT_IO_BUFFER_BYTES)
			flush(s);
	}
}

void checkpoint_io_put_u64(struct checkpoint_io_out *s, uint64_t value)
{
	checkpoint_io_put(s, &value, sizeof(value));
}

int checkpoint_io_out_finish(struct checkpoint_io_out *s)
{
	uint64_t sum;

	flush(s);
	sum = checksum64_sum(&s->sum);
	if (s->result == 0)
		s->result =
			store_writer_add_items(s->writer, STORE_STATE, &sum, sizeof(sum), s->err);
	free(s->buffer);
	s->buffer = NULL;
	return s->result;
}

/* ---- reading ---- */

static uint64_t sum_of(const uint8_t *bytes, size_t len)
{
	struct checksum64 sum;

	checksum64_init(&sum);
	for (size_t at = 0; at < len; at += DROP_BYTES) {
		size_t n = len - at < DROP_BYTES ? len - at : DROP_BYTES;

		checksum64_add(&sum, bytes + at, n);
		store_drop_pages(bytes + at, n);
	}
	return checksum64_sum(&sum);
}

int checkpoint_io_in_init(struct checkpoint_io_in *s, const void *bytes, size_t len,
			  struct err *err)
{
	uint64_t sum;

	*s = (struct checkpoint_io_in){.at = bytes, .dropped = bytes, .err = err};
	s->end = s->at + (len < sizeof(sum) ? 0 : len - sizeof(sum));
	if (len < sizeof(sum))
		return checkpoint_io_fail(s, "it is cut off");
	memcpy(&sum, s->end, sizeof(sum));
	if (sum != sum_of(bytes, len - sizeof(sum)))
		return checkpoint_io_fail(s, "it has a wrong checksum");
	return 0;
}

void checkpoint_io_get(struct checkpoint_io_in *s, void *bytes, size_t len)
{
	if (s->result == 0 && len > (size_t)(s->end - s->at))
		checkpoint_io_fail(s, "it is cut off");
	if (s->result < 0) {
		memset(bytes, 0, len);
		return;
	}
	if (len > 0)
		memcpy(bytes, s->at, len);
	s->at += len;
	if ((size_t)(s->at - s->dropped) >= DROP_BYTES) {
		store_drop_pages(s->dropped, (size_t)(s->at - s->dropped));
		s->dropped = s->at;
	}
}

uint64_t checkpoint_io_get_u64(struct checkpoint_io_in *s)
{
	uint64_t value;

	checkpoint_io_get(s, &value, sizeof(value));
	return value;
}

size_t checkpoint_io_get_count(struct checkpoint_io_in *s, size_t item_bytes)
{
	uint64_t n = checkpoint_io_get_u64(s);

	if (s->result == 0 && n > (size_t)(s->end - s->at) / item_bytes)
		checkpoint_io_fail(s, "a count that is larger than the rest");
	return s->result == 0 ? (size_t)n : 0;
}

int checkpoint_io_fail(struct checkpoint_io_in *s, const char *what)
{
	if (s->result == 0)
		s->result = err_set(s->err, ERR_FORMAT, "the state kept with the store: %s", what);
	return s->result;
}
