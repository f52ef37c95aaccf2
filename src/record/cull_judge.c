/* record/cull_judge.c - see cull_i.h. Which events stay.
 *
 * The table by address has the blocks of undecided chains that live. What is not in the table is
 * recorded already, or was made before, and its events stay.
 */
#include "record/cull_i.h"

/* A call, as both kinds of decoded events say it. */
struct cull_call {
	uint64_t ticks, addr, size_bytes, usable_extra_bytes, alignment;
	uint32_t stack;
	uint8_t kind, allocator;
};

static uint64_t hash_of(uint64_t addr)
{
	return addr * 0x9e3779b97f4a7c15ull;
}

/* What cull.head[] has of the first slot of a list: mostly enough to see that an address is not there,
 * without a look at the slot, which is in no CPU's cache. */
#define HEAD_SLOT ((1u << 21) - 1)
#define HEAD_HAS_MORE (1u << 21)
#define HEAD_TAG_SHIFT 22

_Static_assert(CULL_MAX_SLOTS <= HEAD_SLOT, "the number of a slot");

static uint32_t tag_of(uint64_t hash)
{
	return (uint32_t)(hash >> 32) << HEAD_TAG_SHIFT;
}

static void set_head(struct cull *c, uint32_t *head, uint32_t i)
{
	if (!i)
		*head = 0;
	else
		*head = tag_of(hash_of(c->slot[i].value[0])) |
			(c->link[i].hash_next ? HEAD_HAS_MORE : 0) | i;
}

static uint32_t find_block(const struct cull *c, uint64_t addr)
{
	uint64_t hash = hash_of(addr);
	uint32_t head = c->head[hash >> c->table_shift], i = head & HEAD_SLOT;

	if (!head || (!(head & HEAD_HAS_MORE) && (head ^ tag_of(hash)) >> HEAD_TAG_SHIFT != 0))
		return 0;
	while (i && c->slot[i].value[0] != addr)
		i = c->link[i].hash_next;
	return i;
}

static void add_block(struct cull *c, uint32_t i)
{
	uint32_t *head = &c->head[hash_of(c->slot[i].value[0]) >> c->table_shift];

	c->link[i].hash_next = *head & HEAD_SLOT;
	c->link[i].is_in_table = true;
	set_head(c, head, i);
}

static void remove_block(struct cull *c, uint32_t i)
{
	uint32_t *head = &c->head[hash_of(c->slot[i].value[0]) >> c->table_shift];
	uint32_t first = *head & HEAD_SLOT, *at = &first;

	while (*at != i)
		at = &c->link[*at].hash_next;
	*at = c->link[i].hash_next;
	c->link[i].is_in_table = false;
	set_head(c, head, first);
}

void cull_keep_chain(struct cull *c, uint32_t i)
{
	for (i = c->link[i].root; i; i = c->link[i].chain_next) {
		c->link[i].state = CULL_KEPT;
		c->n_undecided--;
		if (c->link[i].is_in_table)
			remove_block(c, i);
	}
}

/* The slot begins a chain, or continues that of another slot. */
static void join_chain(struct cull *c, uint32_t i, uint32_t with)
{
	struct cull_link *k = &c->link[i];
	struct cull_link *root;

	k->state = CULL_UNDECIDED;
	k->root = with ? c->link[with].root : i;
	root = &c->link[k->root];
	if (with)
		c->link[root->chain_last].chain_next = i;
	root->chain_last = i;
	c->n_undecided++;
}

/* ---- sums ---- */

static bool is_group(const struct cull_group *g, uint32_t lane, uint32_t stack, uint8_t kind)
{
	return g->sums.lane == lane && g->sums.stack == stack && g->sums.kind == kind;
}

static struct cull_sums *find_group(struct cull *c, uint32_t lane, uint32_t stack, uint8_t kind)
{
	uint32_t *last = &c->lane[lane]->last_group;
	uint64_t hash = ((uint64_t)lane << 32 | stack) * 0x9e3779b97f4a7c15ull + kind;
	uint32_t i = (uint32_t)(hash >> 40) % CULL_MAX_GROUPS;
	struct cull_group *g = &c->group[*last];

	if (!is_group(g, lane, stack, kind)) {
		g = &c->group[i];
		while (g->sums.kind && !is_group(g, lane, stack, kind)) {
			i = (i + 1) % CULL_MAX_GROUPS;
			g = &c->group[i];
		}
		*last = i;
	}
	cull_group_touch(g, c->step);
	if (!g->sums.kind) {
		g->sums = (struct cull_sums){.lane = (uint16_t)lane,
					     .stack = stack,
					     .kind = kind,
					     .min_bytes = UINT64_MAX};
		c->n_groups++;
	}
	return &g->sums;
}

static void add_to_group(struct cull_sums *g, uint64_t size_bytes, bool is_temporary)
{
	g->n++;
	g->bytes += size_bytes;
	g->n_temporary += is_temporary;
	g->temporary_bytes += is_temporary ? size_bytes : 0;
	g->min_bytes = size_bytes < g->min_bytes ? size_bytes : g->min_bytes;
	g->max_bytes = size_bytes > g->max_bytes ? size_bytes : g->max_bytes;
}

static void count_culled(struct cull *c, uint32_t i)
{
	const struct pending_slot *s = &c->slot[i];
	const struct cull_link *k = &c->link[i];
	struct cull_lane *l = c->lane[k->lane];
	unsigned kind = s->kind == EVENT_REALLOC_END ? EVENT_CULLED_REALLOCS : EVENT_CULLED;

	if (event_is_release(s->kind))
		return;
	add_to_group(find_group(c, k->lane, s->stack, (uint8_t)kind), s->value[1], k->is_temporary);
	if (k->ordinal > l->culled_ordinal)
		l->culled_ordinal = k->ordinal;
}

/* Is the slot still that of the event with this number, and its chain undecided? */
static bool is_undecided(const struct cull *c, const struct cull_open *o)
{
	return o->slot && c->slot[o->slot].number == o->number && c->slot[o->slot].from_step &&
	       c->link[o->slot].state == CULL_UNDECIDED;
}

static void put_mark(struct cull *c, uint32_t i)
{
	memset(c->slot[i].value, 0, sizeof(c->slot[i].value));
}

/* A release stays. If the lane's latest allocation was left out, a reader must not think that none was
 * made between the allocation of this block and its release. If the latest one is undecided, that
 * depends on what happens to it. */
static void mark_culled(struct cull *c, struct cull_lane *l)
{
	if (is_undecided(c, &l->latest) && c->link[l->latest.slot].ordinal == l->ordinal) {
		c->link[l->latest.slot].is_to_mark = true;
		return;
	}
	if (l->culled_ordinal != l->ordinal || l->marked_ordinal == l->ordinal)
		return;
	l->marked_ordinal = l->ordinal;
	put_mark(c, cull_slot_new(c, l, EVENT_CULLED, l->now, 0));
}

/* Leaves the chain out. */
static void drop_chain(struct cull *c, uint32_t i)
{
	uint32_t next;

	for (i = c->link[i].root; i; i = next) {
		next = c->link[i].chain_next;
		c->n_undecided--;
		if (c->link[i].is_in_table)
			remove_block(c, i);
		count_culled(c, i);
		if (c->link[i].is_to_mark)
			put_mark(c, cull_slot_new_before(c, i, EVENT_CULLED));
		cull_slot_drop(c, i);
	}
	if (c->n_groups > CULL_MANY_GROUPS)
		cull_put_sums(c);
}

/* ---- calls ---- */

/* A call that stays, or begins to. */
static uint32_t put_call(struct cull *c, struct cull_lane *l, const struct cull_call *ev)
{
	uint32_t i = cull_slot_new(c, l, ev->kind, l->now, ev->stack);

	c->slot[i].allocator = ev->allocator;
	c->slot[i].value[0] = ev->addr;
	c->slot[i].value[1] = ev->size_bytes;
	c->slot[i].value[2] = ev->usable_extra_bytes;
	c->slot[i].value[3] = ev->alignment;
	return i;
}

/* An address is allocated that has an undecided block: the order of events is not certain. */
static bool settle_conflict(struct cull *c, uint64_t addr)
{
	uint32_t i = find_block(c, addr);

	if (i)
		cull_keep_chain(c, i);
	return i != 0;
}

static void on_block(struct cull *c, struct cull_lane *l, const struct cull_call *ev,
		     uint32_t begin)
{
	bool is_certain = !settle_conflict(c, ev->addr) && ev->addr && !c->is_closing;
	uint32_t i;

	if (begin && c->link[begin].state == CULL_KEPT)
		begin = 0; /* the conflict was with its own chain */
	i = put_call(c, l, ev);
	l->ordinal++;
	if (!i)
		return;
	c->link[i].ordinal = l->ordinal;
	l->latest = (struct cull_open){.slot = i, .number = c->slot[i].number};
	if (ev->kind == EVENT_REALLOC_END && !begin)
		return;
	if (!is_certain) {
		if (begin)
			cull_keep_chain(c, begin);
		return;
	}
	join_chain(c, i, begin);
	add_block(c, i);
}

/* The undecided block that a release is about, if it is certain and young; else 0, and the block's
 * chain stays. */
static uint32_t find_released(struct cull *c, struct cull_lane *l, const struct cull_call *ev)
{
	uint32_t i = find_block(c, ev->addr);
	const struct cull_lane *maker;
	uint64_t began, made;

	if (!i)
		return 0;
	maker = c->lane[c->link[i].lane];
	began = c->slot[c->link[i].root].ticks;
	made = c->slot[i].ticks;
	if (l->now < began || l->now - began >= c->threshold_ticks ||
	    (maker->thread != l->thread && (l->now < made || l->now - made < c->margin_ticks))) {
		cull_keep_chain(c, i);
		return 0;
	}
	c->link[i].is_temporary = maker->thread == l->thread && c->link[i].ordinal == l->ordinal;
	return i;
}

static void on_free(struct cull *c, struct cull_lane *l, const struct cull_call *ev)
{
	uint32_t i = find_released(c, l, ev);

	if (i) {
		drop_chain(c, i);
		return;
	}
	mark_culled(c, l);
	put_call(c, l, ev);
}

static void on_realloc_begin(struct cull *c, struct cull_lane *l, const struct cull_call *ev)
{
	uint32_t block = l->n_open < CULL_MAX_OPEN ? find_released(c, l, ev) : 0;
	uint32_t i;

	if (l->n_open == CULL_MAX_OPEN) /* keep what is there; the innermost ones pair as usual */
		settle_conflict(c, ev->addr);
	if (!block)
		mark_culled(c, l);
	i = put_call(c, l, ev);
	if (block && i) {
		/* should the chain stay: what was left out in between must count */
		c->slot[block].n_bytes = !c->link[block].is_temporary;
		remove_block(c, block);
		join_chain(c, i, block);
	} else if (block) {
		cull_keep_chain(c, block);
	}
	if (l->n_open < CULL_MAX_OPEN)
		l->open[l->n_open++] =
			(struct cull_open){.slot = block ? i : 0, .number = c->slot[i].number};
}

/* The BEGIN of the realloc that ends now, if its chain is undecided; else 0. */
static uint32_t take_open(struct cull *c, struct cull_lane *l)
{
	const struct cull_open *o;

	if (!l->n_open)
		return 0;
	o = &l->open[--l->n_open];
	return is_undecided(c, o) ? o->slot : 0;
}

static void judge(struct cull *c, struct cull_lane *l, const struct cull_call *ev)
{
	if (ev->ticks > l->now)
		l->now = ev->ticks;
	switch (ev->kind) {
	case EVENT_FREE:
		on_free(c, l, ev);
		break;
	case EVENT_REALLOC_BEGIN:
		on_realloc_begin(c, l, ev);
		break;
	case EVENT_REALLOC_END:
		on_block(c, l, ev, take_open(c, l));
		break;
	default:
		on_block(c, l, ev, 0);
		break;
	}
}

static struct cull_touch *touch_of(struct cull *c, uint64_t addr)
{
	return &c->touch[hash_of(addr) >> (64 - CULL_TOUCH_BITS)];
}

/* The lane has an event there, and the latest one was another's. */
static void take_touch(struct cull *c, struct cull_touch *t, const struct cull_lane *l)
{
	uint64_t ticks = t->lane ? c->lane[t->lane - 1]->decoded_ticks : 0;

	if (ticks > t->foreign_ticks)
		t->foreign_ticks = ticks;
	t->lane = l->index + 1;
	t->made = 0;
}

void cull_find_mates(struct cull *c, struct cull_lane *l, uint32_t n)
{
	uint32_t i = l->n, made;

	memset(&l->mate[i], 0, n * sizeof(l->mate[0]));
	for (l->n += n; i < l->n; i++) {
		const struct event_compact *call = &l->call[i];
		struct cull_touch *t = touch_of(c, call->addr);

		if (call->ticks > l->decoded_ticks)
			l->decoded_ticks = call->ticks;
		if (t->lane != l->index + 1)
			take_touch(c, t, l);
		made = t->made - l->base - 1;
		if (call->kind == EVENT_FREE && t->made && made < i &&
		    l->call[made].addr == call->addr) {
			l->mate[made] =
				(uint16_t)((i - made) |
					   (t->made == l->last_made ? CULL_MATE_TEMPORARY : 0));
			t->made = 0;
			/* leave_out_pair() will look there; the table is larger than the near caches */
			__builtin_prefetch(&c->head[hash_of(call->addr) >> c->table_shift]);
			continue;
		}
		if (!event_is_release(call->kind))
			l->last_made = l->base + i + 1;
		t->made = call->kind < EVENT_REALLOC_BEGIN && call->addr ? l->base + i + 1 : 0;
	}
}

/* Does no other lane have an event about the block of a pair while it lives? */
static bool is_own(struct cull *c, const struct cull_lane *l, const struct event_compact *made,
		   uint64_t freed_ticks)
{
	const struct cull_touch *t = touch_of(c, made->addr);

	return c->may_run_ahead && freed_ticks <= c->decoded_until && l->now <= c->decoded_until &&
	       t->lane == l->index + 1 && t->foreign_ticks < made->ticks &&
	       !cull_is_short_of_slots(c);
}

/* Leaves out an allocation and its free. False: nothing has changed. */
static bool leave_out_pair(struct cull *c, struct cull_lane *l, uint32_t at, uint64_t until)
{
	uint16_t mate = l->mate[at];
	uint32_t end = at + (mate & CULL_MATE_MASK);
	const struct event_compact *call = &l->call[at];
	uint64_t freed_ticks = l->call[end].ticks;

	if (((freed_ticks > until || l->now > until) && !is_own(c, l, call, freed_ticks)) ||
	    c->is_closing || freed_ticks - call->ticks >= c->threshold_ticks ||
	    find_block(c, call->addr))
		return false;
	l->mate[end] = CULL_MATE_LEFT_OUT;
	if (end >= l->pairs_end)
		l->pairs_end = end + 1;
	l->culled_ordinal = ++l->ordinal;
	add_to_group(find_group(c, l->index, call->stack_id, EVENT_CULLED), call->size_bytes,
		     mate & CULL_MATE_TEMPORARY);
	if (c->n_groups > CULL_MANY_GROUPS)
		cull_put_sums(c);
	return true;
}

static void judge_compact(struct cull *c, struct cull_lane *l, const struct event_compact *call)
{
	const struct cull_call compact = {
		.kind = call->kind,
		.allocator = event_compact_allocator(call),
		.stack = call->stack_id,
		.ticks = call->ticks,
		.addr = call->addr,
		.size_bytes = call->size_bytes,
		.usable_extra_bytes = call->extra_bytes,
	};

	judge(c, l, &compact);
}

uint32_t cull_judge_calls(struct cull *c, struct cull_lane *l, uint64_t until)
{
	uint32_t first = l->at, i = first;

	while (i < l->end) {
		const struct event_compact *call = &l->call[i];
		uint16_t mate = l->mate[i];
		uint64_t now = l->now;

		if (call->ticks > now)
			l->now = call->ticks;
		if (mate == CULL_MATE_LEFT_OUT || (mate && leave_out_pair(c, l, i, until))) {
			i++;
			continue;
		}
		if (l->now > until && i > first) {
			l->now = now;
			break;
		}
		judge_compact(c, l, call);
		i++;
		if (cull_is_short_of_slots(c))
			break;
	}
	l->raw->n_done += i - first;
	l->at = i;
	return i - first;
}

void cull_judge_event(struct cull *c, struct cull_lane *l)
{
	const struct event *ev = &l->event;
	uint32_t i;

	l->has_event = false;
	l->raw->n_done++;
	if (!(ev->kind & EVENT_RARE)) {
		const struct cull_call call = {
			.kind = ev->kind,
			.allocator = ev->allocator,
			.stack = ev->stack,
			.ticks = ev->ticks,
			.addr = ev->addr,
			.size_bytes = ev->size_bytes,
			.usable_extra_bytes = ev->usable_extra_bytes,
			.alignment = ev->alignment,
		};

		judge(c, l, &call);
		return;
	}
	if (ev->ticks > l->now)
		l->now = ev->ticks;
	if (ev->kind == EVENT_REALLOC_CANCEL || ev->kind == EVENT_REALLOC_FREED ||
	    ev->kind == EVENT_REALLOC_UNTRACKED) {
		i = take_open(c, l);
		if (i)
			cull_keep_chain(c, i);
	}
	if (ev->kind == EVENT_FORGET)
		cull_put_sums(c); /* they name stacks that are forgotten now */
	i = cull_slot_new(c, l, ev->kind, l->now, ev->stack);
	if (!i)
		return;
	c->slot[i].n_bytes = l->n_fields;
	memcpy(c->slot[i].value, l->fields, l->n_fields);
}
