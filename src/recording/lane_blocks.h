/* recording/lane_blocks.h - reads the blocks of each lane in turn, ready to decode.
 *
 * Only a lane in the middle of a block needs memory, for that block; its buffer goes to the next
 * lane. Damaged blocks are skipped and reported in recording.damage. Errors: ERR_IO and ERR_MEMORY.
 * Threads: one.
 */
#ifndef RECORDING_LANE_BLOCKS_H
#define RECORDING_LANE_BLOCKS_H

#include "format/event.h"
#include "recording/checkpoint_pos.h"
#include "recording/lane_heap.h"
#include "recording/recording.h"

struct lane_cursor {
	struct event_decoder decoder; /* while is_loaded */
	uint64_t min_ticks; /* no event to come is earlier; the user may raise it */
	uint8_t *buf; /* event bytes of the block; NULL between blocks */
	size_t block; /* index in recording.block: the current one, or the one to load next */
	size_t end_block; /* index after the last one */
	bool is_loaded;
	bool is_after_gap; /* events are missing here; the user clears it when that was reported */
	uint64_t n_impossible; /* calls that lane_blocks_cut() left out of this block ... */
	size_t cut_pos; /* ... the rest of which begins here at the latest */
	bool is_at_checkpoint; /* the block before .block was read up to a checkpoint only */
	struct event_decoder at_checkpoint; /* the decoder there */
	size_t last_bytes; /* of the last block only so many bytes count; SIZE_MAX: all */
};

struct lane_blocks {
	struct recording *rec;
	struct lane_cursor *lane; /* by index in recording.lane */
	struct lane_heap heap; /* lanes that have more, by min_ticks at first */
	uint64_t n_blocks_read;
	size_t extra_bytes;
	uint8_t **spare; /* buffers to use again */
	size_t n_spare;
	size_t cap_spare;
};

/* r is borrowed until lane_blocks_fini(). Each loaded lane has extra_bytes of memory for the user:
 * see lane_blocks_extra(). The keys of the heap are ticks. */
int lane_blocks_init(struct lane_blocks *b, struct recording *r, size_t extra_bytes,
		     struct err *err);
void lane_blocks_fini(struct lane_blocks *b);

/* Lets the lanes go on up to a checkpoint position; NULL: to the end. While no lane is loaded: at
 * first, or when all lanes have come to the end of what was set before. The keys of the heap are
 * ticks. */
void lane_blocks_resume(struct lane_blocks *b, const struct checkpoint_pos *pos);

/* The user's memory of a loaded lane, aligned for anything. */
static inline void *lane_blocks_extra(const struct lane_cursor *l)
{
	return l->buf + (BLOCK_DATA_BYTES + 15) / 16 * 16;
}

/* Has the lane more events? If it is not loaded, lane_blocks_load() must come first. */
static inline bool lane_has_more(const struct lane_cursor *l)
{
	return l->is_loaded || l->block < l->end_block;
}

/* Reads the next block of the lane. A damaged block is skipped: then the lane is not loaded
 * afterwards. */
int lane_blocks_load(struct lane_blocks *b, struct lane_cursor *l, struct err *err);

/* The user met an event of the loaded block whose time is not possible (timebase_is_possible()).
 * n_calls: calls from this one on that are decoded already. These and the rest of the block
 * become damage at lane_blocks_end(); the decoder has no more. */
void lane_blocks_cut(struct lane_cursor *l, uint64_t n_calls);

/* The block's events are at an end. is_malformed: because the rest cannot be decoded, which becomes
 * damage. */
int lane_blocks_end(struct lane_blocks *b, struct lane_cursor *l, bool is_malformed,
		    struct err *err);

#endif
