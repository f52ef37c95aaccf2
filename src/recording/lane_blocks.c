/* recording/lane_blocks.c - see lane_blocks.h. */
#include "recording/lane_blocks.h"

#include <inttypes.h>
#include <stdlib.h>

#include "format/block.h"
#include "util/vec.h"

int lane_blocks_init(struct lane_blocks *b, struct recording *r, size_t extra_bytes,
		     struct err *err)
{
	*b = (struct lane_blocks){
		.rec = r,
		.extra_bytes = extra_bytes,
		.lane = calloc(r->n_lanes + 1, sizeof(*b->lane)),
		.heap.item = calloc(r->n_lanes + 1, sizeof(*b->heap.item)),
	};
	if (!b->lane || !b->heap.item)
		return err_set_memory(err, (r->n_lanes + 1) * sizeof(*b->lane));
	for (size_t i = 0; i < r->n_lanes; i++) {
		struct lane_cursor *l = &b->lane[i];

		l->block = r->lane[i].first_block;
		l->min_ticks = r->block[l->block].start_ticks;
	}
	lane_blocks_resume(b, NULL);
	return 0;
}

void lane_blocks_resume(struct lane_blocks *b, const struct checkpoint_pos *pos)
{
	b->heap.n = 0;
	for (size_t i = 0; i < b->rec->n_lanes; i++) {
		const struct lane_ref *ref = &b->rec->lane[i];
		struct lane_cursor *l = &b->lane[i];
		size_t first = l->block - l->is_at_checkpoint;

		l->end_block = ref->first_block + (pos ? pos->lane[i].n_blocks : ref->n_blocks);
		l->last_bytes = pos ? pos->lane[i].last_bytes : SIZE_MAX;
		if (first >= l->end_block)
			continue;
		l->block = first;
		b->heap.item[b->heap.n++] =
			(struct lane_heap_item){.key = l->min_ticks, .lane = (uint32_t)i};
	}
	lane_heap_make(&b->heap);
}

void lane_blocks_fini(struct lane_blocks *b)
{
	for (size_t i = 0; b->lane && i < b->rec->n_lanes; i++)
		free(b->lane[i].buf);
	for (size_t i = 0; i < b->n_spare; i++)
		free(b->spare[i]);
	free(b->spare);
	free(b->lane);
	free(b->heap.item);
	*b = (struct lane_blocks){0};
}

static int take_buffer(struct lane_blocks *b, uint8_t **ret, struct err *err)
{
	size_t n_bytes = BLOCK_DATA_BYTES + 15 + b->extra_bytes;

	if (b->n_spare > 0) {
		*ret = b->spare[--b->n_spare];
		return 0;
	}
	*ret = malloc(n_bytes);
	return *ret ? 0 : err_set_memory(err, n_bytes);
}

static void report_malformed(struct lane_blocks *b, struct lane_cursor *l)
{
	const struct block_ref *ref = &b->rec->block[l->block];

	l->is_after_gap = true;
	b->rec->n_bad_blocks++;
	damage_add(&b->rec->damage, ref->offset,
		   block_ref_file_bytes(ref, ref->raw_bytes - l->decoder.in.pos),
		   "malformed event at byte %zu of block %u of thread %u", l->decoder.in.pos,
		   ref->lane_index, ref->thread);
}

void lane_blocks_cut(struct lane_cursor *l, uint64_t n_calls)
{
	struct event ev;

	l->cut_pos = l->decoder.in.pos;
	l->n_impossible = n_calls;
	while (event_decode(&l->decoder, &ev) > 0)
		l->n_impossible += event_is_call(ev.kind);
	l->decoder.in.pos = l->decoder.in.len;
}

static void report_impossible(struct lane_blocks *b, struct lane_cursor *l)
{
	const struct block_ref *ref = &b->rec->block[l->block];

	l->is_after_gap = true;
	b->rec->n_bad_blocks++;
	damage_add(&b->rec->damage, ref->offset, ref->raw_bytes - l->cut_pos,
		   "%" PRIu64 " events at impossible times, in block %u of thread %u",
		   l->n_impossible, ref->lane_index, ref->thread);
	l->n_impossible = 0;
}

/* Notes that events are missing after the last one of a lane that was decoded. */
static int add_gap(struct lane_blocks *b, const struct lane_cursor *l, uint64_t to_ticks,
		   struct err *err)
{
	struct recording *r = b->rec;
	const struct lane_ref *lane = &r->lane[l - b->lane];
	const struct metadata_thread *thread = metadata_find_thread(&r->metadata, lane->thread);
	uint64_t from_ticks = l->decoder.ticks;
	int n = vec_reserve(&r->gap, &r->cap_gaps, r->n_gaps + 1, sizeof(*r->gap), err);

	if (n < 0)
		return n;
	if (from_ticks == 0)
		from_ticks =
			thread && thread->start_ticks ? thread->start_ticks : r->header.start_ticks;
	if (from_ticks < to_ticks)
		r->gap[r->n_gaps++] = (struct recording_gap){from_ticks, to_ticks};
	return 0;
}

int lane_blocks_end(struct lane_blocks *b, struct lane_cursor *l, bool is_malformed,
		    struct err *err)
{
	int n = vec_reserve(&b->spare, &b->cap_spare, b->n_spare + 1, sizeof(*b->spare), err);

	if (n == 0 && (is_malformed || l->n_impossible) && l->block + 1 == l->end_block)
		n = add_gap(b, l, UINT64_MAX, err);
	if (n < 0)
		return n;
	if (is_malformed)
		report_malformed(b, l);
	else if (l->n_impossible)
		report_impossible(b, l);
	b->spare[b->n_spare++] = l->buf;
	l->buf = NULL;
	l->is_loaded = false;
	l->block++;
	if (unlikely(l->block == l->end_block && l->last_bytes != SIZE_MAX)) {
		l->at_checkpoint = l->decoder;
		l->is_at_checkpoint = true;
	}
	if (l->block < l->end_block && b->rec->block[l->block].start_ticks > l->min_ticks)
		l->min_ticks = b->rec->block[l->block].start_ticks;
	return 0;
}

/* The recorder has taken these events out of the block already. */
static void skip_taken(struct lane_cursor *l, uint32_t n)
{
	struct event ignored;

	while (n-- > 0 && event_decode(&l->decoder, &ignored) > 0)
		;
}

int lane_blocks_load(struct lane_blocks *b, struct lane_cursor *l, struct err *err)
{
	const struct block_ref *ref = &b->rec->block[l->block];
	const struct block_header h = {
		.start_ticks = ref->start_ticks,
		.first_stack = ref->first_stack,
		.generation = ref->generation,
	};
	size_t len = 0;
	int n = take_buffer(b, &l->buf, err);

	if (n < 0)
		return n;
	b->n_blocks_read++;
	n = recording_load_block(b->rec, ref, l->buf, &len, err);
	if (n < 0)
		return n;
	if (ref->is_after_gap && !l->is_at_checkpoint)
		l->is_after_gap = true;
	if (l->block + 1 == l->end_block && len > l->last_bytes)
		len = l->last_bytes;
	if (n == 0) {
		l->is_after_gap = true;
		n = l->block + 1 == l->end_block ? add_gap(b, l, UINT64_MAX, err) : 0;
		return n < 0 ? n : lane_blocks_end(b, l, false, err);
	}
	if (l->is_after_gap) {
		n = add_gap(b, l, ref->start_ticks, err);
		if (n < 0)
			return n;
	}
	l->is_loaded = true;
	event_decoder_init(&l->decoder, &h, l->buf, len);
	if (unlikely(l->is_at_checkpoint)) {
		struct cursor in = l->decoder.in;

		in.pos = l->at_checkpoint.in.pos;
		l->decoder = l->at_checkpoint;
		l->decoder.in = in;
		l->is_at_checkpoint = false;
	}
	skip_taken(l, ref->n_taken);
	l->decoder.lane = (uint32_t)(l - b->lane);
	return 0;
}
