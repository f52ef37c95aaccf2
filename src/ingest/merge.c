/* ingest/merge.c - see merge.h. A binary heap of lanes; its top is the lane that is being read. */
#include "ingest/merge.h"

#include <stdlib.h>

#include "format/block.h"
#include "util/vec.h"

#define LANE_AHEAD 8 /* events that a lane decodes at a time */

struct merge_decoded {
	struct event event;
	uint32_t generation;
};

struct merge_lane {
	struct merge_decoded ahead[LANE_AHEAD]; /* [at, n) are to come; none while not loaded */
	unsigned at, n;
	struct event_decoder decoder;
	uint64_t key; /* greatest time seen; when not loaded: no event comes before it */
	uint8_t *buf; /* event bytes of the block; NULL between blocks */
	size_t block; /* in recording.block: the current one, or the one to load next */
	size_t end_block;
	uint32_t next_index; /* expected lane_index */
	bool is_loaded;
	bool is_after_gap;
};

struct merge {
	struct recording *rec;
	struct merge_lane *lane;
	uint32_t *heap; /* lanes that have more, the smallest (key, number) at the top */
	size_t n_heap;
	uint8_t **spare; /* buffers to use again */
	size_t n_spare;
	size_t cap_spare;
	uint64_t n_blocks_read;
	bool is_top_used; /* the top's event was handed out: it must advance */
};

static bool is_before(const struct merge *m, uint32_t a, uint32_t b)
{
	uint64_t key_a = m->lane[a].key, key_b = m->lane[b].key;

	return key_a != key_b ? key_a < key_b : a < b;
}

static void sift_down(struct merge *m, size_t at)
{
	uint32_t moving = m->heap[at];

	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= m->n_heap)
			break;
		if (child + 1 < m->n_heap && is_before(m, m->heap[child + 1], m->heap[child]))
			child++;
		if (!is_before(m, m->heap[child], moving))
			break;
		m->heap[at] = m->heap[child];
		at = child;
	}
	m->heap[at] = moving;
}

int merge_create(struct recording *r, struct merge **ret, struct err *err)
{
	struct merge *m = calloc(1, sizeof(*m));

	if (!m)
		return err_set_memory(err, sizeof(*m));
	m->rec = r;
	m->lane = calloc(r->n_lanes + 1, sizeof(*m->lane));
	m->heap = calloc(r->n_lanes + 1, sizeof(*m->heap));
	if (!m->lane || !m->heap) {
		merge_destroy(m);
		return err_set_memory(err, (r->n_lanes + 1) * sizeof(*m->lane));
	}
	for (size_t i = 0; i < r->n_lanes; i++) {
		m->lane[i].block = r->lane[i].first_block;
		m->lane[i].end_block = r->lane[i].first_block + r->lane[i].n_blocks;
		m->lane[i].key = r->block[r->lane[i].first_block].start_ticks;
		m->heap[i] = (uint32_t)i;
	}
	m->n_heap = r->n_lanes;
	for (size_t i = m->n_heap / 2; i-- > 0;)
		sift_down(m, i);
	*ret = m;
	return 0;
}

void merge_destroy(struct merge *m)
{
	if (!m)
		return;
	for (size_t i = 0; m->lane && i < m->rec->n_lanes; i++)
		free(m->lane[i].buf);
	for (size_t i = 0; i < m->n_spare; i++)
		free(m->spare[i]);
	free(m->spare);
	free(m->lane);
	free(m->heap);
	free(m);
}

static int take_buffer(struct merge *m, uint8_t **ret, struct err *err)
{
	if (m->n_spare > 0) {
		*ret = m->spare[--m->n_spare];
		return 0;
	}
	*ret = malloc(BLOCK_DATA_BYTES);
	return *ret ? 0 : err_set_memory(err, BLOCK_DATA_BYTES);
}

/* Gives the buffer back and makes the lane wait for its next block. */
static int end_block(struct merge *m, struct merge_lane *l, struct err *err)
{
	int n = vec_reserve(&m->spare, &m->cap_spare, m->n_spare + 1, sizeof(*m->spare), err);

	if (n < 0)
		return n;
	m->spare[m->n_spare++] = l->buf;
	l->buf = NULL;
	l->is_loaded = false;
	l->block++;
	if (l->block < l->end_block && m->rec->block[l->block].start_ticks > l->key)
		l->key = m->rec->block[l->block].start_ticks;
	return 0;
}

static void report_malformed(struct merge *m, const struct merge_lane *l)
{
	const struct block_ref *b = &m->rec->block[l->block];

	m->rec->n_bad_blocks++;
	damage_add(&m->rec->damage, b->offset, b->raw_bytes - l->decoder.in.pos,
		   "malformed event at byte %zu of block %u of thread %u", l->decoder.in.pos,
		   b->lane_index, b->thread);
}

/* Decodes some events of a lane whose block is in memory; less than one: the block is done. */
static int decode_ahead(struct merge *m, struct merge_lane *l, struct err *err)
{
	int n = 1;

	l->at = 0;
	for (l->n = 0; l->n < LANE_AHEAD; l->n++) {
		struct merge_decoded *d = &l->ahead[l->n];

		n = event_decode(&l->decoder, &d->event);
		if (n <= 0)
			break;
		d->generation = l->decoder.generation;
	}
	if (l->n > 0)
		return 0;
	if (n < 0) {
		report_malformed(m, l);
		l->is_after_gap = true;
	}
	return end_block(m, l, err);
}

/* Goes on to the next event of a lane whose block is in memory. */
static int advance(struct merge *m, struct merge_lane *l, struct err *err)
{
	int n = 0;

	if (++l->at >= l->n)
		n = decode_ahead(m, l, err);
	if (l->is_loaded && l->ahead[l->at].event.ticks > l->key)
		l->key = l->ahead[l->at].event.ticks;
	return n;
}

/* Reads the block that the lane waits for. */
static int load(struct merge *m, struct merge_lane *l, struct err *err)
{
	const struct block_ref *b = &m->rec->block[l->block];
	const struct block_header h = {
		.start_ticks = b->start_ticks,
		.first_stack = b->first_stack,
		.generation = b->generation,
	};
	size_t len = 0;
	int n = take_buffer(m, &l->buf, err);

	if (n < 0)
		return n;
	m->n_blocks_read++;
	n = recording_load_block(m->rec, b, l->buf, &len, err);
	if (n < 0)
		return n;
	if (b->lane_index != l->next_index)
		l->is_after_gap = true;
	l->next_index = b->lane_index + 1;
	if (n == 0) {
		l->is_after_gap = true;
		return end_block(m, l, err);
	}
	l->is_loaded = true;
	event_decoder_init(&l->decoder, &h, l->buf, len);
	l->at = l->n = 0;
	return advance(m, l, err);
}

int merge_next(struct merge *m, struct merge_event *ret, struct err *err)
{
	struct merge_lane *l;
	int n;

	while (m->n_heap > 0) {
		l = &m->lane[m->heap[0]];
		if (l->is_loaded && !m->is_top_used)
			break;
		n = m->is_top_used ? advance(m, l, err) : load(m, l, err);
		if (n < 0)
			return n;
		m->is_top_used = false;
		if (!l->is_loaded && l->block == l->end_block)
			m->heap[0] = m->heap[--m->n_heap];
		if (m->n_heap > 1)
			sift_down(m, 0);
	}
	if (m->n_heap == 0)
		return 0;
	l = &m->lane[m->heap[0]];
	if (l->key > m->rec->horizon_ticks)
		return 0;
	*ret = (struct merge_event){
		.event = &l->ahead[l->at].event,
		.order_ticks = l->key,
		.lane = m->heap[0],
		.generation = l->ahead[l->at].generation,
		.is_after_gap = l->is_after_gap,
	};
	l->is_after_gap = false;
	m->is_top_used = true;
	return 1;
}

uint64_t merge_n_blocks_read(const struct merge *m)
{
	return m->n_blocks_read;
}
