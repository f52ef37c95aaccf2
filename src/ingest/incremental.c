/* ingest/incremental.c - see incremental.h. */
#include "ingest/incremental.h"

#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "ingest/checkpoint_layout.h"
#include "util/vec.h"

#define WASTE_ALLOWED_BYTES (64 * MIB)
#define PIECE_BYTES ((size_t)8 << 20)

/* The first bytes of a checkpoint: what must be the same when reading is resumed. layout is the
 * first field for ever. Any other change here needs a new CHECKPOINT_LAYOUT_VERSION. */
struct incremental_head {
	uint64_t layout; /* checkpoint_layout() */
	uint64_t checkpoint_ns;
	uint64_t start_ticks, start_ns; /* of the time base, as the next two */
	uint64_t n_pieces;
	struct timebase_piece piece; /* the last of them */
	uint64_t heap_start, heap_end;
	uint64_t n_modules;
	uint64_t has_rows;
	uint64_t wasted_bytes; /* useless bytes of the file before the state */
};

_Static_assert(sizeof(struct incremental_head) == 14 * 8, "see above");

/* n_pieces: of the time base, from its start on. */
static struct incremental_head make_head(const struct build *b, uint64_t n_pieces,
					 uint64_t checkpoint_ns)
{
	const struct timebase *t = &b->rec->time;

	return (struct incremental_head){
		.layout = checkpoint_layout(),
		.checkpoint_ns = checkpoint_ns,
		.start_ticks = t->start_ticks,
		.start_ns = t->start_ns,
		.n_pieces = n_pieces,
		.piece = t->piece[n_pieces - 1],
		.heap_start = b->heap_start,
		.heap_end = b->heap_end,
		.n_modules = b->rec->metadata.n_modules,
		.has_rows = b->rows != NULL,
		.wasted_bytes = b->wasted_bytes + store_writer_replaced_bytes(b->writer),
	};
}

/* ---- sums ---- */

static void save_sums(const struct build *b, size_t n_stacks, struct checkpoint_io_out *out)
{
	checkpoint_io_put_u64(out, b->site_stats.n);
	checkpoint_io_put(out, b->site_stats.site, b->site_stats.n * sizeof(*b->site_stats.site));
	checkpoint_io_put_u64(out, b->site_stats.n_changed);
	checkpoint_io_put(out, b->site_stats.changed,
			  b->site_stats.n_changed * sizeof(*b->site_stats.changed));
	checkpoint_io_put_u64(out, b->site_stats.n_peaks);
	checkpoint_io_put_u64(out, b->site_stats.is_at_peak);
	checkpoint_io_put_u64(out, n_stacks);
	checkpoint_io_put(out, b->alloc_sums.of, n_stacks * sizeof(*b->alloc_sums.of));
	checkpoint_io_put_u64(out, b->usage.width_ns);
	checkpoint_io_put_u64(out, b->usage.end_ns);
	checkpoint_io_put_u64(out, b->usage.live_bytes);
	checkpoint_io_put_u64(out, b->usage.live_count);
	checkpoint_io_put_u64(out, b->usage.current);
	checkpoint_io_put(out, b->usage.bucket, (b->usage.current + 1) * sizeof(*b->usage.bucket));
}

static int load_usage(struct usage_buckets *u, struct checkpoint_io_in *in)
{
	uint64_t current;

	u->width_ns = checkpoint_io_get_u64(in);
	u->end_ns = checkpoint_io_get_u64(in);
	u->live_bytes = checkpoint_io_get_u64(in);
	u->live_count = checkpoint_io_get_u64(in);
	current = checkpoint_io_get_u64(in);
	if (current >= STORE_MAX_BUCKETS || u->width_ns == 0)
		return checkpoint_io_fail(in, "times");
	u->current = (uint32_t)current;
	checkpoint_io_get(in, u->bucket, (current + 1) * sizeof(*u->bucket));
	return in->result;
}

static int load_sites(struct site_stats *s, struct checkpoint_io_in *in)
{
	size_t n = checkpoint_io_get_count(in, sizeof(*s->site));

	if (in->result == 0 && (n == 0 || n > UINT32_MAX))
		checkpoint_io_fail(in, "no sums");
	if (in->result == 0)
		in->result = site_stats_add(s, (uint32_t)(n - 1), in->err);
	if (in->result < 0)
		return in->result;
	checkpoint_io_get(in, s->site, n * sizeof(*s->site));
	s->n_changed = checkpoint_io_get_count(in, sizeof(*s->changed));
	if (s->n_changed > n)
		return checkpoint_io_fail(in, "stacks that changed");
	checkpoint_io_get(in, s->changed, s->n_changed * sizeof(*s->changed));
	for (size_t i = 0; i < s->n_changed; i++) {
		if (s->changed[i] >= n)
			return checkpoint_io_fail(in, "a stack that changed");
	}
	s->n_peaks = (uint32_t)checkpoint_io_get_u64(in);
	s->is_at_peak = checkpoint_io_get_u64(in) != 0;
	return in->result;
}

static int load_sums(struct build *b, struct checkpoint_io_in *in)
{
	size_t n_stacks;

	if (load_sites(&b->site_stats, in) < 0)
		return in->result;
	n_stacks = checkpoint_io_get_count(in, sizeof(*b->alloc_sums.of));
	if (in->result == 0)
		in->result = alloc_sums_reserve(&b->alloc_sums, n_stacks + 1, in->err);
	if (in->result < 0)
		return in->result;
	checkpoint_io_get(in, b->alloc_sums.of, n_stacks * sizeof(*b->alloc_sums.of));
	return load_usage(&b->usage, in);
}

/* ---- threads, chains, calls ---- */

static void save_lists(const struct build *b, struct checkpoint_io_out *out)
{
	checkpoint_io_put_u64(out, b->threads.n);
	checkpoint_io_put(out, b->threads.thread, b->threads.n * sizeof(*b->threads.thread));
	checkpoint_io_put_u64(out,
			      b->n_chains); /* the chains themselves are in a table of the store */
	checkpoint_io_put_u64(out, b->n_calls);
}

static int load_threads(struct build_threads *t, struct checkpoint_io_in *in)
{
	size_t n = checkpoint_io_get_count(in, sizeof(*t->thread));

	if (in->result == 0)
		in->result = vec_reserve(&t->thread, &t->cap, n + 1, sizeof(*t->thread), in->err);
	if (in->result < 0)
		return in->result;
	checkpoint_io_get(in, t->thread, n * sizeof(*t->thread));
	for (size_t i = 0; i < n && in->result == 0; i++) {
		uint64_t *index = NULL;

		in->result = map_add(&t->index_of, t->thread[i].number, &index, NULL, in->err);
		if (in->result == 0)
			*index = i;
	}
	t->n = n;
	return n && t->thread[0].number == 0 ? in->result : checkpoint_io_fail(in, "threads");
}

/* Copies the first n items of a table of the store. */
static int load_items(struct spill *to, const struct store *old, enum store_table table,
		      size_t item_bytes, uint64_t n, struct checkpoint_io_in *in)
{
	size_t n_there, n_bytes;
	const uint8_t *from = store_table(old, table, &n_there);

	if (in->result == 0 && n > n_there)
		checkpoint_io_fail(in, "a table of the store is shorter");
	n_bytes = in->result == 0 ? (size_t)n * item_bytes : 0;
	if (n_bytes)
		in->result = spill_resize(to, n_bytes, in->err);
	for (size_t at = 0; in->result == 0 && at < n_bytes; at += PIECE_BYTES) {
		size_t len = n_bytes - at < PIECE_BYTES ? n_bytes - at : PIECE_BYTES;

		memcpy((uint8_t *)spill_data(to) + at, from + at, len);
		store_drop_pages(from + at, len);
		spill_trim_part(to, at, len);
	}
	return in->result;
}

/* Makes chains what they were at the checkpoint: applies the undo log backwards. */
static int undo_chains(struct build *b, const struct store *old, struct checkpoint_io_in *in)
{
	size_t n;
	const struct store_undo *u = store_table(old, STORE_UNDO, &n);
	struct store_chain *chain = spill_data(b->chains);

	while (n-- > 0) {
		if (u[n].chain == 0 || u[n].chain > b->n_chains)
			return checkpoint_io_fail(in, "a chain");
		chain[u[n].chain - 1] = u[n].was;
	}
	b->n_kept_chains = b->n_chains;
	return in->result;
}

static int load_lists(struct build *b, const struct store *old, struct checkpoint_io_in *in)
{
	if (load_threads(&b->threads, in) < 0)
		return in->result;
	b->n_chains = checkpoint_io_get_u64(in);
	b->n_calls = checkpoint_io_get_u64(in);
	if (load_items(b->chains, old, STORE_CHAINS, sizeof(struct store_chain), b->n_chains, in) <
		    0 ||
	    load_items(b->calls, old, STORE_CALLS, sizeof(struct store_call), b->n_calls, in) < 0)
		return in->result;
	return undo_chains(b, old, in);
}

static void save_figures(const struct build *b, struct checkpoint_io_out *out)
{
	checkpoint_io_put_u64(out, b->n_rows);
	checkpoint_io_put_u64(out, b->marker);
	checkpoint_io_put_u64(out, b->peak_bytes);
	checkpoint_io_put_u64(out, b->peak_count);
	checkpoint_io_put_u64(out, b->peak_ns);
	checkpoint_io_put_u64(out, b->n_temporary);
	checkpoint_io_put_u64(out, b->temporary_bytes);
}

static void load_figures(struct build *b, struct checkpoint_io_in *in)
{
	b->n_rows = checkpoint_io_get_u64(in);
	b->marker = checkpoint_io_get_u64(in);
	b->peak_bytes = checkpoint_io_get_u64(in);
	b->peak_count = checkpoint_io_get_u64(in);
	b->peak_ns = checkpoint_io_get_u64(in);
	b->n_temporary = checkpoint_io_get_u64(in);
	b->temporary_bytes = checkpoint_io_get_u64(in);
}

/* ---- the whole checkpoint ---- */

int incremental_save(struct build *b, struct replay *p, uint64_t checkpoint_ns, struct err *err)
{
	struct incremental_head head;
	struct checkpoint_io_out out;
	int r = b->result < 0 ? b->result : 0;

	if (r < 0)
		*err = b->err;
	if (r == 0 && b->rows)
		r = rows_sync(b->rows, err);
	if (r < 0)
		return r;
	head = make_head(b, b->rec->time.n_pieces, checkpoint_ns);
	checkpoint_io_out_init(&out, b->writer, err);
	checkpoint_io_put(&out, &head, sizeof(head));
	save_figures(b, &out);
	save_sums(b, stacks_count_numbers(replay_stacks(p)), &out);
	save_lists(b, &out);
	if (b->rows)
		rows_save(b->rows, &out);
	replay_save(p, &out);
	b->n_kept_chains = b->n_chains;
	b->n_undo = 0;
	return checkpoint_io_out_finish(&out);
}

/* Would a frame have another module if the modules that came since had been known? */
static bool has_new_module(const struct stacks *stacks, const struct metadata *f, size_t n_before)
{
	for (size_t i = 0; n_before < f->n_modules && i < stacks_count(stacks); i++) {
		const struct stack_node *node = stacks_get(stacks, (uint32_t)i);

		if (node->kind != STACK_NODE_FRAME)
			continue;
		for (size_t k = n_before; k < f->n_modules; k++) {
			const struct metadata_module *m = &f->module[k];

			if (node->addr > m->start && node->addr <= m->end &&
			    (node->module == MODULE_MAP_NONE ||
			     !module_map_is_same(m, &f->module[node->module])))
				return true;
		}
	}
	return false;
}

/* Has anything changed that all earlier events depend on? ERR_REFUSED. */
static int check_head(struct build *b, const struct incremental_head *was, struct err *err)
{
	const struct timebase *t = &b->rec->time;
	struct incremental_head is;

	if (was->n_pieces == 0 || was->n_pieces > t->n_pieces)
		return err_set(err, ERR_REFUSED, "the clock is another one");
	if (was->n_pieces < t->n_pieces && t->piece[was->n_pieces].at_ns < was->checkpoint_ns)
		return err_set(err, ERR_REFUSED, "times before the checkpoint have changed");
	is = make_head(b, was->n_pieces, was->checkpoint_ns);
	is.wasted_bytes = was->wasted_bytes;
	is.n_modules = is.n_modules < was->n_modules ? is.n_modules : was->n_modules;
	if (memcmp(&is, was, sizeof(is)) != 0)
		return err_set(err, ERR_REFUSED, "what depends on all of it has changed");
	return 0;
}

/* Resuming makes the state and all after it useless. Is too much of the file useless then? */
static int check_waste(struct build *b, const struct store *old, uint64_t wasted_bytes,
		       struct err *err)
{
	uint64_t file_bytes = store_writer_size(b->writer);

	if (!b->rows)
		return 0; /* a store without rows is written to a new file */
	b->wasted_bytes = wasted_bytes + file_bytes - store_state_offset(old);
	if (b->wasted_bytes > WASTE_ALLOWED_BYTES && b->wasted_bytes > file_bytes / 3 * 2)
		return err_set(err, ERR_REFUSED, "most of the store is not used any more");
	return 0;
}

int incremental_load(struct build *b, struct replay *p, const struct store *old,
		     uint64_t *checkpoint_ns, struct err *err)
{
	size_t n_bytes = 0;
	const void *bytes = store_table(old, STORE_STATE, &n_bytes);
	struct incremental_head head;
	struct checkpoint_io_in in;
	int r;

	if (n_bytes == 0 || memcmp(store_identity(old)->recording_id, b->rec->header.recording_id,
				   sizeof(b->rec->header.recording_id)) != 0)
		return err_set(err, ERR_REFUSED, "it has no state of this recording");
	r = checkpoint_io_in_init(&in, bytes, n_bytes, err);
	if (r < 0)
		return r;
	checkpoint_io_get(&in, &head, sizeof(head));
	if (in.result < 0)
		return in.result;
	r = check_head(b, &head, err);
	if (r == 0)
		r = check_waste(b, old, head.wasted_bytes, err);
	if (r < 0)
		return r;
	load_figures(b, &in);
	if (load_sums(b, &in) < 0 || load_lists(b, old, &in) < 0 ||
	    (b->rows && rows_load(b->rows, &in) < 0))
		return in.result;
	if (b->rows && rows_count(b->rows) != b->n_rows)
		return checkpoint_io_fail(&in, "rows");
	r = replay_load(p, &in, head.checkpoint_ns, b->rows ? b->n_rows : 0, b->n_chains);
	if (r == 0)
		r = site_stats_add(&b->site_stats, stacks_count_numbers(replay_stacks(p)) - 1, err);
	if (r == 0 && has_new_module(replay_stacks(p), &b->rec->metadata, head.n_modules))
		r = err_set(err, ERR_REFUSED, "code that stacks name was not known");
	*checkpoint_ns = head.checkpoint_ns;
	return r;
}
