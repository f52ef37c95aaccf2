/* ingest/pairing_checkpoint.c - the state of pairing.c in a checkpoint: see pairing.h. */
#include "ingest/pairing_i.h"
#include "util/vec.h"

void pairing_save(struct pairing *p, struct checkpoint_io_out *out)
{
	ASSERT(p->n_steps == 0);
	live_save(&p->live, out);
	checkpoint_io_put_u64(out, p->window_ns);
	checkpoint_io_put_u64(out, p->now_ns);
	checkpoint_io_put_u64(out, p->is_unknown_expected);
	checkpoint_io_put_u64(out, p->n_pending);
	checkpoint_io_put(out, p->pending, p->n_pending * sizeof(*p->pending));
	checkpoint_io_put_u64(out, p->end_queued - p->first_queued);
	for (uint64_t i = p->first_queued; i != p->end_queued; i++)
		checkpoint_io_put(out, &p->queue[i % PAIRING_MAX_QUEUED], sizeof(*p->queue));
	for (size_t i = 0; i < p->n_lanes; i++) {
		checkpoint_io_put_u64(out, p->lane[i].n_open);
		checkpoint_io_put(out, p->lane[i].open,
				  p->lane[i].n_open * sizeof(*p->lane[i].open));
	}
}

static int load_pending(struct pairing *p, struct checkpoint_io_in *in,
			const struct checkpoint_io_lanes *lanes)
{
	size_t n = checkpoint_io_get_count(in, sizeof(*p->pending));

	if (n > PAIRING_MAX_PENDING)
		return checkpoint_io_fail(in, "too much is held back");
	checkpoint_io_get(in, p->pending, n * sizeof(*p->pending));
	for (size_t i = 0; i < n; i++) {
		struct pairing_op *op = &p->pending[i];

		if (op->lane >= lanes->n || !checkpoint_io_is_flag(&op->is_alloc) ||
		    !checkpoint_io_is_flag(&op->has_old) || !checkpoint_io_is_flag(&op->is_begin) ||
		    !checkpoint_io_is_flag(&op->is_waiting) ||
		    !checkpoint_io_is_flag(&op->is_foreign))
			return checkpoint_io_fail(in, "what is held back");
		op->lane = lanes->now[op->lane];
		p->bucket[pairing_bucket(op->block.addr)]++;
	}
	p->n_pending = n;
	p->next_deadline = n ? p->pending[0].deadline_ns : UINT64_MAX;
	return in->result;
}

static int load_queue(struct pairing *p, struct checkpoint_io_in *in)
{
	size_t n = checkpoint_io_get_count(in, sizeof(*p->queue));

	if (n > PAIRING_MAX_QUEUED)
		return checkpoint_io_fail(in, "too many steps wait");
	checkpoint_io_get(in, p->queue, n * sizeof(*p->queue));
	p->end_queued = n;
	return in->result;
}

static int load_open(struct pairing_lane *l, struct checkpoint_io_in *in)
{
	size_t n = checkpoint_io_get_count(in, sizeof(*l->open));

	if (in->result == 0)
		in->result = vec_reserve(&l->open, &l->cap_open, n + 1, sizeof(*l->open), in->err);
	if (in->result < 0)
		return in->result;
	checkpoint_io_get(in, l->open, n * sizeof(*l->open));
	l->n_open = n;
	return in->result;
}

/* ---- numbers in the checkpoint must name something that exists ---- */

static bool is_possible_block(const struct live_block *b, const struct pairing_limits *limits)
{
	return b->stack < limits->n_stacks && (b->tag < limits->n_rows || limits->n_rows == 0) &&
	       b->chain <= limits->n_chains;
}

static bool is_possible_op(const struct pairing *p, const struct pairing_op *op,
			   const struct pairing_limits *limits)
{
	return (!op->is_alloc || is_possible_block(&op->block, limits)) &&
	       (!op->has_old || is_possible_block(&op->old, limits)) &&
	       op->release.stack < limits->n_stacks &&
	       (!op->is_begin || op->open < p->lane[op->lane].n_open);
}

static bool is_possible_lane(const struct pairing_lane *l, const struct pairing_limits *limits)
{
	bool is = true;

	for (size_t i = 0; i < l->n_open && is; i++)
		is = l->open[i].release.stack < limits->n_stacks &&
		     (l->open[i].state != PAIRING_OPEN_TAKEN ||
		      is_possible_block(&l->open[i].block, limits));
	return is;
}

struct block_check {
	const struct pairing_limits *limits;
	bool is_possible;
};

static bool check_block(void *user, const struct live_block *block)
{
	struct block_check *c = user;

	c->is_possible = is_possible_block(block, c->limits);
	return c->is_possible;
}

static int check(const struct pairing *p, struct checkpoint_io_in *in,
		 const struct pairing_limits *limits)
{
	struct block_check blocks = {.limits = limits, .is_possible = true};
	bool is;

	live_each(&p->live, check_block, &blocks);
	is = blocks.is_possible;
	for (size_t i = 0; i < p->n_lanes && is; i++)
		is = is_possible_lane(&p->lane[i], limits);
	for (size_t i = 0; i < p->n_pending && is; i++)
		is = is_possible_op(p, &p->pending[i], limits);
	for (size_t i = 0; i < p->end_queued && is; i++)
		is = p->queue[i].stack < limits->n_stacks &&
		     p->queue[i].release_stack < limits->n_stacks;
	return is ? in->result : checkpoint_io_fail(in, "a block");
}

int pairing_load(struct pairing *p, struct checkpoint_io_in *in,
		 const struct checkpoint_io_lanes *lanes, const struct pairing_limits *limits)
{
	live_load(&p->live, in);
	p->window_ns = checkpoint_io_get_u64(in);
	p->now_ns = checkpoint_io_get_u64(in);
	p->is_unknown_expected = checkpoint_io_get_u64(in) != 0;
	if (load_pending(p, in, lanes) < 0 || load_queue(p, in) < 0)
		return in->result;
	for (size_t i = 0; i < lanes->n && in->result == 0; i++)
		load_open(&p->lane[lanes->now[i]], in);
	return in->result < 0 ? in->result : check(p, in, limits);
}
