/* recording/recording.h - an opened recording: its metadata, and an index of its blocks of events.
 *
 * Opening reads the header, walks the chunks, copies the blocks that threads are still writing
 * (AREA), and walks on over what was appended meanwhile. Events stay in the file: the index has one
 * small entry per block, and a block is read when it is asked for. So memory does not depend on the
 * number of events. A recording that is still being written gives a consistent snapshot of the
 * moment when it was opened.
 *
 * The recorder may have cut the recording of a run into pieces (docs/FORMAT.md 1.4). Some or all of
 * them open together as one recording; each also opens alone.
 *
 * Damage is not an error: what can be read is read, the rest is reported in recording.damage.
 * Threads: one at a time per struct recording.
 */
#ifndef RECORDING_RECORDING_H
#define RECORDING_RECORDING_H

#include "format/file_header.h"
#include "recording/damage.h"
#include "recording/metadata.h"
#include "recording/timebase.h"
#include "util/file.h"
#include "util/progress.h"

/* One block of events. */
struct block_ref {
	uint64_t sequence;
	uint64_t offset; /* of the EVENTS chunk's payload, or of the block in its AREA */
	uint64_t start_ticks;
	uint64_t lost_before;
	uint8_t *copy; /* AREA: the event bytes, owned by the recording; NULL: in the file */
	uint32_t thread;
	uint32_t lane_index;
	uint32_t tid;
	uint32_t first_stack;
	uint32_t generation;
	uint32_t stored_bytes; /* of the payload with the block header; AREA: event bytes */
	uint32_t raw_bytes; /* event bytes after decompression */
	uint32_t payload_checksum;
	uint32_t n_taken; /* so many events of the block are in a PENDING chunk, or left out */
	uint16_t piece; /* index in recording.piece */
	uint8_t lane;
	bool is_lz4;
	bool is_after_gap; /* blocks of its lane directly before it are missing */
	bool is_checked; /* payload_checksum is set, and must be right */
};

/* How many bytes of the file n_bytes events of a block take at most: a block may be compressed. */
static inline uint64_t block_ref_file_bytes(const struct block_ref *b, uint64_t n_bytes)
{
	return n_bytes < b->stored_bytes ? n_bytes : b->stored_bytes;
}

/* A run of blocks that threads write into. */
struct area_range {
	uint64_t offset; /* of the first block */
	uint64_t n_bytes; /* that are in the file */
};

/* The blocks of one lane, in order. */
struct lane_ref {
	uint32_t thread;
	uint32_t lane;
	size_t first_block; /* in recording.block */
	size_t n_blocks;
};

/* A time for which events of a lane are missing. */
struct recording_gap {
	uint64_t from_ticks; /* the last event before it */
	uint64_t
		to_ticks; /* the first one after it, or a little earlier; UINT64_MAX: there is none */
};

/* A file of the recording. */
struct recording_piece {
	struct file file;
	struct file_header header;
	struct file_status status;
	bool has_status;
};

struct recording {
	char *folder; /* owned: where the files are that it refers to (shared_binary.h) */
	uint32_t owner; /* user id of the first piece */
	struct recording_piece *piece; /* in order; often only one */
	size_t n_pieces;
	size_t at_piece; /* while opening: the piece that is being read */
	uint64_t n_missing_pieces; /* between those that there are */
	uint64_t file_bytes; /* of all pieces */
	/* Of the first piece; of several pieces recording_id is made of all their ids, and
	 * header.piece is 0. */
	struct file_header header;
	bool has_status;
	struct file_status status; /* of the last piece; counters are sums over all pieces */
	struct timebase time;
	struct metadata metadata;
	struct damage damage;

	struct block_ref *block; /* sorted by thread, lane, lane_index */
	size_t n_blocks;
	size_t cap_blocks;
	struct lane_ref *lane;
	size_t n_lanes;
	size_t cap_lanes;
	uint64_t n_missing_blocks; /* gaps in lane_index */
	uint64_t n_bad_blocks; /* not decoded to their end; counted each time a block is tried */
	struct recording_gap
		*gap; /* found while lanes are read, each time; in no order, may overlap */
	size_t n_gaps;
	size_t cap_gaps;
	uint64_t n_duplicate_blocks; /* seen in an AREA and again as a chunk */
	uint64_t event_bytes; /* stored bytes of EVENTS chunks plus used bytes of AREA blocks */
	uint64_t raw_event_bytes; /* of these blocks, decompressed */
	uint64_t unfinished_bytes; /* of a chunk that was being written */
	uint64_t horizon_ticks; /* later events are left out: see area_read.c; UINT64_MAX: none */
	uint64_t pending_offset,
		pending_bytes; /* while opening: of the payload of a PENDING chunk */
	bool is_growing; /* while opening: the piece changed after its areas were first read */

	/* Borrowed, or NULL: gets the bytes of each block that is read; one run through all events
	 * has event_bytes. */
	struct progress *progress;

	struct area_range *area; /* while opening */
	size_t n_areas, cap_areas, n_areas_read;
	uint8_t *scratch; /* for one chunk */
	size_t cap_scratch;
};

/* Opens a recording; free it with recording_close(). Errors name the path and what to do: those of
 * header_page_read(), ERR_IO, ERR_MEMORY. */
int recording_open(const char *path, struct recording **ret, struct err *err);

/* The same with several pieces of one run, in any order. ERR_USAGE: they are not of one run, or one
 * is there twice. */
int recording_open_pieces(const char *const *path, size_t n_paths, struct recording **ret,
			  struct err *err);

/* The id of a recording that consists of these pieces: that of the piece, if it is one. */
void recording_id_of(const struct file_header **piece, size_t n, uint8_t ret[16]);
void recording_close(struct recording *r); /* NULL does nothing */

/* Writes the event bytes of a block to out, which has BLOCK_DATA_BYTES. 1: *len bytes are there. 0:
 * the block is damaged, and r->damage has it now. Less: ERR_IO. */
int recording_load_block(struct recording *r, const struct block_ref *b, uint8_t *out, size_t *len,
			 struct err *err);

#endif
