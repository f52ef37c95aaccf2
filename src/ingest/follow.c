/* ingest/follow.c - see follow.h. */
#include "ingest/follow.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/units.h"
#include "util/vec.h"

#define FOLLOW_VERSION 1u /* of all that the state holds */
#define WASTE_ALLOWED_BYTES (64 * MIB)
#define PIECE_BYTES ((size_t)8 << 20)

/* What must be the same when reading goes on. */
struct follow_head {
	uint64_t layout;
	uint64_t cut_ns;
	uint64_t start_ticks, start_ns, last_ticks, last_ns; /* of the time base */
	uint64_t heap_start, heap_end;
	uint64_t n_modules;
	uint64_t has_rows;
	uint64_t wasted_bytes; /* of the file, before the state */
};

/* Another build may have other structs. */
static uint64_t layout(void)
{
	static const size_t part[] = {
		sizeof(struct follow_head),   sizeof(struct stack_node),
		sizeof(struct live_block),    sizeof(struct pairing_op),
		sizeof(struct replay_step),   sizeof(struct pairing_open),
		sizeof(struct replay_totals), sizeof(struct stream_counts),
		sizeof(struct event_compact), sizeof(struct event),
		sizeof(struct event_decoder), sizeof(struct row_birth),
		sizeof(struct row_end),       sizeof(struct site),
		sizeof(struct birth_sums),    sizeof(struct store_bucket),
		sizeof(struct store_thread),  sizeof(struct store_chain),
		sizeof(struct store_call),    STREAM_BATCH_CALLS,
		PAIRING_MAX_PENDING,
	};
	uint64_t h = FOLLOW_VERSION;

	for (size_t i = 0; i < ARRAY_LEN(part); i++)
		h = hash_pair64(h, part[i]);
	return h;
}

static struct follow_head make_head(const struct build *b, uint64_t cut_ns)
{
	const struct timebase *t = &b->rec->time;

	return (struct follow_head){
		.layout = layout(),
		.cut_ns = cut_ns,
		.start_ticks = t->start_ticks,
		.start_ns = t->start_ns,
		.last_ticks = t->last_ticks,
		.last_ns = t->last_ns,
		.heap_start = b->heap_start,
		.heap_end = b->heap_end,
		.n_modules = b->rec->facts.n_modules,
		.has_rows = b->rows != NULL,
		.wasted_bytes = b->wasted_bytes + store_writer_replaced_bytes(b->writer),
	};
}

/* ---- sums ---- */

static void save_sums(const struct build *b, size_t n_stacks, struct state_out *out)
{
	state_put_u64(out, b->sites.n);
	state_put(out, b->sites.site, b->sites.n * sizeof(*b->sites.site));
	state_put_u64(out, b->sites.n_changed);
	state_put(out, b->sites.changed, b->sites.n_changed * sizeof(*b->sites.changed));
	state_put_u64(out, b->sites.n_peaks);
	state_put_u64(out, b->sites.is_at_peak);
	state_put_u64(out, n_stacks);
	state_put(out, b->births.of, n_stacks * sizeof(*b->births.of));
	state_put_u64(out, b->usage.width_ns);
	state_put_u64(out, b->usage.end_ns);
	state_put_u64(out, b->usage.live_bytes);
	state_put_u64(out, b->usage.live_count);
	state_put_u64(out, b->usage.current);
	state_put(out, b->usage.bucket, (b->usage.current + 1) * sizeof(*b->usage.bucket));
}

static int load_usage(struct usage *u, struct state_in *in)
{
	uint64_t current;

	u->width_ns = state_get_u64(in);
	u->end_ns = state_get_u64(in);
	u->live_bytes = state_get_u64(in);
	u->live_count = state_get_u64(in);
	current = state_get_u64(in);
	if (current >= STORE_MAX_BUCKETS || u->width_ns == 0)
		return state_is_wrong(in, "times");
	u->current = (uint32_t)current;
	state_get(in, u->bucket, (current + 1) * sizeof(*u->bucket));
	return in->result;
}

static int load_sites(struct sites *s, struct state_in *in)
{
	size_t n = state_get_count(in, sizeof(*s->site));

	if (in->result == 0 && (n == 0 || n > UINT32_MAX))
		state_is_wrong(in, "no sums");
	if (in->result == 0)
		in->result = sites_add(s, (uint32_t)(n - 1), in->err);
	if (in->result < 0)
		return in->result;
	state_get(in, s->site, n * sizeof(*s->site));
	s->n_changed = state_get_count(in, sizeof(*s->changed));
	if (s->n_changed > n)
		return state_is_wrong(in, "stacks that changed");
	state_get(in, s->changed, s->n_changed * sizeof(*s->changed));
	for (size_t i = 0; i < s->n_changed; i++) {
		if (s->changed[i] >= n)
			return state_is_wrong(in, "a stack that changed");
	}
	s->n_peaks = (uint32_t)state_get_u64(in);
	s->is_at_peak = state_get_u64(in) != 0;
	return in->result;
}

static int load_sums(struct build *b, struct state_in *in)
{
	size_t n_stacks;

	if (load_sites(&b->sites, in) < 0)
		return in->result;
	n_stacks = state_get_count(in, sizeof(*b->births.of));
	if (in->result == 0)
		in->result = births_reserve(&b->births, n_stacks + 1, in->err);
	if (in->result < 0)
		return in->result;
	state_get(in, b->births.of, n_stacks * sizeof(*b->births.of));
	return load_usage(&b->usage, in);
}

/* ---- threads, chains, calls ---- */

static void save_lists(const struct build *b, struct state_out *out)
{
	state_put_u64(out, b->threads.n);
	state_put(out, b->threads.thread, b->threads.n * sizeof(*b->threads.thread));
	state_put_u64(out, b->n_chains); /* they themselves are in the tables of the store */
	state_put_u64(out, b->n_calls);
}

static int load_threads(struct build_threads *t, struct state_in *in)
{
	size_t n = state_get_count(in, sizeof(*t->thread));

	if (in->result == 0)
		in->result = vec_reserve(&t->thread, &t->cap, n + 1, sizeof(*t->thread), in->err);
	if (in->result < 0)
		return in->result;
	state_get(in, t->thread, n * sizeof(*t->thread));
	for (size_t i = 0; i < n && in->result == 0; i++) {
		uint64_t *index = NULL;

		in->result = map_add(&t->index_of, t->thread[i].number, &index, NULL, in->err);
		if (in->result == 0)
			*index = i;
	}
	t->n = n;
	return n && t->thread[0].number == 0 ? in->result : state_is_wrong(in, "threads");
}

/* The first items of a table of the store. */
static int load_items(struct spill *to, const struct store *old, enum store_table table,
		      size_t item_bytes, uint64_t n, struct state_in *in)
{
	size_t n_there, n_bytes;
	const uint8_t *from = store_table(old, table, &n_there);

	if (in->result == 0 && n > n_there)
		state_is_wrong(in, "a table of the store is shorter");
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

/* Chains are what they were at the cut. */
static int undo_chains(struct build *b, const struct store *old, struct state_in *in)
{
	size_t n;
	const struct store_undo *u = store_table(old, STORE_UNDO, &n);
	struct store_chain *chain = spill_data(b->chains);

	while (n-- > 0) {
		if (u[n].chain == 0 || u[n].chain > b->n_chains)
			return state_is_wrong(in, "a chain");
		chain[u[n].chain - 1] = u[n].was;
	}
	b->n_kept_chains = b->n_chains;
	return in->result;
}

static int load_lists(struct build *b, const struct store *old, struct state_in *in)
{
	if (load_threads(&b->threads, in) < 0)
		return in->result;
	b->n_chains = state_get_u64(in);
	b->n_calls = state_get_u64(in);
	if (load_items(b->chains, old, STORE_CHAINS, sizeof(struct store_chain), b->n_chains, in) <
		    0 ||
	    load_items(b->calls, old, STORE_CALLS, sizeof(struct store_call), b->n_calls, in) < 0)
		return in->result;
	return undo_chains(b, old, in);
}

static void save_figures(const struct build *b, struct state_out *out)
{
	state_put_u64(out, b->n_rows);
	state_put_u64(out, b->marker);
	state_put_u64(out, b->peak_bytes);
	state_put_u64(out, b->peak_count);
	state_put_u64(out, b->peak_ns);
	state_put_u64(out, b->n_temporary);
	state_put_u64(out, b->temporary_bytes);
}

static void load_figures(struct build *b, struct state_in *in)
{
	b->n_rows = state_get_u64(in);
	b->marker = state_get_u64(in);
	b->peak_bytes = state_get_u64(in);
	b->peak_count = state_get_u64(in);
	b->peak_ns = state_get_u64(in);
	b->n_temporary = state_get_u64(in);
	b->temporary_bytes = state_get_u64(in);
}

/* ---- all of it ---- */

int follow_save(struct build *b, struct replay *p, uint64_t cut_ns, struct err *err)
{
	struct follow_head head;
	struct state_out out;
	int r = b->result < 0 ? b->result : 0;

	if (r < 0)
		*err = b->err;
	if (r == 0 && b->rows)
		r = rows_sync(b->rows, err);
	if (r < 0)
		return r;
	head = make_head(b, cut_ns);
	state_out_init(&out, b->writer, err);
	state_put(&out, &head, sizeof(head));
	save_figures(b, &out);
	save_sums(b, stacks_count_numbers(replay_stacks(p)), &out);
	save_lists(b, &out);
	if (b->rows)
		rows_save(b->rows, &out);
	replay_save(p, &out);
	b->n_kept_chains = b->n_chains;
	b->n_undo = 0;
	return state_out_finish(&out);
}

/* Would a stack have been another one if the modules that came since had been known? */
static bool has_new_module(const struct stacks *stacks, const struct facts *f, size_t n_before)
{
	for (size_t i = 0; n_before < f->n_modules && i < stacks_count(stacks); i++) {
		const struct stack_node *node = stacks_get(stacks, (uint32_t)i);

		if (node->kind != STACK_NODE_FRAME)
			continue;
		for (size_t k = n_before; k < f->n_modules; k++) {
			const struct facts_module *m = &f->module[k];

			if (node->addr > m->start && node->addr <= m->end &&
			    (node->module == MODULE_MAP_NONE ||
			     !module_map_is_same(m, &f->module[node->module])))
				return true;
		}
	}
	return false;
}

static int check_head(struct build *b, const struct follow_head *was, struct err *err)
{
	struct follow_head is = make_head(b, was->cut_ns);

	is.wasted_bytes = was->wasted_bytes;
	is.n_modules = is.n_modules < was->n_modules ? is.n_modules : was->n_modules;
	if (memcmp(&is, was, sizeof(is)) != 0)
		return err_set(err, ERR_REFUSED, "what depends on all of it has changed");
	return 0;
}

/* Of the file, if reading goes on: what is behind the state, and the state itself. */
static int check_waste(struct build *b, const struct store *old, uint64_t wasted_bytes,
		       struct err *err)
{
	uint64_t file_bytes = store_writer_size(b->writer);

	if (!b->rows)
		return 0; /* they go into another file */
	b->wasted_bytes = wasted_bytes + file_bytes - store_state_offset(old);
	if (b->wasted_bytes > WASTE_ALLOWED_BYTES && b->wasted_bytes > file_bytes / 3 * 2)
		return err_set(err, ERR_REFUSED, "most of the store is not used any more");
	return 0;
}

int follow_load(struct build *b, struct replay *p, const struct store *old, uint64_t *cut_ns,
		struct err *err)
{
	size_t n_bytes = 0;
	const void *bytes = store_table(old, STORE_STATE, &n_bytes);
	struct follow_head head;
	struct state_in in;
	int r;

	if (n_bytes == 0 || memcmp(store_identity(old)->recording_id, b->rec->header.recording_id,
				   sizeof(b->rec->header.recording_id)) != 0)
		return err_set(err, ERR_REFUSED, "it has no state of this recording");
	r = state_in_init(&in, bytes, n_bytes, err);
	if (r < 0)
		return r;
	state_get(&in, &head, sizeof(head));
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
		return state_is_wrong(&in, "rows");
	r = replay_load(p, &in, head.cut_ns, b->rows ? b->n_rows : 0, b->n_chains);
	if (r == 0)
		r = sites_add(&b->sites, stacks_count_numbers(replay_stacks(p)) - 1, err);
	if (r == 0 && has_new_module(replay_stacks(p), &b->rec->facts, head.n_modules))
		r = err_set(err, ERR_REFUSED, "code that stacks name was not known");
	*cut_ns = head.cut_ns;
	return r;
}
