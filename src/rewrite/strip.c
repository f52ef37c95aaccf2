/* rewrite/strip.c - see strip.h. The second pass: writes the events that are kept. */
#include "rewrite/strip.h"

#include <stdlib.h>
#include <string.h>

#include "recording/merge.h"
#include "rewrite/recording_copy.h"
#include "rewrite/recording_write.h"
#include "util/vec.h"

/* A REALLOC_BEGIN that waits for its END: only the END shows whether it is kept. */
struct strip_begin {
	struct event event;
	uint32_t node; /* its stack */
	bool is_dropped;
};

struct strip_lane {
	struct strip_begin *begin; /* last begun last */
	size_t n_begins, cap_begins;
	struct event override; /* TIMESTAMP_OVERRIDE, for the next event */
	bool has_override;
	bool has_begun; /* an event was written */
	uint32_t thread; /* index in struct strip.thread */
};

/* Counts as replay.c does: the ordinals identify events in both passes. */
struct strip_thread {
	uint64_t n_allocs;
	uint64_t n_releases;
};

struct strip {
	struct recording *rec;
	const struct strip_lifetime *lifetime;
	struct recording_writer *w;
	struct merge *merge;
	struct stacks *stacks;
	struct module_map *modules;
	struct strip_lane *lane;
	struct strip_thread *thread;
	struct map id_of; /* (lane, node) -> stack id in the new recording */
	uint32_t *path; /* nodes to be defined, innermost first */
	size_t cap_path;
	uint64_t kept_ticks; /* of the last event that was kept */
	struct strip_result result;
};

static uint64_t id_key(uint32_t lane, uint32_t node)
{
	return (uint64_t)lane << 32 | node;
}

/* ---- stacks ---- */

static int put_generation(struct strip *s, const struct merge_event *m, uint32_t generation,
			  struct err *err)
{
	const struct event ev = {
		.kind = EVENT_GENERATION, .ticks = m->event->ticks, .field = {generation}};

	return recording_writer_event(s->w, m->lane, &ev, 0, err);
}

/* Defines one node whose parent has the given id. A frame keeps the module that it had when it was
 * first defined: if another module has its address now, it is defined with the generation of that
 * time. */
static int define_node(struct strip *s, const struct merge_event *m, uint32_t node, uint32_t parent,
		       struct err *err)
{
	const struct stack_node *n = stacks_get(s->stacks, node);
	struct event ev = {.kind = EVENT_STACK, .ticks = m->event->ticks, .addr = n->addr};
	bool is_elsewhere = false;
	int r = 0;

	ev.parent = parent;
	if (n->kind == STACK_NODE_FRAME)
		is_elsewhere = module_map_find(s->modules, n->addr, m->generation) != n->module;
	else if (n->kind == STACK_NODE_END)
		ev.kind = EVENT_STACK_END;
	else
		ev.kind = EVENT_STACK_GUESS;
	if (n->kind == STACK_NODE_END)
		ev.field[0] = n->end;
	if (is_elsewhere)
		r = put_generation(s, m, n->generation, err);
	if (r == 0)
		r = recording_writer_event(s->w, m->lane, &ev, 0, err);
	if (r == 0 && is_elsewhere)
		r = put_generation(s, m, m->generation, err);
	return r;
}

/* Gives the id of a node in the lane; defines the node if the lane does not know it. */
static int find_id(struct strip *s, const struct merge_event *m, uint32_t node, uint32_t *ret,
		   struct err *err)
{
	size_t n_path = 0;
	uint32_t id = 0;
	uint64_t *known;
	int r = 0;

	while (node != STACKS_EMPTY && !(known = map_find(&s->id_of, id_key(m->lane, node)))) {
		r = vec_reserve(&s->path, &s->cap_path, n_path + 1, sizeof(*s->path), err);
		if (r < 0)
			return r;
		s->path[n_path++] = node;
		node = stacks_get(s->stacks, node)->parent;
	}
	if (node != STACKS_EMPTY)
		id = (uint32_t)*map_find(&s->id_of, id_key(m->lane, node));
	while (n_path > 0) {
		uint32_t next = recording_writer_next_stack(s->w, m->lane);

		node = s->path[--n_path];
		if (next == UINT32_MAX)
			return err_set(err, ERR_LIMIT, "too many stacks in one thread");
		r = define_node(s, m, node, id, err);
		if (r == 0)
			r = map_add(&s->id_of, id_key(m->lane, node), &known, NULL, err);
		if (r < 0)
			return r;
		*known = id = next;
	}
	*ret = id;
	return 0;
}

/* ---- events that stay ---- */

static int restart_lane(struct strip *s, const struct merge_event *m, uint32_t n_missing,
			struct err *err)
{
	const struct lane_ref *lane = &s->rec->lane[m->lane];
	const struct block_ref *first = &s->rec->block[lane->first_block];
	struct recording_writer_start start = {
		.ticks = m->event->ticks,
		.lost_before = first[lane->n_blocks - 1].lost_before,
		.first_stack = 1,
		.generation = m->generation,
		.n_missing = n_missing,
	};

	if (s->lane[m->lane].has_begun)
		start.first_stack = recording_writer_next_stack(s->w, m->lane);
	s->lane[m->lane].has_begun = true;
	return recording_writer_restart(s->w, m->lane, &start, err);
}

/* Writes an event of the lane of m; node is its stack. */
static int keep(struct strip *s, const struct merge_event *m, const struct event *ev, uint32_t node,
		struct err *err)
{
	struct strip_lane *l = &s->lane[m->lane];
	uint32_t id = 0;
	int r = l->has_begun ? 0 : restart_lane(s, m, 0, err);

	if (r == 0 && l->has_override)
		r = recording_writer_event(s->w, m->lane, &l->override, 0, err);
	l->has_override = false;
	if (r == 0)
		r = find_id(s, m, node, &id, err);
	if (r == 0)
		r = recording_writer_event(s->w, m->lane, ev, id, err);
	s->result.n_events_kept++;
	if (ev->ticks > s->kept_ticks)
		s->kept_ticks = ev->ticks;
	return r;
}

static int drop(struct strip *s, uint32_t lane)
{
	s->lane[lane].has_override = false; /* it was for this event */
	return 0;
}

static uint32_t thread_number(const struct strip *s, uint32_t lane)
{
	return s->rec->lane[lane].thread;
}

static bool is_alloc_dropped(struct strip *s, uint32_t lane)
{
	struct strip_thread *t = &s->thread[s->lane[lane].thread];

	return strip_lifetime_drops_alloc(s->lifetime, thread_number(s, lane), t->n_allocs++);
}

static bool is_release_dropped(struct strip *s, uint32_t lane)
{
	struct strip_thread *t = &s->thread[s->lane[lane].thread];

	return strip_lifetime_drops_release(s->lifetime, thread_number(s, lane), t->n_releases++);
}

/* ---- reallocs ---- */

static int push_begin(struct strip *s, const struct merge_event *m, struct err *err)
{
	struct strip_lane *l = &s->lane[m->lane];
	int r = vec_reserve(&l->begin, &l->cap_begins, l->n_begins + 1, sizeof(*l->begin), err);

	if (r < 0)
		return r;
	l->begin[l->n_begins++] = (struct strip_begin){
		.event = *m->event,
		.node = stacks_find(s->stacks, m->lane, m->event->stack),
		.is_dropped = is_release_dropped(s, m->lane),
	};
	return 0;
}

static bool pop_begin(struct strip *s, uint32_t lane, struct strip_begin *ret)
{
	struct strip_lane *l = &s->lane[lane];

	if (l->n_begins == 0)
		return false;
	*ret = l->begin[--l->n_begins];
	return true;
}

/* Events are missing, so how the reallocs of the lane ended is not known. Those that are kept stay
 * open in the new recording too. */
static int keep_open_begins(struct strip *s, const struct merge_event *m, struct err *err)
{
	struct strip_lane *l = &s->lane[m->lane];
	int r = 0;

	for (size_t i = 0; r == 0 && i < l->n_begins; i++) {
		if (!l->begin[i].is_dropped)
			r = keep(s, m, &l->begin[i].event, l->begin[i].node, err);
	}
	l->n_begins = 0;
	return r;
}

static int on_realloc_end(struct strip *s, const struct merge_event *m, struct err *err)
{
	const struct event untracked = {.kind = EVENT_REALLOC_UNTRACKED, .ticks = m->event->ticks};
	uint32_t node = stacks_find(s->stacks, m->lane, m->event->stack);
	bool is_dropped = is_alloc_dropped(s, m->lane);
	struct strip_begin begin;
	int r = 0;

	if (pop_begin(s, m->lane, &begin) && !begin.is_dropped) {
		r = keep(s, m, &begin.event, begin.node, err);
		/* the old block is kept, the new one is not: they were not paired */
		if (r == 0 && is_dropped)
			return keep(s, m, &untracked, STACKS_EMPTY, err);
	}
	if (r < 0 || is_dropped)
		return r < 0 ? r : drop(s, m->lane);
	return keep(s, m, m->event, node, err);
}

/* REALLOC_FREED, REALLOC_UNTRACKED, REALLOC_CANCEL. */
static int on_realloc_other(struct strip *s, const struct merge_event *m, struct err *err)
{
	struct strip_begin begin;
	int r;

	if (!pop_begin(s, m->lane, &begin) || begin.is_dropped ||
	    m->event->kind == EVENT_REALLOC_CANCEL)
		return drop(s, m->lane);
	r = keep(s, m, &begin.event, begin.node, err);
	return r < 0 ? r : keep(s, m, m->event, STACKS_EMPTY, err);
}

/* ---- all events ---- */

static int on_rare(struct strip *s, const struct merge_event *m, struct err *err)
{
	struct strip_lane *l = &s->lane[m->lane];
	const struct event *ev = m->event;

	if (ev->kind == EVENT_TIME || ev->kind == EVENT_ALLOCATOR)
		return 0; /* the encoder makes its own */
	if (ev->kind == EVENT_FORGET) { /* the new recording has ids of its own, and keeps them */
		stacks_forget(s->stacks, m->lane, ev->field[0]);
		return 0;
	}
	if (!recording_writer_knows(ev->kind)) {
		s->result.n_unknown_events++;
		return 0;
	}
	if (ev->kind == EVENT_TIMESTAMP_OVERRIDE) {
		l->override = *ev;
		l->has_override = true;
		return 0;
	}
	if (ev->kind == EVENT_GENERATION && !l->has_begun)
		return 0; /* the headers of blocks have it */
	return keep(s, m, ev,
		    event_is_call(ev->kind) ? stacks_find(s->stacks, m->lane, ev->stack)
					    : STACKS_EMPTY,
		    err);
}

static int on_event(struct strip *s, const struct merge_event *m, struct err *err)
{
	const struct event *ev = m->event;

	switch (ev->kind) {
	case EVENT_STACK:
	case EVENT_STACK_END:
	case EVENT_STACK_GUESS:
		return stacks_define(s->stacks, m->lane, ev, m->generation, err);
	case EVENT_MALLOC:
	case EVENT_CALLOC:
	case EVENT_ALIGNED:
		if (is_alloc_dropped(s, m->lane))
			return drop(s, m->lane);
		return keep(s, m, ev, stacks_find(s->stacks, m->lane, ev->stack), err);
	case EVENT_FREE:
		if (is_release_dropped(s, m->lane))
			return drop(s, m->lane);
		return keep(s, m, ev, stacks_find(s->stacks, m->lane, ev->stack), err);
	case EVENT_REALLOC_BEGIN:
		return push_begin(s, m, err);
	case EVENT_REALLOC_END:
		return on_realloc_end(s, m, err);
	case EVENT_REALLOC_CANCEL:
	case EVENT_REALLOC_FREED:
	case EVENT_REALLOC_UNTRACKED:
		return on_realloc_other(s, m, err);
	default:
		return on_rare(s, m, err);
	}
}

static int on_gap(struct strip *s, const struct merge_event *m, struct err *err)
{
	int r = keep_open_begins(s, m, err);

	s->lane[m->lane].has_override = false;
	return r < 0 ? r : restart_lane(s, m, 1, err);
}

/* Keeps the duration: the recording lasted until its last event, also if that event is left out. */
static int mark_end(struct strip *s, uint32_t lane, uint64_t ticks, struct err *err)
{
	const struct event end = {.kind = EVENT_TIME, .ticks = ticks};
	const struct merge_event m = {.event = &end, .lane = lane};
	int r = s->lane[lane].has_begun ? 0 : restart_lane(s, &m, 0, err);

	return r < 0 ? r : recording_writer_event(s->w, lane, &end, 0, err);
}

static int write_events(struct strip *s, struct err *err)
{
	struct merge_event m = {0};
	uint32_t last_lane = 0;
	uint64_t last_ticks = 0;
	int n;

	while ((n = merge_next(s->merge, &m, err)) > 0) {
		last_lane = m.lane;
		last_ticks = m.order_ticks;

		if (unlikely(m.is_after_gap))
			n = on_gap(s, &m, err);
		if (n >= 0)
			n = on_event(s, &m, err);
		if (n < 0)
			break;
	}
	for (size_t i = 0; n == 0 && i < s->rec->n_lanes; i++) {
		struct strip_lane *l = &s->lane[i];

		if (l->n_begins == 0)
			continue;
		m = (struct merge_event){.event = &l->begin[0].event, .lane = (uint32_t)i};
		n = keep_open_begins(s, &m, err);
	}
	if (n == 0 && last_ticks > s->kept_ticks)
		n = mark_end(s, last_lane, last_ticks, err);
	return n;
}

/* ---- what was left out ---- */

static int put_dropped(struct strip *s, struct dropped_writer *d, struct err *err)
{
	const struct recording_chunk c = {
		.type = CHUNK_DROPPED, .data = d->data, .data_bytes = d->len};
	int r = recording_writer_put(s->w, &c, err);

	dropped_writer_clear(d);
	return r;
}

/* Gives the number of a node in the payload that is being written. */
static int find_number(struct strip *s, struct dropped_writer *d, struct map *numbers,
		       uint32_t node, uint32_t *ret, struct err *err)
{
	const struct stacks *stacks = strip_lifetime_stacks(s->lifetime);
	size_t n_path = 0;
	uint64_t *known = NULL;
	uint32_t number;
	int r;

	while (node != STACKS_EMPTY && !(known = map_find(numbers, node))) {
		r = vec_reserve(&s->path, &s->cap_path, n_path + 1, sizeof(*s->path), err);
		if (r < 0)
			return r;
		s->path[n_path++] = node;
		node = stacks_get(stacks, node)->parent;
	}
	number = node == STACKS_EMPTY ? 0 : (uint32_t)*known;
	while (n_path > 0) {
		const struct stack_node *n = stacks_get(stacks, s->path[--n_path]);
		struct dropped_node out = {
			.parent = number,
			.kind = n->kind == STACK_NODE_FRAME ? DROPPED_NODE_FRAME
				: n->kind == STACK_NODE_END ? DROPPED_NODE_END
							    : DROPPED_NODE_GUESS,
			.addr = n->addr,
			.generation = n->generation,
			.end = n->end,
		};

		r = dropped_writer_node(d, &out, err);
		if (r == 0)
			r = map_add(numbers, s->path[n_path], &known, NULL, err);
		if (r < 0)
			return r;
		*known = number = out.number;
	}
	*ret = number;
	return 0;
}

static int write_dropped(struct strip *s, struct err *err)
{
	struct dropped_writer d = {0};
	struct map numbers = {0};
	size_t n_groups;
	const struct strip_group *g = strip_lifetime_groups(s->lifetime, &n_groups);
	int r = dropped_writer_summary(&d, strip_lifetime_summary(s->lifetime), err);

	for (size_t i = 0; r == 0 && i < n_groups; i++) {
		struct dropped_group out = g[i].sums;

		uint32_t node = stacks_node(strip_lifetime_stacks(s->lifetime), g[i].stack);

		r = find_number(s, &d, &numbers, node, &out.node, err);
		if (r == 0)
			r = dropped_writer_group(&d, &out, err);
		if (r == 0 && d.len >= DROPPED_CHUNK_BYTES) {
			r = put_dropped(s, &d, err);
			map_fini(&numbers);
			numbers = (struct map){0};
		}
	}
	if (r == 0 && d.len > 0)
		r = put_dropped(s, &d, err);
	map_fini(&numbers);
	dropped_writer_fini(&d);
	return r;
}

/* ---- the whole run ---- */

static int strip_init(struct strip *s, struct recording *r, const char *out_path, struct err *err)
{
	uint32_t n_threads = 0;
	int n;

	s->rec = r;
	s->lane = calloc(r->n_lanes + 1, sizeof(*s->lane));
	s->thread = calloc(r->n_lanes + 1, sizeof(*s->thread));
	if (!s->lane || !s->thread)
		return err_set_memory(err, (r->n_lanes + 1) * sizeof(*s->lane));
	for (size_t i = 0; i < r->n_lanes; i++) {
		if (i > 0 && r->lane[i].thread != r->lane[i - 1].thread)
			n_threads++;
		s->lane[i].thread = n_threads;
	}
	n = recording_writer_create(out_path, r, "strip", true, &s->w, err);
	if (n == 0)
		n = merge_create(r, &s->merge, err);
	if (n == 0)
		n = stacks_create(&r->metadata, r->n_lanes, &s->stacks, err);
	if (n == 0)
		n = module_map_create(&r->metadata, &s->modules, err);
	return n;
}

static void strip_fini(struct strip *s)
{
	for (size_t i = 0; s->lane && i < s->rec->n_lanes; i++)
		free(s->lane[i].begin);
	free(s->lane);
	free(s->thread);
	free(s->path);
	map_fini(&s->id_of);
	merge_destroy(s->merge);
	stacks_destroy(s->stacks);
	module_map_destroy(s->modules);
	recording_writer_discard(s->w);
}

int strip_run(struct recording *r, const struct strip_rule *rule, const char *out_path,
	      struct strip_result *ret, struct err *err)
{
	struct strip_lifetime *lifetime = NULL;
	struct damage damage;
	uint64_t n_lost_blocks;
	struct strip s = {0};
	int n = strip_lifetime_create(r, rule, &lifetime, err);

	if (n < 0)
		return n;
	s.lifetime = lifetime;
	s.result.dropped = *strip_lifetime_summary(lifetime);
	damage = r->damage; /* complete now; the second pass would report it again */
	n_lost_blocks = r->n_missing_blocks + r->n_bad_blocks;
	n = strip_init(&s, r, out_path, err);
	if (n == 0)
		n = recording_copy_metadata(s.w, r, err);
	if (n == 0)
		n = write_events(&s, err);
	if (n == 0)
		n = write_dropped(&s, err);
	r->damage = damage;
	if (n == 0) {
		n = recording_writer_commit(s.w, n_lost_blocks, &s.result.out_bytes, err);
		s.w = NULL;
	}
	if (n == 0)
		*ret = s.result;
	strip_fini(&s);
	strip_lifetime_destroy(lifetime);
	return n;
}
