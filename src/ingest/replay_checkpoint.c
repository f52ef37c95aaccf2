/* ingest/replay_checkpoint.c - the state of a replay in a checkpoint: see replay.h. */
#include <stdlib.h>

#include "ingest/replay_i.h"

void replay_save(struct replay *p, struct checkpoint_io_out *out)
{
	checkpoint_io_put_u64(out, p->rec->n_lanes);
	for (size_t i = 0; i < p->rec->n_lanes; i++) {
		checkpoint_io_put_u64(out, p->rec->lane[i].thread);
		checkpoint_io_put_u64(out, p->rec->lane[i].lane);
		checkpoint_io_put_u64(out, p->n_lost[i]);
		checkpoint_io_put(out, p->lane[i].thread, sizeof(*p->lane[i].thread));
	}
	checkpoint_io_put(out, &p->totals, sizeof(p->totals));
	checkpoint_io_put_u64(out, p->n_realloc_ends);
	stream_save(p->stream, out);
	pairing_save(&p->pairing, out);
}

/* Finds a lane of a thread, from index `from` on; the checkpoint and the recording list lanes in
 * the same order. SIZE_MAX: there is none. */
static size_t find_lane(const struct recording *r, size_t from, uint64_t thread, uint64_t lane)
{
	while (from < r->n_lanes && (r->lane[from].thread != thread || r->lane[from].lane != lane))
		from++;
	return from < r->n_lanes ? from : SIZE_MAX;
}

/* Reads the lanes. (*now)[i]: the index in the recording of lane i of the checkpoint; to be freed
 * by the caller also on failure. */
static int load_lanes(struct replay *p, struct checkpoint_io_in *in, uint32_t **now, size_t *n)
{
	size_t at = 0;

	*n = checkpoint_io_get_count(in, 3 * sizeof(uint64_t) + sizeof(*p->thread));
	*now = calloc(*n + 1, sizeof(**now));
	if (!*now)
		return err_set_memory(in->err, *n * sizeof(**now));
	for (size_t i = 0; i < *n && in->result == 0; i++) {
		uint64_t thread = checkpoint_io_get_u64(in), lane = checkpoint_io_get_u64(in);

		at = find_lane(p->rec, at, thread, lane);
		if (at == SIZE_MAX)
			return err_set(in->err, ERR_REFUSED, "fewer threads than before");
		(*now)[i] = (uint32_t)at;
		p->n_lost[at] = checkpoint_io_get_u64(in);
		checkpoint_io_get(in, p->lane[at].thread, sizeof(*p->lane[at].thread));
		at++;
	}
	return in->result;
}

int replay_load(struct replay *p, struct checkpoint_io_in *in, uint64_t checkpoint_ns,
		uint64_t n_rows, uint64_t n_chains)
{
	struct pairing_limits limits = {.n_rows = n_rows, .n_chains = n_chains};
	uint32_t *now = NULL;
	struct checkpoint_io_lanes lanes = {0};
	int n = load_lanes(p, in, &now, &lanes.n);

	lanes.now = now;
	if (n == 0) {
		checkpoint_io_get(in, &p->totals, sizeof(p->totals));
		p->n_realloc_ends = checkpoint_io_get_u64(in);
		n = stream_load(p->stream, in, &lanes, checkpoint_ns);
	}
	if (n == 0) {
		limits.n_stacks = stacks_count_numbers(stream_stacks(p->stream));
		n = pairing_load(&p->pairing, in, &lanes, &limits);
	}
	free(now);
	return n;
}
