/* record/cull_resume.c - see cull_i.h. Another writer goes on where one was killed.
 *
 * The lists, the table and the blocks in hand may be half changed. The file is not: it has the state
 * of the last step that counts. So what was done since is undone, and done again:
 *	- slots that the uncommitted step filled are free; those that it left out are back,
 *	- of each block of a thread so many events are taken as the committed step says,
 *	- sums, clocks and counts of lanes are as they were at the commit,
 *	- what was written stays written; the output blocks are handed over as they are,
 *	- definitions that were put since are not put again (define() in cull_lane.c).
 * The chains are not known any more, so all events in slots stay.
 */
#include "record/cull_i.h"

static void restore_lane(struct cull *c, uint32_t i)
{
	struct cull_lane *l = c->lane[i];
	const struct cull_saved *saved = &l->saved[(c->step - 1) & 1];

	cull_lane_resume(l);
	l->index = i;
	l->first = l->last = l->n_open = l->latest.slot = 0;
	l->now = saved->now;
	l->held_ticks = saved->held_ticks;
	l->ordinal = saved->ordinal;
	l->culled_ordinal = saved->culled_ordinal;
	l->marked_ordinal = saved->marked_ordinal;
}

static void restore_sums(struct cull *c)
{
	c->n_groups = 0;
	for (uint32_t i = 0; i < CULL_MAX_GROUPS; i++) {
		struct cull_group *g = &c->group[i];

		if (g->step >= c->step)
			g->sums = g->before;
		c->n_groups += g->sums.kind != 0;
	}
}

/* How many events of a block the committed steps have taken. */
static uint32_t find_n_taken(const struct cull *c, uint64_t sequence)
{
	const uint64_t *taken = c->area->taken[(c->step - 1) & 1];

	for (; *taken; taken++) {
		if (*taken >> PENDING_COUNT_BITS == sequence)
			return *taken & ((1u << PENDING_COUNT_BITS) - 1);
	}
	return 0;
}

/* The blocks of threads are found again with the next step. */
static void forget_blocks(struct cull *c)
{
	c->finished = NULL;
	for (uint32_t n = 0; n < RECORD_MAX_AREAS; n++) {
		for (uint32_t i = 0; c->raw[n] && i < RECORD_AREA_BLOCKS; i++) {
			c->raw[n][i].is_known = false;
			c->raw[n][i].n_done = find_n_taken(c, c->raw[n][i].sequence);
		}
	}
}

/* Was the event written? Not if the writer was killed before it published the bytes. */
static bool is_written(const struct cull *c, uint32_t i)
{
	const struct pending_slot *s = &c->slot[i];
	const struct cull_lane *l = c->lane[c->link[i].lane];
	const struct block *out = &c->session->area[l->out_area].blocks[l->out_slot];

	if (!s->out_block)
		return false;
	if (s->out_block != l->out_sequence || atomic_load(&out->state) == BLOCK_FREE ||
	    out->sequence != l->out_sequence)
		return true; /* the block is in the file as a chunk */
	return atomic_load(&out->used_bytes) >= s->out_bytes;
}

/* Says in the slot what the committed step says. True: it holds an event that is to be written. */
static bool restore_slot(struct cull *c, uint32_t i)
{
	struct pending_slot *s = &c->slot[i];

	if (s->from_step == 0 || s->from_step >= c->step ||
	    (s->gone_step && s->gone_step < c->step)) {
		cull_slot_free(c, i);
		return false;
	}
	s->gone_step = 0;
	if (s->number >= c->next_number)
		c->next_number = s->number + 1;
	if (is_written(c, i)) {
		cull_slot_leave(c, i);
		return false;
	}
	s->out_block = 0;
	return true;
}

/* ---- heap sort ---- */

/* The slots to sort: element n of the array is in link[n], which has no use for it yet. */
static uint32_t *element(struct cull *c, uint32_t n)
{
	return &c->link[n].hash_next;
}

static uint64_t number_of(struct cull *c, uint32_t n)
{
	return c->slot[*element(c, n)].number;
}

/* Moves element `at` of a heap of n down to its place. */
static void sift_down(struct cull *c, uint32_t at, uint32_t n)
{
	for (;;) {
		uint32_t child = 2 * at + 1, moved;

		if (child >= n)
			return;
		if (child + 1 < n && number_of(c, child + 1) > number_of(c, child))
			child++;
		if (number_of(c, at) >= number_of(c, child))
			return;
		moved = *element(c, at);
		*element(c, at) = *element(c, child);
		*element(c, child) = moved;
		at = child;
	}
}

static void sort_by_number(struct cull *c, uint32_t n)
{
	for (uint32_t at = n / 2; at-- > 0;)
		sift_down(c, at, n);
	while (n > 1) {
		uint32_t greatest = *element(c, 0);

		*element(c, 0) = *element(c, --n);
		*element(c, n) = greatest;
		sift_down(c, 0, n);
	}
}

/* ---- slots ---- */

/* Puts the slot at the end of its lane's list. Leaves hash_next as it is. */
static void append(struct cull *c, uint32_t i)
{
	struct cull_link *k = &c->link[i];
	struct cull_lane *l = c->lane[k->lane];

	k->state = CULL_KEPT;
	k->is_in_table = false;
	k->next = 0;
	k->prev = l->last;
	if (l->last)
		c->link[l->last].next = i;
	else
		l->first = i;
	l->last = i;
}

static void restore_slots(struct cull *c)
{
	uint32_t n = 0;

	c->area->n_slots = c->n_touched;
	c->first_free = c->first_gone = c->n_gone = c->n_undecided = 0;
	c->n_free = c->n_slots - c->n_touched;
	for (uint32_t i = 1; i < c->n_touched; i++) {
		if (restore_slot(c, i))
			*element(c, n++) = i;
	}
	sort_by_number(c, n);
	for (uint32_t i = 0; i < n; i++)
		append(c, *element(c, i));
}

static void clear_tables(struct cull *c)
{
	for (uint64_t i = 0; i < 1ull << (64 - c->table_shift); i++) {
		if (c->head[i]) /* untouched pages stay so */
			c->head[i] = 0;
	}
	for (uint32_t i = 0; i < 1u << CULL_TOUCH_BITS; i++) {
		if (c->touch[i].lane)
			c->touch[i] = (struct cull_touch){0};
	}
}

void cull_resume(struct cull *c)
{
	c->step = 1 + atomic_load(&c->area->committed);
	c->judged_until = c->saved_judged_until[(c->step - 1) & 1];
	c->has_more = true;
	for (uint32_t i = 0; i < c->n_lanes; i++)
		restore_lane(c, i);
	restore_sums(c);
	restore_slots(c);
	clear_tables(c);
	forget_blocks(c);
	cull_lanes_resume_out(c);
}
