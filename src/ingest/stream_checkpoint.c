/* ingest/stream_checkpoint.c - the state of a stream in a checkpoint: see stream.h. */
#include "ingest/stream_i.h"
#include "util/vec.h"

static void save_lane(const struct stream *s, size_t lane, struct checkpoint_io_out *out)
{
	const struct lane_cursor *l = &s->blocks.lane[lane];
	const struct block_ref *ref = &s->rec->block[l->block - 1];

	checkpoint_io_put_u64(out, l->is_at_checkpoint);
	if (!l->is_at_checkpoint)
		return; /* the lane begins after the checkpoint */
	checkpoint_io_put_u64(out, l->block - s->rec->lane[lane].first_block);
	checkpoint_io_put_u64(out, ref->sequence);
	checkpoint_io_put_u64(out, ref->lane_index);
	checkpoint_io_put_u64(out, l->min_ticks);
	checkpoint_io_put_u64(out, l->is_after_gap);
	checkpoint_io_put(out, &l->at_checkpoint, sizeof(l->at_checkpoint));
}

/* Reads the position in a lane. The same block must be there, after as many others: else
 * ERR_REFUSED. */
static int load_lane(struct stream *s, struct checkpoint_io_in *in, uint32_t lane)
{
	struct lane_cursor *l = &s->blocks.lane[lane];
	const struct lane_ref *of = &s->rec->lane[lane];
	uint64_t n_blocks, sequence, lane_index;
	const struct block_ref *ref;

	if (!checkpoint_io_get_u64(in))
		return in->result;
	n_blocks = checkpoint_io_get_u64(in);
	sequence = checkpoint_io_get_u64(in);
	lane_index = checkpoint_io_get_u64(in);
	l->min_ticks = checkpoint_io_get_u64(in);
	l->is_after_gap = checkpoint_io_get_u64(in) != 0;
	checkpoint_io_get(in, &l->at_checkpoint, sizeof(l->at_checkpoint));
	if (in->result == 0 && (!checkpoint_io_is_flag(&l->at_checkpoint.is_in_place) ||
				!checkpoint_io_is_flag(&l->at_checkpoint.in.failed)))
		checkpoint_io_fail(in, "a position in a lane");
	if (in->result < 0)
		return in->result;
	ref = &s->rec->block[of->first_block];
	if (n_blocks == 0 || n_blocks > of->n_blocks)
		return err_set(in->err, ERR_REFUSED, "fewer blocks than before");
	ref += n_blocks - 1;
	if (ref->sequence != sequence || ref->lane_index != lane_index ||
	    l->at_checkpoint.in.pos > ref->raw_bytes)
		return err_set(in->err, ERR_REFUSED, "other blocks than before");
	l->block = of->first_block + n_blocks;
	l->at_checkpoint.lane = lane;
	l->is_at_checkpoint = true;
	return 0;
}

/* ERR_REFUSED when an event to come is from before the checkpoint. */
static int check_lanes(struct stream *s, uint64_t checkpoint_ns, struct err *err)
{
	for (size_t i = 0; i < s->rec->n_lanes; i++) {
		const struct lane_cursor *l = &s->blocks.lane[i];
		const struct checkpoint_pos_start from = {
			.block = l->block - l->is_at_checkpoint,
			.decoder = l->is_at_checkpoint ? &l->at_checkpoint : NULL,
			.min_ticks = l->min_ticks,
		};
		int r = checkpoint_pos_check_lane(s->rec, i, &from, checkpoint_ns, err);

		if (r < 0)
			return r;
		if (r == 0)
			return err_set(err, ERR_REFUSED, "an event from before came late");
	}
	return 0;
}

static void save_batch(const struct stream_batch *b, struct checkpoint_io_out *out)
{
	checkpoint_io_put_u64(out, b->n_rare);
	checkpoint_io_put(out, b->rare, b->n_rare * sizeof(*b->rare));
	checkpoint_io_put_u64(out, b->n);
	checkpoint_io_put(out, b->call, b->n * sizeof(*b->call));
	checkpoint_io_put_u64(out, b->n_stacks);
}

static bool is_possible_call(const struct stream *s, const struct stream_batch *b,
			     const struct event_compact *c, size_t n_lanes)
{
	bool is_whole = c->flags & STREAM_WHOLE;

	return c->lane < n_lanes && c->stack < stacks_count_numbers(s->stacks) &&
	       (is_whole ? c->size_bytes < b->n_rare && b->rare[c->size_bytes].kind == c->kind
			 : c->kind >= EVENT_MALLOC && c->kind < EVENT_STACK);
}

static int load_batch(struct stream *s, struct checkpoint_io_in *in, struct stream_batch *b,
		      const struct checkpoint_io_lanes *lanes)
{
	b->n_rare = checkpoint_io_get_count(in, sizeof(*b->rare));
	if (in->result == 0)
		in->result = vec_reserve(&b->rare, &b->cap_rare, b->n_rare + 1, sizeof(*b->rare),
					 in->err);
	if (in->result < 0)
		return in->result;
	checkpoint_io_get(in, b->rare, b->n_rare * sizeof(*b->rare));
	b->n = checkpoint_io_get_count(in, sizeof(*b->call));
	if (b->n > STREAM_BATCH_CALLS)
		return checkpoint_io_fail(in, "a batch");
	checkpoint_io_get(in, b->call, b->n * sizeof(*b->call));
	b->n_stacks = (uint32_t)checkpoint_io_get_u64(in);
	for (size_t i = 0; i < b->n && in->result == 0; i++) {
		if (!is_possible_call(s, b, &b->call[i], lanes->n))
			return checkpoint_io_fail(in, "a call");
		b->call[i].lane = lanes->now[b->call[i].lane];
	}
	if (b->n_stacks > stacks_count_numbers(s->stacks))
		return checkpoint_io_fail(in, "stacks of a batch");
	return in->result;
}

void stream_save(const struct stream *s, struct checkpoint_io_out *out)
{
	ASSERT(s->is_done && s->ends_at_checkpoint && s->n_filled > s->n_taken);
	stacks_save(s->stacks, out);
	for (size_t i = 0; i < s->rec->n_lanes; i++)
		save_lane(s, i, out);
	checkpoint_io_put(out, &s->counts, sizeof(s->counts));
	checkpoint_io_put_u64(out, s->n_filled - s->n_taken);
	for (uint64_t i = s->n_taken; i < s->n_filled; i++)
		save_batch(s->batch[i % STREAM_BATCHES], out);
}

int stream_load(struct stream *s, struct checkpoint_io_in *in,
		const struct checkpoint_io_lanes *lanes, uint64_t checkpoint_ns)
{
	int r = stacks_load(s->stacks, in, lanes);

	for (size_t i = 0; r == 0 && i < lanes->n; i++)
		r = load_lane(s, in, lanes->now[i]);
	if (r < 0)
		return r;
	checkpoint_io_get(in, &s->counts, sizeof(s->counts));
	s->n_filled = checkpoint_io_get_u64(in);
	if (in->result == 0 && (s->n_filled == 0 || s->n_filled > 2))
		checkpoint_io_fail(in, "batches");
	for (uint64_t i = 0; i < s->n_filled && in->result == 0; i++)
		load_batch(s, in, s->batch[i], lanes);
	if (in->result < 0)
		return in->result;
	s->is_done = true; /* stream_resume() goes on from here */
	s->ends_at_checkpoint = true;
	return check_lanes(s, checkpoint_ns, in->err);
}
