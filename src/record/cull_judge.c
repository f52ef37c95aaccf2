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

static uint32_t *head_of(struct cull *c, uint64_t addr)
{
	return &c->head[addr * 0x9e3779b97f4a7c15ull >> c->table_shift];
}

static uint32_t find_block(struct cull *c, uint64_t addr)
{
	uint32_t i = *head_of(c, addr);

	while (i && c->slot[i].value[0] != addr)
		i = c->link[i].hash_next;
	return i;
}

static void add_block(struct cull *c, uint32_t i)
{
	uint32_t *head = head_of(c, c->slot[i].value[0]);

	c->link[i].hash_next = *head;
	c->link[i].is_in_table = true;
	*head = i;
}

static void remove_block(struct cull *c, uint32_t i)
{
	uint32_t *at = head_of(c, c->slot[i].value[0]);

	while (*at != i)
		at = &c->link[*at].hash_next;
	*at = c->link[i].hash_next;
	c->link[i].is_in_table = false;
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
		g->sums = (struct cull_sums){
			.lane = lane, .stack = stack, .kind = kind, .min_bytes = UINT64_MAX};
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
	if (c->n_groups > CULL_MAX_GROUPS / 4 * 3)
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

void cull_find_mates(struct cull *c, struct cull_lane *l, uint32_t n)
{
	uint16_t n_made = 0;

	memset(c->recent, 0, sizeof(c->recent));
	memset(l->mate, 0, n * sizeof(l->mate[0]));
	l->pairs_end = 0;
	for (uint32_t i = 0; i < n; i++) {
		const struct event_compact *call = &l->call[i];
		uint16_t *recent = &c->recent[call->addr / 16 % CULL_N_RECENT];
		uint32_t made = *recent;

		if (call->kind == EVENT_FREE && made && l->call[made - 1].addr == call->addr) {
			l->mate[made - 1] =
				(uint16_t)(i | (c->n_made[made - 1] == n_made ? CULL_MATE_TEMPORARY
									      : 0));
			*recent = 0;
			continue;
		}
		n_made += !event_is_release(call->kind);
		c->n_made[i] = n_made;
		*recent = call->kind < EVENT_REALLOC_BEGIN && call->addr ? (uint16_t)(i + 1) : 0;
	}
}

/* Leaves out an allocation and its free. False: nothing has changed. */
static bool leave_out_pair(struct cull *c, struct cull_lane *l, uint32_t at, uint64_t until)
{
	uint16_t mate = l->mate[at];
	uint32_t end = mate & CULL_MATE_MASK;
	const struct event_compact *call = &l->call[at];

	if (l->call[end].ticks > until || l->now > until || c->is_closing ||
	    l->call[end].ticks - call->ticks >= c->threshold_ticks || find_block(c, call->addr))
		return false;
	l->mate[end] = CULL_MATE_LEFT_OUT;
	if (end >= l->pairs_end)
		l->pairs_end = end + 1;
	l->culled_ordinal = ++l->ordinal;
	add_to_group(find_group(c, l->index, call->stack_id, EVENT_CULLED), call->size_bytes,
		     mate & CULL_MATE_TEMPORARY);
	if (c->n_groups > CULL_MAX_GROUPS / 4 * 3)
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
	uint32_t first = l->at, n = l->n, i = first;
	bool is_left_out;

	do {
		const struct event_compact *call = &l->call[i];
		uint16_t mate = l->mate[i];

		if (call->ticks > l->now)
			l->now = call->ticks;
		is_left_out =
			mate == CULL_MATE_LEFT_OUT || (mate && leave_out_pair(c, l, i, until));
		if (!is_left_out)
			judge_compact(c, l, call);
		l->raw->n_done++;
		l->at = ++i;
	} while (i < n && l->call[i].ticks <= until && l->now <= until &&
		 (is_left_out || !cull_is_short_of_slots(c)));
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
