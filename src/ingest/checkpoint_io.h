/* ingest/checkpoint_io.h - writes and reads the bytes of a checkpoint.
 *
 * A checkpoint is what reading a recording has come to at a moment (incremental.h says what that
 * is). It lies in the store of a recording that is still being written (STORE_STATE), ends with a
 * checksum, and belongs to one build of the program on one kind of machine (checkpoint_layout.h).
 * Each module writes and reads its own part, in one fixed order. The reader checks every number
 * before it is used as an index: bytes may be wrong in spite of the checksum.
 *
 * Errors are sticky: after the first one nothing is written or read, and what is read is zero.
 * Threads: one.
 */
#ifndef INGEST_CHECKPOINT_IO_H
#define INGEST_CHECKPOINT_IO_H

#include "store/checksum64.h"
#include "store/store_write.h"

#define CHECKPOINT_IO_BUFFER_BYTES ((size_t)64 << 10)

struct checkpoint_io_out {
	struct store_writer *writer;
	uint8_t *buffer;
	size_t n_buffered;
	struct checksum64 sum;
	int result; /* 0, or the first error */
	struct err *err;
};

/* Begins the checkpoint of the store that writer makes. writer and err are borrowed; err gets the
 * first error. */
void checkpoint_io_out_init(struct checkpoint_io_out *s, struct store_writer *writer,
			    struct err *err);

void checkpoint_io_put(struct checkpoint_io_out *s, const void *bytes, size_t len);
void checkpoint_io_put_u64(struct checkpoint_io_out *s, uint64_t value);

/* Writes the rest and the checksum. 0, or the first error since checkpoint_io_out_init(). */
int checkpoint_io_out_finish(struct checkpoint_io_out *s);

struct checkpoint_io_in {
	const uint8_t *at, *end;
	const uint8_t *dropped; /* pages before it were dropped from memory */
	int result; /* 0, or the first error */
	struct err *err;
};

/* Begins to read. bytes lie in a mapped store, and are borrowed. ERR_FORMAT: the checksum is
 * wrong. */
int checkpoint_io_in_init(struct checkpoint_io_in *s, const void *bytes, size_t len,
			  struct err *err);

void checkpoint_io_get(struct checkpoint_io_in *s, void *bytes, size_t len);
uint64_t checkpoint_io_get_u64(struct checkpoint_io_in *s);

/* Reads the number of items that follow. Each takes at least item_bytes, so a number that is too
 * large is found here: 0 and ERR_FORMAT. */
size_t checkpoint_io_get_count(struct checkpoint_io_in *s, size_t item_bytes);

/* Is the byte of a bool that was read 0 or 1? A bool with another byte must not be used. */
static inline bool checkpoint_io_is_flag(const bool *flag)
{
	return *(const unsigned char *)flag <= 1;
}

/* The lanes of a checkpoint: now[i] is the index that lane i has in the recording today. */
struct checkpoint_io_lanes {
	const uint32_t *now;
	size_t n;
};

/* Sets ERR_FORMAT unless an error is set already; what: the part that is impossible. Returns
 * s->result. */
int checkpoint_io_fail(struct checkpoint_io_in *s, const char *what);

#endif
