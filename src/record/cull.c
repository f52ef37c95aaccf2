/* record/cull.c - see cull.h. The slots, and the steps. */
#include "record/cull_i.h"

#include "record/clock.h"
#include "record/log.h"
#include "record/own_memory.h"
#include "record/pool.h"
#include "record/sys.h"

#define ROOMY_SLOTS (CULL_EXTRA_SLOTS / 4 * 3) /* more than CULL_FEW_SLOTS */
#define SUMS_NS NS_PER_S
#define MANY_SUMS_NS (10 * NS_PER_S)
#define MANY_GROUPS 512u
#define MARGIN_NS (2 * NS_PER_US) /* clocks of CPUs may differ by less */
#define PEEK_NS (50 * NS_PER_MS)
#define MEASURE_NS (10 * NS_PER_MS)
#define AT_ONCE_NS NS_PER_US
#define MEASURE_ROUGHLY_NS (100 * NS_PER_US)
#define IDLE_NS (30 * NS_PER_S) /* then the memory of a lane may serve another one */
#define HEARTBEAT_EVENTS 32768u /* less than CLOCK_HEARTBEAT_NS */
#define STEP_EVENTS 100000u /* then the step counts, so that slots become free */

bool cull_is_wanted(void)
{
	return options_active.CULL_TEMPORARY_ALLOCATIONS;
}

/* ---- slots ---- */

void cull_slot_free(struct cull *c, uint32_t i)
{
	c->slot[i].from_step = 0;
	c->link[i].next = c->first_free;
	c->first_free = i;
	c->n_free++;
}

uint32_t cull_slot_new(struct cull *c, struct cull_lane *l, unsigned kind, uint64_t ticks,
		       uint32_t stack)
{
	uint32_t i = c->first_free;
	struct pending_slot *s;

	if (!i && c->n_touched < c->n_slots) {
		i = c->n_touched++;
		c->area->n_slots = c->n_touched;
	}
	s = &c->slot[i];
	if (!i) {
		session_count_lost(c->session, 1, 0, -12);
		return 0;
	}
	if (i == c->first_free)
		c->first_free = c->link[i].next;
	c->n_free--;
	s->from_step = c->step;
	s->gone_step = s->out_block = 0;
	s->thread = l->thread;
	s->number = c->next_number++;
	s->ticks = ticks;
	s->stack = stack;
	s->kind = (uint8_t)kind;
	s->lane = (uint8_t)l->lane;
	s->allocator = s->n_bytes = 0;
	c->link[i] = (struct cull_link){.prev = l->last, .lane = l->index, .state = CULL_KEPT};
	if (l->last)
		c->link[l->last].next = i;
	else
		l->first = i;
	l->last = i;
	return i;
}

static void unlink_slot(struct cull *c, uint32_t i)
{
	struct cull_link *k = &c->link[i];
	struct cull_lane *l = c->lane[k->lane];

	if (k->prev)
		c->link[k->prev].next = k->next;
	else
		l->first = k->next;
	if (k->next)
		c->link[k->next].prev = k->prev;
	else
		l->last = k->prev;
}

/* The number is that of the other event, which no reader has together with this one: one is there from
 * the step on, the other up to it. */
uint32_t cull_slot_new_before(struct cull *c, uint32_t at, unsigned kind)
{
	struct cull_lane *l = c->lane[c->link[at].lane];
	uint32_t i = cull_slot_new(c, l, kind, c->slot[at].ticks, 0);
	uint32_t prev = c->link[at].prev;

	if (!i)
		return 0;
	c->slot[i].number = c->slot[at].number;
	unlink_slot(c, i);
	c->link[i].prev = prev;
	c->link[i].next = at;
	c->link[at].prev = i;
	if (prev)
		c->link[prev].next = i;
	else
		l->first = i;
	return i;
}

void cull_slot_leave(struct cull *c, uint32_t i)
{
	c->link[i].next = c->first_gone;
	c->first_gone = i;
	c->n_gone++;
}

void cull_slot_drop(struct cull *c, uint32_t i)
{
	unlink_slot(c, i);
	c->link[i].state = CULL_LEFT_OUT;
	if (c->slot[i].from_step == c->step) {
		cull_slot_free(c, i); /* the file still has the event where the thread put it */
		return;
	}
	c->slot[i].gone_step = c->step;
	cull_slot_leave(c, i);
}

/* The event was written. A reader may have copied the output block before, so the slot keeps the event
 * until the next commit shows the reader that things have changed. */
static void cull_slot_written(struct cull *c, uint32_t i)
{
	unlink_slot(c, i);
	cull_slot_leave(c, i);
}

/* ---- sums ---- */

static void put_group(struct cull *c, const struct cull_sums *g)
{
	struct cull_lane *l = c->lane[g->lane];
	uint32_t i = cull_slot_new(c, l, g->kind, l->now, g->stack);
	uint64_t *value = c->slot[i].value;

	if (!i)
		return;
	value[0] = g->n;
	value[1] = g->bytes;
	value[2] = g->n_temporary;
	value[3] = g->temporary_bytes;
	value[4] = g->min_bytes;
	value[5] = g->max_bytes;
}

void cull_put_sums(struct cull *c)
{
	for (uint32_t i = 0; c->n_groups && i < CULL_MAX_GROUPS; i++) {
		struct cull_group *g = &c->group[i];

		if (!g->sums.kind)
			continue;
		put_group(c, &g->sums);
		cull_group_touch(g, c->step);
		g->sums = (struct cull_sums){0};
		c->n_groups--;
	}
}

static void put_sums_when_due(struct cull *c, uint64_t now_ns)
{
	if (!c->n_groups || now_ns < c->next_sums_ns)
		return;
	c->next_sums_ns = now_ns + (c->n_groups > MANY_GROUPS ? MANY_SUMS_NS : SUMS_NS);
	cull_put_sums(c);
}

/* ---- steps ---- */

static void put_taken(uint64_t *taken, uint32_t *n, const struct cull_raw *raw)
{
	if (*n < PENDING_MAX_BLOCKS - 1)
		taken[(*n)++] = raw->sequence << PENDING_COUNT_BITS | raw->n_done;
}

/* What another writer needs, should this one be killed after the commit. */
static void save_lane(struct cull_lane *l, uint64_t step)
{
	l->saved[step & 1] = (struct cull_saved){
		.now = l->now,
		.held_ticks = l->held_ticks,
		.ordinal = l->ordinal,
		.culled_ordinal = l->culled_ordinal,
		.marked_ordinal = l->marked_ordinal,
	};
}

/* From here on the step counts. */
static void commit(struct cull *c)
{
	uint64_t *taken = c->area->taken[c->step & 1];
	uint32_t n = 0, next;

	for (struct cull_raw *raw = c->finished; raw; raw = raw->next)
		put_taken(taken, &n, raw);
	for (uint32_t i = 0; i < c->n_lanes; i++) {
		save_lane(c->lane[i], c->step);
		for (struct cull_raw *raw = c->lane[i]->raw; raw && raw->n_done; raw = raw->next)
			put_taken(taken, &n, raw);
	}
	taken[n] = 0;
	c->saved_judged_until[c->step & 1] = c->judged_until;
	atomic_store_explicit(&c->area->committed, c->step, memory_order_release);
	c->step++;
	while (c->finished) {
		struct cull_raw *raw = c->finished;

		c->finished = raw->next;
		raw->is_known = false;
		pool_give_free(c->rec, &c->session->area[raw->area], raw->slot);
	}
	for (; c->first_gone; c->first_gone = next) {
		next = c->link[c->first_gone].next;
		cull_slot_free(c, c->first_gone);
	}
	c->n_gone = 0;
}

/* Writes the first event of the lane's list if it is decided. is_forced: decides that it stays.
 * False: nothing was written. */
static bool write_first(struct cull *c, struct cull_lane *l, bool is_forced)
{
	uint32_t i = l->first;
	struct cull_link *k = &c->link[i];

	if (!i || c->slot[i].from_step >= c->step)
		return false;
	if (k->state == CULL_UNDECIDED) {
		uint64_t began = c->slot[k->root].ticks;

		if (!is_forced && !c->is_closing &&
		    (c->judged_until < began || c->judged_until - began < c->threshold_ticks))
			return false;
		cull_keep_chain(c, i);
	}
	if (!cull_lane_write(c, l, i))
		session_count_lost(c->session, 1, 0, -28);
	cull_slot_written(c, i);
	return true;
}

/* The lane with the oldest event that may be written. */
static struct cull_lane *find_oldest(const struct cull *c)
{
	struct cull_lane *oldest = NULL;

	for (uint32_t i = 0; i < c->n_lanes; i++) {
		struct cull_lane *l = c->lane[i];

		if (l->first && c->slot[l->first].from_step < c->step &&
		    (!oldest || c->slot[l->first].ticks < c->slot[oldest->first].ticks))
			oldest = l;
	}
	return oldest;
}

/* Writes what is decided. A client of the server does not see slots (stream_source.h): there the
 * events of all lanes are written in the order of time, so that it never has a free without its
 * allocation. */
static void write_decided(struct cull *c)
{
	struct cull_lane *l;

	for (uint32_t i = 0; !c->is_ordered && i < c->n_lanes; i++) {
		while (write_first(c, c->lane[i], false))
			;
	}
	while (c->is_ordered && (l = find_oldest(c)) && write_first(c, l, false))
		;
}

/* Too much is undecided, or slots run out: writes the oldest. */
static void make_room(struct cull *c)
{
	uint32_t max = c->max_undecided - c->max_undecided / 8;
	struct cull_lane *l;

	commit(c);
	write_decided(c);
	while ((c->n_undecided > max || c->n_free + c->n_gone < ROOMY_SLOTS) &&
	       (l = find_oldest(c))) {
		write_first(c, l, true);
		while (!c->is_ordered && write_first(c, l, false))
			;
	}
	commit(c); /* the slots become free */
}

/* The ready lane whose next event is the earliest, and the time up to which it goes on alone. */
static struct cull_lane *find_next(struct cull *c, uint64_t *until)
{
	struct cull_lane *next = NULL;
	uint64_t best = UINT64_MAX, second = c->horizon;

	c->decoded_until = c->horizon;

	for (uint32_t i = 0; i < c->n_lanes; i++) {
		struct cull_lane *l = c->lane[i];
		uint64_t ticks;

		if (!l->has_more)
			continue;
		if (l->decoded_ticks < c->decoded_until)
			c->decoded_until = l->decoded_ticks;
		ticks = cull_lane_next_ticks(l);
		if (ticks < best) {
			second = best < second ? best : second;
			best = ticks;
			next = l;
		} else if (ticks < second) {
			second = ticks;
		}
	}
	*until = second;
	return best <= c->horizon ? next : NULL;
}

/* Takes the lane's events up to a time. */
static uint32_t take_events(struct cull *c, struct cull_lane *l, uint64_t until)
{
	uint32_t n = 0;

	do {
		if (l->at < l->end) {
			n += cull_judge_calls(c, l, until);
		} else {
			cull_judge_event(c, l);
			n++;
		}
		if (cull_is_short_of_slots(c) && !cull_is_in_pair(c))
			make_room(c);
		if (l->at == l->end && !l->has_event)
			l->has_more = cull_lane_refill(c, l);
	} while (l->has_more && cull_lane_next_ticks(l) <= until);
	return n;
}

static uint32_t take_all(struct cull *c)
{
	struct cull_lane *l;
	uint32_t n = 0, n_ready = 0, next_heartbeat = 0;
	uint64_t until;

	for (uint32_t i = 0; i < c->n_lanes; i++) {
		l = c->lane[i];
		l->has_more = l->at < l->end || l->has_event || cull_lane_refill(c, l);
		n_ready += l->has_more;
	}
	while ((l = find_next(c, &until)) && (n < STEP_EVENTS || cull_is_in_pair(c))) {
		c->may_run_ahead = n < STEP_EVENTS && n_ready <= CULL_MAX_AHEAD_LANES;
		if (c->is_lively && n >= next_heartbeat) {
			next_heartbeat = n + HEARTBEAT_EVENTS;
			clock_heartbeat_start();
		}
		n += take_events(c, l, until);
	}
	clock_heartbeat_stop();
	c->has_more = l != NULL;
	if (l)
		c->judged_until = cull_lane_next_ticks(l);
	else if (c->is_peeking)
		c->judged_until = c->horizon;
	return n;
}

/* Reads both clocks at the same time. False: something came in between, which would make ticks appear
 * longer or shorter than they are. */
static bool read_clocks(uint64_t *ticks, uint64_t *ns)
{
	uint64_t before_ns = sys_clock_ns(CLOCK_MONOTONIC);

	*ticks = clock_ticks();
	*ns = sys_clock_ns(CLOCK_MONOTONIC);
	return *ns - before_ns < AT_ONCE_NS;
}

/* Limits in ticks, as soon as the length of a tick is known; the margin, which is short, when it is
 * known roughly. */
static void measure_ticks(struct cull *c, uint64_t step_ns)
{
	uint64_t now, now_ns, elapsed_ns;
	double rate = 1;

	if (step_ns < c->next_measure_ns || !read_clocks(&now, &now_ns))
		return;
	elapsed_ns = now_ns - c->start_ns;
	if (clock_is_cpu && elapsed_ns < MEASURE_ROUGHLY_NS)
		return;
	if (clock_is_cpu)
		rate = (double)(now - c->start_ticks) / (double)elapsed_ns;
	c->margin_ticks = (uint64_t)((double)MARGIN_NS * rate);
	if (clock_is_cpu && elapsed_ns < MEASURE_NS)
		return;
	c->threshold_ticks = (uint64_t)((double)c->threshold_ns * rate);
	c->idle_ticks = (uint64_t)((double)IDLE_NS * rate);
	c->next_measure_ns = now_ns + (elapsed_ns < NS_PER_S ? MEASURE_NS : NS_PER_S);
}

enum step_kind {
	STEP_NOTHING,
	STEP_FULL, /* takes full blocks only */
	STEP_PEEK, /* takes from blocks that threads still fill, too */
};

/* Events of several threads are taken in the order of time, which needs what all of them have
 * published. Where a single thread is busy its full blocks are enough. And as long as no block is
 * full there is time. */
static enum step_kind choose_step(struct cull *c, uint64_t now_ns)
{
	unsigned n_busy = 0;

	if (c->is_closing || c->is_over || now_ns >= c->next_peek_ns)
		return STEP_PEEK;
	if (!c->is_lively)
		return STEP_NOTHING;
	for (uint32_t i = 0; i < c->n_lanes; i++) {
		const struct cull_lane *l = c->lane[i];

		n_busy += l->raw &&
			  (l->raw->is_full || !l->is_decoding || l->at < l->n || l->has_event ||
			   atomic_load(&l->raw->block->used_bytes) != l->decoder.in.pos);
	}
	return n_busy == 1 ? STEP_FULL : STEP_PEEK;
}

static bool step(struct cull *c)
{
	uint64_t now_ns = sys_clock_ns(CLOCK_MONOTONIC), now = clock_ticks();
	enum step_kind kind;
	uint32_t n;

	measure_ticks(c, now_ns);
	c->horizon = now - (now > c->margin_ticks ? c->margin_ticks : now);
	if (c->is_over)
		c->horizon = UINT64_MAX;
	c->is_lively = c->has_more;
	cull_find_blocks(c);
	kind = choose_step(c, now_ns);
	if (kind == STEP_NOTHING)
		return false;
	c->is_peeking = kind == STEP_PEEK;
	if (c->is_peeking)
		c->next_peek_ns = now_ns + PEEK_NS;
	n = take_all(c);
	commit(c);
	put_sums_when_due(c, now_ns);
	write_decided(c);
	return n > 0;
}

/* Tells clients of the server up to which time all events that stay are in blocks of the writer. */
static void note_complete(struct cull *c)
{
	uint64_t ticks = c->judged_until;

	for (uint32_t i = 0; i < c->n_lanes; i++) {
		const struct cull_lane *l = c->lane[i];

		if (l->first && c->slot[l->first].ticks < ticks)
			ticks = c->slot[l->first].ticks;
		if (l->held_ticks && l->held_ticks < ticks)
			ticks = l->held_ticks;
	}
	c->session->complete_ticks = ticks ? ticks : 1;
}

bool cull_step(struct cull *c, bool *is_lively)
{
	bool has_taken = step(c);

	if (c->is_ordered)
		note_complete(c);

	*is_lively = c->is_lively;
	return has_taken;
}

void cull_close(struct cull *c)
{
	c->is_closing = true;
}

void cull_flush(struct cull *c, bool is_final)
{
	bool was_closing = c->is_closing;

	c->is_over |= is_final;
	do
		c->next_peek_ns = 0;
	while (step(c));
	cull_put_sums(c);
	c->is_closing = true;
	commit(c);
	write_decided(c);
	commit(c); /* the slots become free */
	c->is_closing = was_closing;
	for (uint32_t i = 0; i < c->n_lanes; i++) {
		if (is_final || (!c->lane[i]->raw && !c->lane[i]->first))
			cull_lane_finish_out(c, c->lane[i]);
	}
}

/* ---- making ---- */

static bool map_tables(struct cull *c)
{
	uint32_t n_heads = 1024;

	c->table_shift = 54;
	while (n_heads < c->max_undecided) {
		n_heads *= 2;
		c->table_shift--;
	}
	c->link = own_memory_map(c->n_slots * sizeof(*c->link));
	c->head = own_memory_map(n_heads * sizeof(*c->head));
	c->lane = own_memory_map(CULL_MAX_LANES * sizeof(struct cull_lane *));
	c->group = own_memory_map(CULL_MAX_GROUPS * sizeof(*c->group));
	c->touch = own_memory_map(sizeof(*c->touch) << CULL_TOUCH_BITS);
	return c->link && c->head && c->lane && c->group && c->touch;
}

struct cull *cull_create(struct recorder *rec, struct session *s, struct session_buffers *b,
			 cull_write_block write_block, void *user)
{
	uint64_t max = options_active.TEMPORARY_ALLOCATION_PENDING_THRESHOLD;
	uint64_t threshold_ms = options_active.TEMPORARY_ALLOCATION_LIFETIME_THRESHOLD;
	struct cull *c = own_memory_map(sizeof(*c));

	if (!c)
		return NULL;
	if (max > CULL_MAX_PENDING)
		max = CULL_MAX_PENDING;
	if (threshold_ms > UINT64_MAX / NS_PER_MS)
		threshold_ms = UINT64_MAX / NS_PER_MS;
	*c = (struct cull){
		.rec = rec,
		.session = s,
		.buffers = b,
		.write_block = write_block,
		.user = user,
		.max_undecided = (uint32_t)max + 1,
		.n_slots = (uint32_t)max + CULL_EXTRA_SLOTS,
		.threshold_ns = threshold_ms * NS_PER_MS,
		.threshold_ticks = UINT64_MAX,
		.margin_ticks = MARGIN_NS, /* long enough, until the length of a tick is known */
		.idle_ticks = UINT64_MAX,
		.is_ordered = options_active.ENABLE_SERVER,
		.step = 1,
		.next_number = 1,
	};
	for (unsigned i = 0; i < 100 && !read_clocks(&c->start_ticks, &c->start_ns); i++)
		;
	c->area_bytes = pending_area_bytes(c->n_slots);
	if (map_tables(c))
		c->area = session_add_pending(s, b, c->area_bytes);
	if (!c->area) {
		log_put(LOG_ERROR, "nothing is culled: no memory for what is pending");
		cull_destroy(c);
		return NULL;
	}
	c->slot = c->area->slot;
	c->n_touched = c->area->n_slots = 1;
	c->n_free = c->n_slots - 1;
	return c;
}

void cull_destroy(struct cull *c)
{
	for (uint32_t i = 0; c->lane && i < c->n_lanes; i++)
		own_memory_unmap(c->lane[i], sizeof(*c->lane[i]));
	for (uint32_t i = 0; i < RECORD_MAX_AREAS; i++) {
		if (c->raw[i])
			own_memory_unmap(c->raw[i], RECORD_AREA_BLOCKS * sizeof(*c->raw[i]));
	}
	if (c->link)
		own_memory_unmap(c->link, c->n_slots * sizeof(*c->link));
	if (c->head)
		own_memory_unmap(c->head, (1ull << (64 - c->table_shift)) * sizeof(*c->head));
	if (c->lane)
		own_memory_unmap(c->lane, CULL_MAX_LANES * sizeof(struct cull_lane *));
	if (c->group)
		own_memory_unmap(c->group, CULL_MAX_GROUPS * sizeof(*c->group));
	if (c->touch)
		own_memory_unmap(c->touch, sizeof(*c->touch) << CULL_TOUCH_BITS);
	if (c->area) {
		sys_unmap(c->area, c->area_bytes);
		atomic_fetch_sub(&own_memory_bytes, c->area_bytes);
	}
	own_memory_unmap(c, sizeof(*c));
}
