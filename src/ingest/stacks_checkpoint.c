/* ingest/stacks_checkpoint.c - the stacks of a recording in a checkpoint: see stacks.h. */
#include <string.h>

#include "ingest/stacks_i.h"
#include "util/vec.h"

void stacks_save(const struct stacks *s, struct checkpoint_io_out *out)
{
	ASSERT(s->n_pending == 0);
	checkpoint_io_put_u64(out, s->n_nodes);
	checkpoint_io_put(out, s->node, s->n_nodes * sizeof(*s->node));
	checkpoint_io_put_u64(out, s->n_used);
	checkpoint_io_put(out, s->used, s->n_used * sizeof(*s->used));
	checkpoint_io_put_u64(out, s->is_empty_used);
	checkpoint_io_put_u64(out, s->deepest_used);
	for (size_t i = 0; i < s->n_lanes; i++) {
		const struct stacks_lane *l = &s->lane[i];

		checkpoint_io_put_u64(out, l->n_runs);
		for (size_t k = 0; k < l->n_runs; k++) {
			checkpoint_io_put_u64(out, l->run[k].first_id);
			checkpoint_io_put_u64(out, l->run[k].n);
			checkpoint_io_put(out, l->run[k].entry, l->run[k].n * sizeof(uint32_t));
			checkpoint_io_put(out, l->run[k].tag, l->run[k].n * sizeof(uint32_t));
		}
	}
}

static bool is_possible_node(const struct stacks *s, size_t i, size_t n_modules)
{
	const struct stack_node *n = &s->node[i];

	return (i == 0 ? n->parent == 0 : n->parent < i) && checkpoint_io_is_flag(&n->has_guess) &&
	       n->kind <= STACK_NODE_GUESS && n->end < STACK_N_ENDS &&
	       (n->module < n_modules || n->module == MODULE_MAP_NONE);
}

/* Reads nodes and numbers. s->number follows from s->used, the slots follow from the nodes. */
static int load_nodes(struct stacks *s, struct checkpoint_io_in *in, size_t n_modules)
{
	size_t n_nodes = checkpoint_io_get_count(in, sizeof(*s->node)), n_used;

	if (in->result == 0 && (n_nodes < 2 || n_nodes > STACKS_MAX_NODES))
		checkpoint_io_fail(in, "stacks");
	s->n_nodes = 0;
	if (in->result == 0)
		in->result = stacks_reserve_nodes(s, n_nodes, in->err);
	if (in->result < 0)
		return in->result;
	checkpoint_io_get(in, s->node, n_nodes * sizeof(*s->node));
	for (size_t i = 0; i < n_nodes && in->result == 0; i++) {
		if (!is_possible_node(s, i, n_modules))
			checkpoint_io_fail(in, "a stack");
	}
	if (in->result < 0)
		return in->result;
	memset(s->number, 0, n_nodes * sizeof(*s->number));
	memset(s->slot, 0, s->n_slots * sizeof(*s->slot));
	s->n_nodes = n_nodes;
	stacks_fill_slots(s);
	n_used = checkpoint_io_get_count(in, sizeof(*s->used));
	if (in->result == 0)
		in->result =
			vec_reserve(&s->used, &s->cap_used, n_used + 1, sizeof(*s->used), in->err);
	if (in->result < 0)
		return in->result;
	checkpoint_io_get(in, s->used, n_used * sizeof(*s->used));
	for (size_t i = 0; i < n_used; i++) {
		if (s->used[i] >= n_nodes || (i == 0) != (s->used[i] == STACKS_EMPTY))
			return checkpoint_io_fail(in, "the number of a stack");
		s->number[s->used[i]] = (uint32_t)i;
	}
	s->n_used = n_used;
	return n_used ? in->result : checkpoint_io_fail(in, "no stack");
}

static bool is_possible_entry(const struct stacks *s, uint32_t entry)
{
	if (entry & STACKS_ENTRY_IS_NUMBER)
		return (entry & ~(STACKS_ENTRY_IS_NUMBER | STACKS_ODD)) < s->n_used;
	return entry < s->n_nodes;
}

static int load_run(struct stacks *s, struct checkpoint_io_in *in, struct stacks_run *run)
{
	run->first_id = (uint32_t)checkpoint_io_get_u64(in);
	run->n = checkpoint_io_get_count(in, 2 * sizeof(uint32_t));
	if (in->result == 0)
		in->result =
			vec_reserve(&run->entry, &run->cap, run->n + 1, sizeof(uint32_t), in->err);
	if (in->result == 0)
		in->result = vec_reserve(&run->tag, &run->cap_tag, run->n + 1, sizeof(uint32_t),
					 in->err);
	if (in->result < 0) {
		run->n = 0;
		return in->result;
	}
	checkpoint_io_get(in, run->entry, run->n * sizeof(uint32_t));
	checkpoint_io_get(in, run->tag, run->n * sizeof(uint32_t));
	for (size_t i = 0; i < run->n; i++) {
		if (!is_possible_entry(s, run->entry[i]))
			return checkpoint_io_fail(in, "the id of a stack");
	}
	return in->result;
}

int stacks_load(struct stacks *s, struct checkpoint_io_in *in,
		const struct checkpoint_io_lanes *lanes)
{
	int r = load_nodes(s, in, s->n_modules);

	if (r < 0)
		return r;
	s->is_empty_used = checkpoint_io_get_u64(in) != 0;
	s->deepest_used = (uint32_t)checkpoint_io_get_u64(in);
	for (size_t i = 0; i < lanes->n && in->result == 0; i++) {
		struct stacks_lane *l = &s->lane[lanes->now[i]];
		size_t n_runs = checkpoint_io_get_count(in, 2 * sizeof(uint64_t));

		if (in->result == 0)
			in->result = vec_reserve(&l->run, &l->cap_runs, n_runs + 1, sizeof(*l->run),
						 in->err);
		for (size_t k = 0; k < n_runs && in->result == 0; k++) {
			l->run[k] = (struct stacks_run){0};
			l->n_runs = k + 1;
			load_run(s, in, &l->run[k]);
		}
	}
	return in->result;
}
