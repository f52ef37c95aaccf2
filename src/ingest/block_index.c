/* ingest/block_index.c - where each block of events is. See recording.h and recording_i.h. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "format/block.h"
#include "format/checksum.h"
#include "ingest/recording_i.h"
#include "util/vec.h"

#define AREA_TRIES 16 /* a block that moves on while we read it is read again */

static int add_ref(struct recording *r, const struct block_header *h, struct block_ref **ret,
		   struct err *err)
{
	int n = vec_reserve(&r->block, &r->cap_blocks, r->n_blocks + 1, sizeof(*r->block), err);

	if (n < 0)
		return n;
	*ret = &r->block[r->n_blocks++];
	**ret = (struct block_ref){
		.sequence = h->sequence,
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

enum area_result {
	AREA_EMPTY,
	AREA_TAKEN, /* *ret and r->scratch hold the block */
	AREA_CHANGED, /* it moved on meanwhile */
	AREA_DAMAGED,
};

/* One attempt at a block that a thread may be writing. used_bytes covers bytes that were stored
 * before it; the sequence tells whether it is still the same block after the bytes were read. */
static int read_area_block(struct recording *r, uint64_t offset, struct block_header *ret,
			   enum area_result *result, struct err *err)
{
	static const uint8_t zeros[BLOCK_HEADER_BYTES];
	uint8_t head[BLOCK_HEADER_BYTES];
	struct block_header h, again;
	uint32_t state;
	int n;

	*result = AREA_EMPTY;
	n = recording_read_scratch(r, offset, BLOCK_HEADER_BYTES, err);
	if (n <= 0)
		return n;
	memcpy(head, r->scratch, sizeof(head));
	if (memcmp(head, zeros, sizeof(zeros)) == 0)
		return 1;
	state = load_le32(head + 4);
	if (load_le32(head) == BLOCK_MAGIC && state == BLOCK_FREE)
		return 1;
	*result = AREA_DAMAGED;
	if (!block_decode(head, &h))
		return 1;
	n = recording_read_scratch(r, offset, BLOCK_HEADER_BYTES + h.used_bytes, err);
	if (n <= 0)
		return n;
	n = file_read_all(&r->file, offset, head, sizeof(head), err);
	if (n < 0)
		return n;
	*result = AREA_CHANGED;
	if (block_decode(head, &again) && again.sequence == h.sequence &&
	    again.state != BLOCK_FREE) {
		*ret = h;
		*result = AREA_TAKEN;
	}
	return 1;
}

int block_index_add_area_block(struct recording *r, uint64_t offset, struct err *err)
{
	enum area_result result = AREA_CHANGED;
	struct block_header h = {0};
	struct block_ref *ref = NULL;
	uint8_t *copy = NULL;
	int n;

	for (int i = 0; i < AREA_TRIES && result != AREA_TAKEN && result != AREA_EMPTY; i++) {
		n = read_area_block(r, offset, &h, &result, err);
		if (n <= 0)
			return n;
	}
	if (result == AREA_DAMAGED)
		damage_add(&r->damage, offset, FORMAT_BLOCK_BYTES, "damaged block in an AREA");
	/* one that keeps changing has been moved to a chunk each time: nothing is lost */
	if (result != AREA_TAKEN || h.used_bytes == 0)
		return 1;
	copy = malloc(h.used_bytes);
	if (!copy)
		return err_set_memory(err, h.used_bytes);
	n = add_ref(r, &h, &ref, err);
	if (n < 0) {
		free(copy);
		return n;
	}
	memcpy(copy, r->scratch + BLOCK_HEADER_BYTES, h.used_bytes);
	ref->copy = copy;
	ref->offset = offset;
	ref->stored_bytes = h.used_bytes;
	ref->raw_bytes = h.used_bytes;
	return 1;
}

int block_index_add_area(struct recording *r, const struct chunk_place *p, struct err *err)
{
	uint64_t payload = p->offset + CHUNK_HEADER_BYTES;
	uint64_t missing = p->header.stored_bytes - p->present_bytes;

	for (uint64_t at = 0; at + BLOCK_HEADER_BYTES <= p->present_bytes;
	     at += FORMAT_BLOCK_BYTES) {
		int n = block_index_add_area_block(r, payload + at, err);

		if (n < 0)
			return n;
		if (n == 0) {
			damage_add(&r->damage, payload + at, p->present_bytes - at,
				   "block in an AREA cut off by the end of the file");
			break;
		}
	}
	if (missing)
		damage_add(&r->damage, payload + p->present_bytes, missing,
			   "missing: the file was cut inside an AREA");
	return 0;
}

int block_index_add_events(struct recording *r, const struct chunk_place *p, struct err *err)
{
	uint64_t payload = p->offset + CHUNK_HEADER_BYTES;
	struct block_header h;
	struct block_ref *ref;
	bool is_lz4 = p->header.flags & CHUNK_FLAG_LZ4;
	int n;

	n = p->header.stored_bytes < BLOCK_HEADER_BYTES
		    ? 0
		    : recording_read_scratch(r, payload, BLOCK_HEADER_BYTES, err);
	if (n < 0)
		return n;
	if (n == 0 || !block_decode(r->scratch, &h) || p->header.raw_bytes > BLOCK_DATA_BYTES ||
	    (!is_lz4 && p->header.raw_bytes != p->header.stored_bytes - BLOCK_HEADER_BYTES)) {
		damage_add(&r->damage, p->offset, chunk_total_bytes(&p->header),
			   "EVENTS chunk with a damaged block header");
		return 0;
	}
	n = add_ref(r, &h, &ref, err);
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
	if (a->lane_index != b->lane_index)
		return a->lane_index < b->lane_index ? -1 : 1;
	if (a->sequence != b->sequence)
		return a->sequence < b->sequence ? -1 : 1;
	if (!a->copy != !b->copy)
		return a->copy ? 1 : -1; /* the chunk first: it is complete */
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

/* Is what the chunk holds what was written? 1 yes, 0 no. */
static int is_intact(struct recording *r, const struct block_ref *b, struct err *err)
{
	int n;

	if (b->copy)
		return 1;
	n = recording_read_scratch(r, b->offset, b->stored_bytes, err);
	if (n <= 0)
		return n;
	return !b->is_checked || checksum_bytes(r->scratch, b->stored_bytes) == b->payload_checksum;
}

/* Of blocks with the same sequence keeps the first that is intact. */
static int drop_duplicates(struct recording *r, struct err *err)
{
	size_t n_kept = 0;
	int n;

	for (size_t i = 0; i < r->n_blocks; i++) {
		struct block_ref *b = &r->block[i];
		struct block_ref *last = n_kept ? &r->block[n_kept - 1] : NULL;

		if (!last || last->sequence != b->sequence || last->lane_index != b->lane_index ||
		    last->thread != b->thread || last->lane != b->lane) {
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

static int add_lane(struct recording *r, size_t first, size_t end, struct err *err)
{
	const struct block_ref *b = &r->block[first];
	uint64_t expected = 0;
	int n;

	for (size_t i = first; i < end; i++) {
		if (r->block[i].lane_index > expected)
			r->n_missing_blocks += r->block[i].lane_index - expected;
		expected = (uint64_t)r->block[i].lane_index + 1;
		r->event_bytes += r->block[i].stored_bytes;
	}
	n = vec_reserve(&r->lane, &r->cap_lanes, r->n_lanes + 1, sizeof(*r->lane), err);
	if (n < 0)
		return n;
	r->lane[r->n_lanes++] = (struct lane_ref){
		.thread = b->thread,
		.lane = b->lane,
		.first_block = first,
		.n_blocks = end - first,
	};
	return 0;
}

int block_index_finish(struct recording *r, struct err *err)
{
	size_t first = 0;
	int n;

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
