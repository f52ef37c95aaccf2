/* recording/checkpoint_pos.c - see checkpoint_pos.h. */
#include "recording/checkpoint_pos.h"

#include <stdlib.h>

#include "base/units.h"

/* Definitions have no time of their own: they belong to the call that follows. */
static bool has_time(unsigned kind)
{
	return kind != EVENT_STACK && kind != EVENT_STACK_END && kind != EVENT_STACK_GUESS &&
	       kind != EVENT_FORGET;
}

static void init_decoder(struct event_decoder *d, const struct block_ref *ref, const uint8_t *bytes,
			 size_t len)
{
	const struct block_header h = {
		.start_ticks = ref->start_ticks,
		.first_stack = ref->first_stack,
		.generation = ref->generation,
	};

	event_decoder_init(d, &h, bytes, len);
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* The part of a block up to a time. */
struct block_part {
	size_t n_bytes; /* up to the end of the last event that is not later; 0: all are later */
	uint64_t last_ns; /* of that event */
	bool is_all; /* no event is later ... */
	bool is_open; /* ... and the last one is a REALLOC_BEGIN */
	bool is_bad; /* it cannot be decoded */
};

static struct block_part look_at_block(const struct recording *r, const struct block_ref *ref,
				       const uint8_t *bytes, size_t len, uint64_t at_ns)
{
	struct block_part p = {.is_all = true};
	uint64_t ticks = ref->start_ticks;
	struct event_decoder d;
	struct event ev;
	int n;

	init_decoder(&d, ref, bytes, len);
	while ((n = event_decode(&d, &ev)) > 0) {
		uint64_t ns;

		if (!has_time(ev.kind))
			continue;
		ticks = later(ticks, ev.ticks);
		ns = timebase_ns(&r->time, ticks);
		if (ns > at_ns) {
			p.is_all = p.is_open = false;
			return p;
		}
		p.n_bytes = d.in.pos;
		p.last_ns = ns;
		p.is_open = ev.kind == EVENT_REALLOC_BEGIN;
	}
	p.is_bad = n < 0;
	return p;
}

/* Finds the position in a lane. 1: done. 0: the moment must be earlier, at the new *at_ns. Less:
 * -ERR_FORMAT when the lane is damaged, or another error. */
static int find_in_lane(struct recording *r, const struct lane_ref *lane, uint8_t *bytes,
			uint64_t *at_ns, struct checkpoint_pos_lane *ret, struct err *err)
{
	const struct block_ref *ref = &r->block[lane->first_block];
	size_t n = 0, len;
	struct block_part p;
	int k;

	*ret = (struct checkpoint_pos_lane){0};
	while (n < lane->n_blocks && timebase_ns(&r->time, ref[n].start_ticks) <= *at_ns)
		n++;
	for (; n > 0; n--) {
		k = recording_load_block(r, &ref[n - 1], bytes, &len, err);
		if (k < 0)
			return k;
		p = look_at_block(r, &ref[n - 1], bytes, len, *at_ns);
		if (k == 0 || p.is_bad)
			return err_set(err, ERR_FORMAT, "damaged block");
		if (p.is_all && p.is_open && n == lane->n_blocks) {
			*at_ns = p.last_ns ? p.last_ns - 1 : 0;
			return 0;
		}
		*ret = (struct checkpoint_pos_lane){.n_blocks = n, .last_bytes = p.n_bytes};
		if (p.n_bytes > 0)
			return 1;
	}
	*ret = (struct checkpoint_pos_lane){0};
	return 1;
}

static int find_in_lanes(struct recording *r, uint64_t min_ns, struct checkpoint_pos *c,
			 struct err *err)
{
	uint8_t *bytes = malloc(BLOCK_DATA_BYTES);
	int n = bytes ? 1 : err_set_memory(err, BLOCK_DATA_BYTES);

	for (size_t i = 0; n > 0 && i < r->n_lanes; i++) {
		n = find_in_lane(r, &r->lane[i], bytes, &c->at_ns, &c->lane[i], err);
		if (n == 0) { /* the moment is earlier now: start again with the first lane */
			i = SIZE_MAX;
			n = c->at_ns > 0 && c->at_ns >= min_ns;
		}
	}
	free(bytes);
	return n;
}

/* The time before which no event is likely to come any more; 0: there is none. */
static uint64_t settled_ns(const struct recording *r)
{
	uint64_t ticks =
		r->horizon_ticks != UINT64_MAX ? r->horizon_ticks : r->status.field[STATUS_TICKS];
	uint64_t now_ns = timebase_ns(&r->time, ticks);

	return now_ns > CHECKPOINT_POS_MARGIN_NS ? now_ns - CHECKPOINT_POS_MARGIN_NS : 0;
}

bool checkpoint_pos_is_possible(const struct recording *r)
{
	return r->has_status && r->status.field[STATUS_STATE] == FORMAT_STATE_RECORDING &&
	       timebase_is_steady(&r->time) && r->damage.n_ranges == 0 && settled_ns(r) > 0;
}

int checkpoint_pos_find(struct recording *r, uint64_t min_ns, struct checkpoint_pos *ret,
			struct err *err)
{
	struct checkpoint_pos c = {0};
	int n;

	if (!checkpoint_pos_is_possible(r))
		return 0;
	c.at_ns = settled_ns(r);
	if (c.at_ns < min_ns)
		return 0;
	c.lane = calloc(r->n_lanes + 1, sizeof(*c.lane));
	n = c.lane ? find_in_lanes(r, min_ns, &c, err)
		   : err_set_memory(err, r->n_lanes * sizeof(*c.lane));
	if (n <= 0) {
		checkpoint_pos_fini(&c);
		return n == -ERR_FORMAT ? 0 : n;
	}
	*ret = c;
	return 1;
}

void checkpoint_pos_fini(struct checkpoint_pos *c)
{
	free(c->lane);
	*c = (struct checkpoint_pos){0};
}

/* The time of the first event of a block from d on, or UINT64_MAX. */
static uint64_t first_time(const struct recording *r, struct event_decoder *d, uint64_t min_ticks)
{
	struct event ev;

	while (event_decode(d, &ev) > 0) {
		if (has_time(ev.kind))
			return timebase_ns(&r->time, later(ev.ticks, min_ticks));
	}
	return UINT64_MAX;
}

int checkpoint_pos_check_lane(struct recording *r, size_t lane,
			      const struct checkpoint_pos_start *from, uint64_t at_ns,
			      struct err *err)
{
	const struct event_decoder *d = from->decoder;
	size_t block = from->block, end = r->lane[lane].first_block + r->lane[lane].n_blocks, len;
	uint8_t *bytes = malloc(BLOCK_DATA_BYTES);
	uint64_t ns = UINT64_MAX;
	int n = bytes ? 1 : err_set_memory(err, BLOCK_DATA_BYTES);

	for (; n > 0 && ns == UINT64_MAX && block < end; block++, d = NULL) {
		struct event_decoder at;

		n = recording_load_block(r, &r->block[block], bytes, &len, err);
		if (n <= 0)
			break;
		init_decoder(&at, &r->block[block], bytes, len);
		if (d) {
			n = d->in.pos <= len;
			at = *d;
			at.in = cursor_make(bytes, len);
			at.in.pos = d->in.pos;
		}
		if (n > 0)
			ns = first_time(r, &at,
					later(from->min_ticks, r->block[block].start_ticks));
	}
	free(bytes);
	return n <= 0 ? n : ns > at_ns;
}
