/* recording/lane_blocks.h - the blocks of each lane of a recording, read in turn and ready to decode.
 *
 * Only a lane in the middle of a block holds memory (for one block). Blocks that are damaged are
 * skipped and told in recording.damage. Threads: one.
 */
#ifndef RECORDING_LANE_BLOCKS_H
#define RECORDING_LANE_BLOCKS_H

#include "format/event.h"
#include "recording/checkpoint_pos.h"
#include "recording/lane_heap.h"
#include "recording/recording.h"

struct lane_cursor {
	struct event_decoder decoder; /* while is_loaded */
	uint64_t min_ticks; /* no event comes before: of the next block's start, or the user's */
	uint8_t *buf; /* event bytes of the block; NULL between blocks */
	size_t block; /* in recording.block: the current one, or the one to load next */
	size_t end_block;
	uint32_t next_index; /* expected lane_index */
	bool is_loaded;
	bool is_after_gap; /* events were missing; the user takes it back once told */
	bool is_at_checkpoint; /* the block before .block was left off at a checkpoint: */
	struct event_decoder at_checkpoint; /* how; in.pos tells where */
	size_t last_bytes; /* of the block before end_block only so much comes; SIZE_MAX: all */
};

struct lane_blocks {
	struct recording *rec;
	struct lane_cursor *lane; /* by number of the lane */
	struct lane_heap heap; /* lanes that have more, by min_ticks at first */
	uint64_t n_blocks_read;
	size_t extra_bytes;
	uint8_t **spare; /* buffers to use again */
	size_t n_spare;
	size_t cap_spare;
};

/* r is borrowed. A lane that is loaded has room for extra_bytes of the user, see
 * lane_blocks_extra(). */
int lane_blocks_init(struct lane_blocks *b, struct recording *r, size_t extra_bytes,
		     struct err *err);
void lane_blocks_fini(struct lane_blocks *b);

/* Goes on to a checkpoint (incremental.h), or with NULL to the end: at first, or after the end of what came
 * before, when no lane is loaded. The keys of the heap are ticks. */
void lane_blocks_resume(struct lane_blocks *b, const struct checkpoint_pos *pos);

/* The user's room; the lane is loaded. Aligned for anything. */
static inline void *lane_blocks_extra(const struct lane_cursor *l)
{
	return l->buf + (BLOCK_DATA_BYTES + 15) / 16 * 16;
}

/* Has the lane more? If it is not loaded, lane_blocks_load() makes it so. */
static inline bool lane_has_more(const struct lane_cursor *l)
{
	return l->is_loaded || l->block < l->end_block;
}

/* Reads the block that the lane waits for. A damaged one is passed over: then it is not loaded
 * afterwards. */
int lane_blocks_load(struct lane_blocks *b, struct lane_cursor *l, struct err *err);

/* The block's events are at an end; is_malformed: because they cannot be decoded further. */
int lane_blocks_end(struct lane_blocks *b, struct lane_cursor *l, bool is_malformed,
		    struct err *err);

#endif
