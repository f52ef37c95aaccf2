/* recording/block_index.c - where each block of events is. See recording.h and recording_i.h. */
#include <stdlib.h>
#include <string.h>

#include "format/block.h"
#include "format/checksum.h"
#include "recording/recording_i.h"
#include "util/vec.h"

int block_index_add(struct recording *r, const struct block_header *h, struct block_ref **ret,
		    struct err *err)
{
	int n = vec_reserve(&r->block, &r->cap_blocks, r->n_blocks + 1, sizeof(*r->block), err);

	if (n < 0)
		return n;
	*ret = &r->block[r->n_blocks++];
	**ret = (struct block_ref){
		.sequence = h->sequence,
		.piece = (uint16_t)r->at_piece,
		.start_ticks = h->start_ticks,
		.lost_before = h->lost_before,
		.thread = h->thread,
		.lane = (uint8_t)h->lane,
		.lane_index = h->lane_index,
		.tid = h->tid,
		.first_stack = h->first_stack,
		.generation = h->generation,
	};
	return 0;
}

int block_index_add_events(struct recording *r, const struct chunk_ref *p, struct err *err)
{
	uint64_t payload = p->offset + CHUNK_HEADER_BYTES;
	struct block_header h;
	struct block_ref *ref;
	bool is_lz4 = p->header.flags & CHUNK_FLAG_LZ4;
	int n;

	n = p->header.stored_bytes < BLOCK_HEADER_BYTES
		    ? 0
		    : recording_read_scratch(r, r->at_piece, payload, BLOCK_HEADER_BYTES, err);
	if (n < 0)
		return n;
	if (n == 0 || !block_decode(r->scratch, &h) || p->header.raw_bytes > BLOCK_DATA_BYTES ||
	    (!is_lz4 && p->header.raw_bytes != p->header.stored_bytes - BLOCK_HEADER_BYTES)) {
		damage_add(&r->damage, p->offset, chunk_total_bytes(&p->header),
			   "EVENTS chunk with a damaged block header");
		return 0;
	}
	n = block_index_add(r, &h, &ref, err);
	if (n < 0)
		return n;
	ref->offset = payload;
	ref->stored_bytes = p->header.stored_bytes;
	ref->raw_bytes = p->header.raw_bytes;
	ref->payload_checksum = p->header.payload_checksum;
	ref->is_lz4 = is_lz4;
	ref->is_checked = !(p->header.flags & CHUNK_FLAG_UNCHECKED);
	return 0;
}

static int compare_refs(const void *x, const void *y)
{
	const struct block_ref *a = x, *b = y;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->lane != b->lane)
		return a->lane < b->lane ? -1 : 1;
	if (a->piece != b->piece)
		return a->piece < b->piece ? -1 : 1;
	if (a->lane_index != b->lane_index)
		return a->lane_index < b->lane_index ? -1 : 1;
	if (a->sequence != b->sequence)
		return a->sequence < b->sequence ? -1 : 1;
	if (!a->copy != !b->copy)
		return a->copy ? 1 : -1; /* the chunk first: it is complete */
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

/* Is the block of a chunk intact? 1: yes. 0: no. Less: an error. */
static int is_intact(struct recording *r, const struct block_ref *b, struct err *err)
{
	int n;

	if (b->copy)
		return 1;
	n = recording_read_scratch(r, b->piece, b->offset, b->stored_bytes, err);
	if (n <= 0)
		return n;
	return !b->is_checked || checksum_bytes(r->scratch, b->stored_bytes) == b->payload_checksum;
}

/* Of blocks with the same sequence, keeps the first one that is intact. */
static int drop_duplicates(struct recording *r, struct err *err)
{
	size_t n_kept = 0;
	int n;

	for (size_t i = 0; i < r->n_blocks; i++) {
		struct block_ref *b = &r->block[i];
		struct block_ref *last = n_kept ? &r->block[n_kept - 1] : NULL;

		if (!last || last->sequence != b->sequence || last->piece != b->piece ||
		    last->lane_index != b->lane_index || last->thread != b->thread ||
		    last->lane != b->lane) {
			r->block[n_kept++] = *b;
			if (b != &r->block[n_kept - 1])
				b->copy = NULL;
			continue;
		}
		n = is_intact(r, last, err);
		if (n < 0)
			return n;
		r->n_duplicate_blocks++;
		if (n == 0) {
			damage_add(&r->damage, last->offset, last->stored_bytes,
				   "EVENTS chunk with a bad checksum; another copy was used");
			free(last->copy);
			*last = *b;
		} else {
			free(b->copy);
		}
		b->copy = NULL;
	}
	r->n_blocks = n_kept;
	return 0;
}

/* How many blocks of the lane are missing before b, which comes after last (NULL: none)? What a
 * missing piece held is not known. A tool that rewrites a piece numbers its blocks from 0. */
static uint64_t count_missing(const struct recording *r, const struct block_ref *last,
			      const struct block_ref *b)
{
	uint64_t expected = last ? (uint64_t)last->lane_index + 1 : 0;
	uint32_t piece = r->piece[b->piece].header.piece;
	uint32_t last_piece = last ? r->piece[last->piece].header.piece : 0;

	if (r->piece[b->piece].header.flags & FORMAT_CULLED)
		return 0; /* lane_index only gives the order */
	if (!last && piece > 1 && r->piece[0].header.piece > 1)
		return 0; /* the lane may have begun in a piece that is not there */
	if (last && last->piece != b->piece && (b->lane_index == 0 || r->n_missing_pieces > 0) &&
	    last_piece != piece)
		return 0;
	return b->lane_index > expected ? b->lane_index - expected : 0;
}

/* Blocks that begin at an impossible time are damage. */
static void drop_impossible(struct recording *r)
{
	size_t n_kept = 0;

	for (size_t i = 0; i < r->n_blocks; i++) {
		struct block_ref *b = &r->block[i];

		if (timebase_is_possible(&r->time, b->start_ticks)) {
			r->block[n_kept++] = *b;
			continue;
		}
		r->n_bad_blocks++;
		damage_add(&r->damage, b->offset, b->stored_bytes,
			   "block %u of thread %u begins at an impossible time", b->lane_index,
			   b->thread);
		free(b->copy);
	}
	r->n_blocks = n_kept;
}

static int add_lane(struct recording *r, size_t first, size_t end, struct err *err)
{
	const struct block_ref *b = &r->block[first];
	size_t i;
	int n;

	for (i = first; i < end; i++) {
		struct block_ref *at = &r->block[i];
		uint64_t n_missing;

		/* after the horizon, blocks may be missing that had not left their area yet */
		if (at->start_ticks > r->horizon_ticks)
			break;
		n_missing = count_missing(r, i > first ? at - 1 : NULL, at);
		at->is_after_gap = n_missing > 0;
		r->n_missing_blocks += n_missing;
		r->event_bytes += at->stored_bytes;
		r->raw_event_bytes += at->raw_bytes;
	}
	if (i == first)
		return 0;
	n = vec_reserve(&r->lane, &r->cap_lanes, r->n_lanes + 1, sizeof(*r->lane), err);
	if (n < 0)
		return n;
	r->lane[r->n_lanes++] = (struct lane_ref){
		.thread = b->thread,
		.lane = b->lane,
		.first_block = first,
		.n_blocks = i - first,
	};
	return 0;
}

int block_index_finish(struct recording *r, struct err *err)
{
	size_t first = 0;
	int n;

	drop_impossible(r);
	if (r->n_blocks == 0)
		return 0;
	qsort(r->block, r->n_blocks, sizeof(*r->block), compare_refs);
	n = drop_duplicates(r, err);
	for (size_t i = 1; n == 0 && i <= r->n_blocks; i++) {
		if (i < r->n_blocks && r->block[i].thread == r->block[first].thread &&
		    r->block[i].lane == r->block[first].lane)
			continue;
		n = add_lane(r, first, i, err);
		first = i;
	}
	return n;
}
