/* ingest/checkpoint_io.h - what reading a recording has come to, as bytes: to go on from there when it has grown.
 *
 * The state of a recording that is still being written lies in its store (STORE_STATE) and holds what
 * incremental.h says. It is of one version of the program on one kind of machine, like the store itself; all
 * numbers in it are checked before they are used as an index.
 *
 * Errors are sticky: after the first one nothing is written or read, and what is read is zero. Threads:
 * one.
 */
#ifndef INGEST_CHECKPOINT_IO_H
#define INGEST_CHECKPOINT_IO_H

#include "store/seal.h"
#include "store/store_write.h"

#define CHECKPOINT_IO_BUFFER_BYTES ((size_t)64 << 10)

struct checkpoint_io_out {
	struct store_writer *writer;
	uint8_t *buffer;
	size_t n_buffered;
	struct seal seal;
	int result;
	struct err *err;
};

/* Begins the state of the store that writer makes; err gets the first failure. */
void checkpoint_io_out_init(struct checkpoint_io_out *s, struct store_writer *writer,
			    struct err *err);

void checkpoint_io_put(struct checkpoint_io_out *s, const void *bytes, size_t len);
void checkpoint_io_put_u64(struct checkpoint_io_out *s, uint64_t value);

/* Writes the rest and its checksum. The result of all of it. */
int checkpoint_io_out_finish(struct checkpoint_io_out *s);

struct checkpoint_io_in {
	const uint8_t *at, *end;
	const uint8_t *dropped; /* what is before was taken out of memory */
	int result;
	struct err *err;
};

/* Checks the checksum: -ERR_FORMAT when it is wrong. bytes are borrowed; they lie in a store. */
int checkpoint_io_in_init(struct checkpoint_io_in *s, const void *bytes, size_t len,
			  struct err *err);

void checkpoint_io_get(struct checkpoint_io_in *s, void *bytes, size_t len);
uint64_t checkpoint_io_get_u64(struct checkpoint_io_in *s);

/* A number of items of which each takes at least item_bytes of what follows. */
size_t checkpoint_io_get_count(struct checkpoint_io_in *s, size_t item_bytes);

/* May a flag that was read be looked at? Other bytes than 0 and 1 are no bool. */
static inline bool checkpoint_io_is_flag(const bool *flag)
{
	return *(const unsigned char *)flag <= 1;
}

/* What is kept by lane: of those that there were, in order, the numbers that they have now. */
struct checkpoint_io_lanes {
	const uint32_t *now;
	size_t n;
};

/* Notes that the state is not possible; the result of struct checkpoint_io_in. */
int checkpoint_io_fail(struct checkpoint_io_in *s, const char *what);

#endif
