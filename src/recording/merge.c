/* recording/merge.c - see merge.h. The first lane of the heap is the one that is being read. */
#include "recording/merge.h"

#include <stdlib.h>

#include "recording/lane_blocks.h"

struct merge {
	struct lane_blocks blocks;
	struct event *next; /* by lane: its next event, while it is loaded */
	bool is_first_used; /* the first lane's event was handed out: it must advance */
};

int merge_create(struct recording *r, struct merge **ret, struct err *err)
{
	struct merge *m = calloc(1, sizeof(*m));
	int n;

	if (!m)
		return err_set_memory(err, sizeof(*m));
	n = lane_blocks_init(&m->blocks, r, 0, err);
	m->next = calloc(r->n_lanes + 1, sizeof(*m->next));
	if (n == 0 && !m->next)
		n = err_set_memory(err, (r->n_lanes + 1) * sizeof(*m->next));
	if (n < 0) {
		merge_destroy(m);
		return n;
	}
	*ret = m;
	return 0;
}

void merge_destroy(struct merge *m)
{
	if (!m)
		return;
	lane_blocks_fini(&m->blocks);
	free(m->next);
	free(m);
}

/* Moves to the next event of the lane, if need be in its next block. Afterwards the lane may need
 * lane_blocks_load(). */
static int advance(struct merge *m, uint32_t lane, struct err *err)
{
	struct lane_cursor *l = &m->blocks.lane[lane];
	int n = 0;

	if (!l->is_loaded)
		n = lane_blocks_load(&m->blocks, l, err);
	if (n < 0 || !l->is_loaded)
		return n;
	n = event_decode(&l->decoder, &m->next[lane]);
	if (n <= 0)
		return lane_blocks_end(&m->blocks, l, n < 0, err);
	if (!timebase_is_possible(&m->blocks.rec->time, m->next[lane].ticks)) {
		lane_blocks_cut(l, event_is_call(m->next[lane].kind));
		return lane_blocks_end(&m->blocks, l, false, err);
	}
	if (m->next[lane].ticks > l->min_ticks)
		l->min_ticks = m->next[lane].ticks;
	return 0;
}

int merge_next(struct merge *m, struct merge_event *ret, struct err *err)
{
	struct lane_heap *heap = &m->blocks.heap;
	struct lane_cursor *l;
	uint32_t lane;

	for (;;) {
		int n;

		if (heap->n == 0 || heap->item[0].key > m->blocks.rec->horizon_ticks)
			return 0;
		lane = heap->item[0].lane;
		l = &m->blocks.lane[lane];
		if (l->is_loaded && !m->is_first_used)
			break;
		m->is_first_used = false;
		n = advance(m, lane, err);
		if (n < 0)
			return n;
		if (lane_has_more(l))
			lane_heap_change_first(heap, l->min_ticks);
		else
			lane_heap_remove_first(heap);
	}
	*ret = (struct merge_event){
		.event = &m->next[lane],
		.order_ticks = l->min_ticks,
		.lane = lane,
		.generation = l->decoder.generation,
		.is_after_gap = l->is_after_gap,
	};
	l->is_after_gap = false;
	m->is_first_used = true;
	return 1;
}
