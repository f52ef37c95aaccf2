/* ingest/pairing.c - see pairing.h. */
#include "ingest/pairing.h"

#include <stdlib.h>
#include <string.h>

#include "ingest/pairing_i.h"
#include "util/vec.h"

int pairing_init(struct pairing *p, size_t n_lanes, struct replay_totals *totals,
		 const struct replay_callbacks *callbacks, struct err *err)
{
	*p = (struct pairing){
		.next_deadline = UINT64_MAX,
		.window_ns = PAIRING_WINDOW_NS,
		.totals = totals,
		.callbacks = callbacks,
		.n_lanes = n_lanes,
		.lane = calloc(n_lanes + 1, sizeof(*p->lane)),
		.pending_memory = calloc(2 * PAIRING_MAX_PENDING, sizeof(*p->pending)),
		.queue = calloc(PAIRING_MAX_QUEUED, sizeof(*p->queue)),
		.step = calloc(PAIRING_N_STEPS, sizeof(*p->step)),
		.lookahead = calloc(1, sizeof(*p->lookahead)),
	};
	p->pending = p->pending_memory;
	if (p->lane && p->pending && p->queue && p->step && p->lookahead)
		return 0;
	pairing_fini(p);
	return err_set_memory(err, n_lanes * sizeof(*p->lane));
}

void pairing_fini(struct pairing *p)
{
	for (size_t i = 0; p->lane && i < p->n_lanes; i++)
		free(p->lane[i].open);
	free(p->lane);
	free(p->pending_memory);
	free(p->queue);
	free(p->step);
	free(p->lookahead);
	live_fini(&p->live);
	*p = (struct pairing){0};
}

void pairing_expect_unknown(struct pairing *p, bool is_lost)
{
	p->window_ns = PAIRING_SHORT_WINDOW_NS;
	if (!is_lost)
		p->is_unknown_expected = true;
}

void pairing_begin_batch(struct pairing *p, const struct stream_batch *b,
			 const struct stream_batch *then)
{
	lookahead_begin(p->lookahead, b, then);
}

/* ---- steps: what is live over time ---- */

void pairing_pass_steps(struct pairing *p)
{
	if (p->n_steps && p->callbacks->on_steps)
		p->callbacks->on_steps(p->callbacks->user, p->step, p->n_steps);
	p->n_steps = 0;
}

static struct replay_step *queued_at(const struct pairing *p, uint64_t number)
{
	return &p->queue[number % PAIRING_MAX_QUEUED];
}

/* Counts the first step of the queue: all steps before it are counted already. */
static void count_first_queued(struct pairing *p)
{
	struct replay_totals *t = p->totals;
	struct replay_step *step = &p->step[p->n_steps];

	*step = *queued_at(p, p->first_queued++);
	if (step->flags & REPLAY_STEP_RELEASE) {
		t->live_count--;
		t->live_bytes -= step->size_bytes;
	} else {
		t->live_count++;
		t->live_bytes += step->size_bytes;
		if (pairing_is_peak(t->live_bytes, t->peak_bytes)) {
			t->peak_bytes = t->live_bytes;
			t->peak_ns = step->at_ns;
			step->flags |= REPLAY_STEP_PEAK;
		}
	}
	if (++p->n_steps == PAIRING_N_STEPS)
		pairing_pass_steps(p);
}

/* Counts the steps before a time. The caller knows that no event to come leads to an earlier
 * step. */
static void count_steps_before(struct pairing *p, uint64_t at_ns)
{
	while (p->first_queued != p->end_queued && queued_at(p, p->first_queued)->at_ns < at_ns)
		count_first_queued(p);
}

static bool is_step_after(const struct replay_step *a, const struct replay_step *b)
{
	if (a->at_ns != b->at_ns)
		return a->at_ns > b->at_ns;
	return !(a->flags & REPLAY_STEP_RELEASE) && b->flags & REPLAY_STEP_RELEASE;
}

/* Puts a step into the queue, in order of time. Most go to the end; a step of an event that was
 * held back may go further to the front. */
static void add_step(struct pairing *p, const struct replay_step *s)
{
	uint64_t i;

	if (p->end_queued - p->first_queued == PAIRING_MAX_QUEUED)
		count_first_queued(p);
	for (i = p->end_queued++; i > p->first_queued && is_step_after(queued_at(p, i - 1), s); i--)
		*queued_at(p, i) = *queued_at(p, i - 1);
	*queued_at(p, i) = *s;
}

/* ---- what an event does when it fits ---- */

/* Counts and reports an allocation. block is the one in the table: the user may change its
 * chain. */
static void account_alloc(struct pairing *p, struct live_block *block, const struct live_block *old)
{
	struct replay_step step = {
		.at_ns = block->at_ns,
		.size_bytes = block->size_bytes,
		.stack = block->stack,
		.thread = block->thread,
	};

	add_step(p, &step);
	if (p->callbacks->on_alloc)
		p->callbacks->on_alloc(p->callbacks->user, block, old);
}

/* Counts and reports a release. The block lives for at least a nanosecond. */
static void account_release(struct pairing *p, const struct live_block *block,
			    struct replay_release *release)
{
	struct replay_step step;

	if (release->at_ns <= block->at_ns)
		release->at_ns = block->at_ns + 1;
	pairing_make_release_step(&step, block, release);
	add_step(p, &step);
	p->totals->crossed += replay_is_crossed(block, release);
	if (p->callbacks->on_free)
		p->callbacks->on_free(p->callbacks->user, block, release);
}

/* ---- events that do not fit and are held back ---- */

/* Lets an event that was held back happen; the state of its address is such that it fits. */
static int apply_op(struct pairing *p, const struct pairing_op *op, struct err *err)
{
	struct live_block *added, block;
	int r;

	if (op->is_alloc) {
		r = live_reserve(&p->live, err);
		if (r < 0)
			return r;
		added = live_add(&p->live, &op->block);
		if (added)
			account_alloc(p, added, op->has_old ? &op->old : NULL);
		return 0;
	}
	if (!live_take(&p->live, op->block.addr, &block))
		return 0;
	if (op->is_begin) {
		struct pairing_open *open = &p->lane[op->lane].open[op->open];

		open->block = block;
		open->state = PAIRING_OPEN_TAKEN;
	} else {
		struct replay_release release = op->release;

		account_release(p, &block, &release);
	}
	return 0;
}

static void remove_pending(struct pairing *p, size_t i)
{
	p->bucket[pairing_bucket(p->pending[i].block.addr)]--;
	p->n_pending--;
	if (i == 0) /* the usual case: its window has passed */
		p->pending++;
	else
		memmove(&p->pending[i], &p->pending[i + 1],
			(p->n_pending - i) * sizeof(*p->pending));
	p->next_deadline = p->n_pending ? p->pending[0].deadline_ns : UINT64_MAX;
}

/* Is an earlier event of the same lane and address held back? Then event i must wait for that
 * one. */
static bool is_behind_own_lane(const struct pairing *p, size_t i)
{
	for (size_t k = 0; k < i; k++) {
		if (p->pending[k].lane == p->pending[i].lane &&
		    p->pending[k].block.addr == p->pending[i].block.addr)
			return true;
	}
	return false;
}

/* Is a release that is held back by another thread than the one that made the block? Then it may be
 * for this block, or for the next one that the maker gets at this address within the window. */
static bool is_undecided(const struct pairing_op *op, const struct live_block *live)
{
	return op->release.thread != live->thread;
}

/* Finds the first allocation or release that is held back for addr and need not wait for one of its
 * own lane; n_pending if there is none. */
static size_t find_first(const struct pairing *p, uint64_t addr, bool is_alloc)
{
	for (size_t i = 0; i < p->n_pending; i++) {
		const struct pairing_op *op = &p->pending[i];

		if (op->block.addr == addr && op->is_alloc == is_alloc && !is_behind_own_lane(p, i))
			return i;
	}
	return p->n_pending;
}

/* Finds the first allocation that is held back for addr. *blocker: the first event of its lane that
 * is held back for addr, and must happen before it; the allocation itself when there is none. */
static bool find_waiting_alloc(const struct pairing *p, uint64_t addr, size_t *blocker)
{
	for (size_t i = 0; i < p->n_pending; i++) {
		const struct pairing_op *op = &p->pending[i];

		if (op->block.addr != addr || !op->is_alloc)
			continue;
		*blocker = 0;
		while (p->pending[*blocker].lane != op->lane ||
		       p->pending[*blocker].block.addr != addr)
			++*blocker;
		return true;
	}
	return false;
}

/* Finds the event that is held back for addr and fits its state now; n_pending if there is none.
 *
 * An undecided release waits until an allocation needs it. If that allocation is behind a release
 * of its own lane, that release ended the block, and the undecided one is for the next block. */
static size_t find_fitting(const struct pairing *p, uint64_t addr)
{
	const struct live_block *live = live_find(&p->live, addr);
	size_t first = find_first(p, addr, !live), blocker;

	if (!live || first == p->n_pending || !is_undecided(&p->pending[first], live))
		return first;
	if (!find_waiting_alloc(p, addr, &blocker))
		return p->n_pending;
	return p->pending[blocker].is_alloc ? first : blocker;
}

/* Lets events that are held back for addr happen as long as one fits. is_repair: an event that
 * arrived just now made this possible, so the events that waited had come in the wrong order. */
static int settle(struct pairing *p, uint64_t addr, bool is_repair, struct err *err)
{
	while (p->bucket[pairing_bucket(addr)] > 0) {
		size_t i = find_fitting(p, addr);
		struct pairing_op op;
		int r;

		if (i == p->n_pending)
			break;
		op = p->pending[i];
		remove_pending(p, i);
		p->totals->repaired += is_repair && op.is_waiting && !op.is_foreign;
		r = apply_op(p, &op, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Ends the block at the address of an allocation; no release of it was seen. */
static void end_replaced(struct pairing *p, const struct live_block *by)
{
	struct replay_release replaced = {
		.how = REPLAY_REPLACED,
		.at_ns = by->at_ns,
		.thread = by->thread,
		.stack = by->stack,
	};
	struct live_block block;

	if (!live_take(&p->live, by->addr, &block))
		return;
	p->totals->duplicate_allocations++;
	account_release(p, &block, &replaced);
}

/* Counts a release of a block that was never seen. */
static void count_unknown(struct pairing *p)
{
	if (p->is_unknown_expected)
		p->totals->untracked_frees++;
	else
		p->totals->unknown_frees++;
}

/* The counterpart of the oldest event that is held back did not come: the event is what it looks
 * like. */
static int give_up_oldest(struct pairing *p, struct err *err)
{
	struct pairing_op op = p->pending[0];
	int r = 0;

	remove_pending(p, 0);
	if (op.is_alloc) {
		end_replaced(p, &op.block);
		r = apply_op(p, &op, err);
	} else if (live_find(&p->live, op.block.addr)) {
		p->totals->repaired += !op.is_foreign;
		r = apply_op(p, &op, err); /* undecided until now */
	} else {
		count_unknown(p);
		if (op.is_begin)
			p->lane[op.lane].open[op.open].state = PAIRING_OPEN_ABSENT;
	}
	return r < 0 ? r : settle(p, op.block.addr, false, err);
}

/* Holds an event back, and lets happen what becomes possible by it (maybe the event itself). */
static int hold_back(struct pairing *p, struct pairing_op *op, struct err *err)
{
	int r;

	if (p->n_pending == PAIRING_MAX_PENDING) {
		r = give_up_oldest(p, err);
		if (r < 0)
			return r;
	}
	op->deadline_ns = p->now_ns + p->window_ns;
	if (op->deadline_ns < p->now_ns)
		op->deadline_ns = UINT64_MAX - 1;
	if (p->pending + p->n_pending == p->pending_memory + 2 * PAIRING_MAX_PENDING) {
		memcpy(p->pending_memory, p->pending, p->n_pending * sizeof(*p->pending));
		p->pending = p->pending_memory;
	}
	p->pending[p->n_pending++] = *op;
	p->bucket[pairing_bucket(op->block.addr)]++;
	p->next_deadline = p->pending[0].deadline_ns;
	r = settle(p, op->block.addr, true, err);
	if (r == 0 && p->n_pending > 0)
		p->pending[p->n_pending - 1].is_waiting = true;
	return r;
}

/* Time of the oldest event that is held back, or UINT64_MAX. Steps of events that are held back are
 * not earlier. */
static uint64_t oldest_pending_ns(const struct pairing *p)
{
	const struct pairing_op *op = p->pending;

	if (p->n_pending == 0)
		return UINT64_MAX;
	return op->is_alloc ? op->block.at_ns : op->release.at_ns;
}

int pairing_advance(struct pairing *p, uint64_t at_ns, struct err *err)
{
	uint64_t oldest_ns;
	int r = 0;

	p->now_ns = at_ns;
	while (r == 0 && unlikely(p->next_deadline < at_ns))
		r = give_up_oldest(p, err);
	oldest_ns = oldest_pending_ns(p);
	count_steps_before(p, oldest_ns < at_ns ? oldest_ns : at_ns);
	return r;
}

/* ---- events ---- */

/* Is call i the only one of its address for the length of the window, and is nothing held back for
 * its bucket? Then no counterpart can come. */
static bool is_alone(struct pairing *p, size_t i)
{
	return p->bucket[pairing_bucket(p->lookahead->now->call[i].addr)] == 0 &&
	       lookahead_find(p->lookahead, i, p->window_ns) == LOOKAHEAD_NOTHING;
}

/* Takes an allocation. old: the block that a realloc replaced by it; NULL: none. */
static int put_alloc(struct pairing *p, size_t i, const struct live_block *block,
		     const struct live_block *old, struct err *err)
{
	struct live_block *added = NULL;
	struct pairing_op op;
	int r = live_reserve(&p->live, err);

	if (r < 0)
		return r;
	if (likely(p->bucket[pairing_bucket(block->addr)] == 0))
		added = live_add(&p->live, block);
	if (!added && is_alone(p, i)) {
		end_replaced(p, block);
		added = live_add(&p->live, block);
	}
	if (likely(added)) {
		account_alloc(p, added, old);
		return 0;
	}
	op = (struct pairing_op){
		.block = *block, .lane = p->lookahead->now->call[i].lane, .is_alloc = true};
	if (old) {
		op.old = *old;
		op.has_old = true;
	}
	return hold_back(p, &op, err);
}

int pairing_alloc(struct pairing *p, size_t i, const struct live_block *block, struct err *err)
{
	return put_alloc(p, i, block, NULL, err);
}

int pairing_free(struct pairing *p, size_t i, const struct replay_release *release, struct err *err)
{
	const struct event_compact *c = &p->lookahead->now->call[i];
	uint64_t addr = c->addr;
	struct live_block block;
	struct pairing_op op;
	bool is_foreign = false;

	if (likely(p->bucket[pairing_bucket(addr)] == 0)) {
		const struct live_block *live = live_find(&p->live, addr);

		is_foreign = live && live->thread != release->thread && !pairing_is_decided(p, i);
		if (likely(live && !is_foreign)) {
			struct replay_release own = *release;

			live_take(&p->live, addr, &block);
			account_release(p, &block, &own);
			return 0;
		}
		if (!live && is_alone(p, i)) {
			count_unknown(p);
			return 0;
		}
	}
	op = (struct pairing_op){
		.block.addr = addr, .release = *release, .lane = c->lane, .is_foreign = is_foreign};
	return hold_back(p, &op, err);
}

int pairing_realloc_begin(struct pairing *p, size_t i, const struct replay_release *release,
			  struct err *err)
{
	uint32_t lane = p->lookahead->now->call[i].lane;
	uint64_t addr = p->lookahead->now->call[i].addr;
	struct pairing_lane *l = &p->lane[lane];
	struct pairing_open *open;
	struct pairing_op op;
	int r = vec_reserve(&l->open, &l->cap_open, l->n_open + 1, sizeof(*l->open), err);

	if (r < 0)
		return r;
	open = &l->open[l->n_open++];
	open->release = *release;
	open->addr = addr;
	open->state = PAIRING_OPEN_TAKEN;
	if (likely(p->bucket[pairing_bucket(addr)] == 0) &&
	    likely(live_take(&p->live, addr, &open->block)))
		return 0;
	if (is_alone(p, i)) {
		open->state = PAIRING_OPEN_ABSENT;
		count_unknown(p);
		return 0;
	}
	open->state = PAIRING_OPEN_PENDING;
	op = (struct pairing_op){
		.block.addr = addr,
		.release = *release,
		.lane = lane,
		.open = (uint32_t)(l->n_open - 1),
		.is_begin = true,
	};
	return hold_back(p, &op, err);
}

/* Takes the last realloc of the lane off its list; false when there is none. If its release is
 * still held back, it becomes a release of its own that ends the block by how. how < 0: the release
 * is dropped. */
static bool pop_open(struct pairing *p, uint32_t lane, int how, struct pairing_open *ret)
{
	struct pairing_lane *l = &p->lane[lane];

	if (l->n_open == 0)
		return false;
	*ret = l->open[--l->n_open];
	if (ret->state != PAIRING_OPEN_PENDING)
		return true;
	for (size_t i = 0; i < p->n_pending; i++) {
		struct pairing_op *op = &p->pending[i];

		if (!op->is_begin || op->lane != lane || op->open != l->n_open)
			continue;
		op->is_begin = false;
		op->release.how = (enum replay_end)how;
		if (how < 0)
			remove_pending(p, i);
		break;
	}
	return true;
}

/* At the END of a realloc whose release is held back although the address is live: it is undecided,
 * because another thread made the block. The realloc released that block
 *   - if its release is the first that waits, or
 *   - if it got its own address back: then the other releases are for the new block. */
static int decide_open(struct pairing *p, uint32_t lane, uint64_t addr, struct err *err)
{
	struct pairing_lane *l = &p->lane[lane];
	struct pairing_open *open = l->n_open ? &l->open[l->n_open - 1] : NULL;

	if (!open || open->state != PAIRING_OPEN_PENDING || !live_find(&p->live, open->addr))
		return 0;
	for (size_t i = 0; i < p->n_pending; i++) {
		struct pairing_op op = p->pending[i];

		if (!op.is_begin || op.lane != lane || op.open != l->n_open - 1)
			continue;
		if (is_behind_own_lane(p, i) ||
		    (open->addr != addr && find_first(p, open->addr, false) != i))
			return 0;
		remove_pending(p, i);
		p->totals->repaired += op.is_waiting;
		return apply_op(p, &op, err);
	}
	return 0;
}

int pairing_realloc_end(struct pairing *p, size_t i, const struct live_block *block,
			struct err *err)
{
	uint32_t lane = p->lookahead->now->call[i].lane;
	struct pairing_open open;
	int r = decide_open(p, lane, block->addr, err);

	if (r < 0)
		return r;
	if (!pop_open(p, lane, REPLAY_REALLOCATED, &open) || open.state != PAIRING_OPEN_TAKEN) {
		p->totals->untracked_reallocations++;
		return put_alloc(p, i, block, NULL, err);
	}
	open.release.how = REPLAY_REALLOCATED;
	open.release.at_ns = block->at_ns; /* the old block lived until the realloc returned */
	account_release(p, &open.block, &open.release);
	return put_alloc(p, i, block, &open.block, err);
}

bool pairing_realloc_release_old(struct pairing *p, uint32_t lane, enum replay_end how)
{
	struct pairing_open open;

	if (!pop_open(p, lane, (int)how, &open))
		return false;
	if (open.state == PAIRING_OPEN_TAKEN) {
		open.release.how = how;
		account_release(p, &open.block, &open.release);
	}
	return true;
}

int pairing_realloc_cancel(struct pairing *p, uint32_t lane, struct err *err)
{
	struct replay_release replaced = {.how = REPLAY_REPLACED};
	struct pairing_open open;
	int r;

	if (!pop_open(p, lane, -1, &open) || open.state != PAIRING_OPEN_TAKEN)
		return 0;
	r = live_reserve(&p->live, err);
	if (r < 0)
		return r;
	if (!live_add(&p->live, &open.block)) {
		p->totals->duplicate_allocations++;
		replaced.at_ns = p->now_ns;
		replaced.thread = open.release.thread;
		account_release(p, &open.block, &replaced);
	}
	return settle(p, open.addr, true, err);
}

void pairing_gap(struct pairing *p, uint32_t lane)
{
	pairing_expect_unknown(p, true);
	while (pairing_realloc_release_old(p, lane, REPLAY_REALLOC_UNTRACKED))
		;
}

/* The program ended inside reallocs: their old blocks are live, as all totals have them. */
static int put_open_back(struct pairing *p, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < p->n_lanes && r == 0; i++) {
		while (p->lane[i].n_open && r == 0)
			r = pairing_realloc_cancel(p, (uint32_t)i, err);
	}
	return r;
}

int pairing_finish(struct pairing *p, struct err *err)
{
	int r = put_open_back(p, err);

	while (r == 0 && p->n_pending > 0)
		r = give_up_oldest(p, err);
	count_steps_before(p, UINT64_MAX);
	pairing_pass_steps(p);
	return r;
}
