/* query/query_tree_up.c - trees whose root is the innermost frame.
 *
 * Each node has the list of the stacks that pass through it. The list is divided by the next name outwards,
 * and only parts that are large enough are divided further, so memory depends on the number of stacks and
 * on what is kept.
 */
#include <stdlib.h>
#include <string.h>

#include "query/query_tree_i.h"
#include "util/vec.h"

/* A stack on its way outwards: the next node of its path, 0 at the end. */
struct walker {
	uint32_t at;
	uint32_t group;
};

/* Those walkers of a node that go on to the same name; 0: that are at their end. */
struct part {
	uint32_t name;
	size_t n;
	size_t first; /* of its walkers */
	uint64_t sum[QUERY_N_MAIN_COSTS];
};

struct divider {
	struct query_tree_builder *b;
	struct walker *walker, *scratch;
	size_t *first; /* by node: its walkers, up to first + n_walkers */
	size_t *n_walkers;
	size_t cap_first, cap_n;
	struct part *part;
	size_t n_parts, cap_parts;
	uint32_t *part_of_name; /* 1 + index; 0 for names that are in no part */
};

static int put_walkers(struct divider *d, uint32_t node, size_t first, size_t n, struct err *err)
{
	int r = vec_reserve(&d->first, &d->cap_first, (size_t)node + 1, sizeof(*d->first), err);

	if (r >= 0)
		r = vec_reserve(&d->n_walkers, &d->cap_n, (size_t)node + 1, sizeof(*d->n_walkers),
				err);
	if (r < 0)
		return r;
	d->first[node] = first;
	d->n_walkers[node] = n;
	return 0;
}

/* Fills d->part with the names that follow outwards, in the order in which they are met. */
static int find_parts(struct divider *d, const struct walker *w, size_t n, struct err *err)
{
	const struct query_path_node *path = d->b->paths.node;
	bool needs_sums = d->b->share_ppm > 0;

	d->n_parts = 0;
	for (size_t i = 0; i < n; i++) {
		uint32_t name = path[w[i].at].name, part = d->part_of_name[name];

		if (!part) {
			int r = vec_reserve(&d->part, &d->cap_parts, d->n_parts + 1,
					    sizeof(*d->part), err);

			if (r < 0)
				return r;
			d->part[d->n_parts] = (struct part){.name = name};
			part = d->part_of_name[name] = (uint32_t)++d->n_parts;
		}
		d->part[part - 1].n++;
		if (needs_sums)
			query_main_add(d->part[part - 1].sum, &d->b->groups.group[w[i].group]);
	}
	return 0;
}

/* Brings the walkers into the order of the parts; those of a part stay in their order. */
static void sort_walkers(struct divider *d, struct walker *w, size_t n)
{
	const struct query_path_node *path = d->b->paths.node;
	size_t at = 0;

	for (size_t i = 0; i < d->n_parts; i++) {
		d->part[i].first = at;
		at += d->part[i].n;
	}
	if (d->n_parts < 2)
		return;
	for (size_t i = 0; i < n; i++) {
		struct part *part = &d->part[d->part_of_name[path[w[i].at].name] - 1];

		d->scratch[part->first++] = w[i];
	}
	memcpy(w, d->scratch, n * sizeof(*w));
	for (size_t i = 0; i < d->n_parts; i++)
		d->part[i].first -= d->part[i].n;
}

/* A child for a part that is kept: its walkers go one step outwards. The others end here. */
static int take_part(struct divider *d, uint32_t node, const struct part *part, size_t first,
		     struct err *err)
{
	struct query_tree_builder *b = d->b;
	struct walker *w = d->walker + first + part->first;
	bool keeps = part->name && b->tree.node[node].depth < b->o->max_depth &&
		     (!b->share_ppm || query_tree_is_kept(b, part->sum));
	uint32_t child = node;
	int r = 0;

	if (!keeps) {
		if (part->name)
			r = query_tree_use_rest(b, node, &child, err);
		if (r >= 0 && child != node)
			r = put_walkers(d, child, 0, 0, err);
		for (size_t i = 0; i < part->n && r >= 0; i++)
			query_tree_add_cost(b, child, &b->groups.group[w[i].group], !part->name);
		return r;
	}
	r = query_tree_add_node(b, node, w[0].at, &child, err);
	if (r >= 0)
		r = put_walkers(d, child, first + part->first, part->n, err);
	for (size_t i = 0; i < part->n && r >= 0; i++) {
		const struct query_path_node *p = &b->paths.node[w[i].at];

		if (p->n_folded > b->tree.node[child].n_folded)
			b->tree.node[child].n_folded = p->n_folded;
		w[i].at = p->parent;
	}
	return r;
}

static int divide(struct divider *d, uint32_t node, struct err *err)
{
	struct query_tree_builder *b = d->b;
	size_t first = d->first[node], n = d->n_walkers[node];
	int r = find_parts(d, d->walker + first, n, err);

	if (r < 0)
		return r;
	sort_walkers(d, d->walker + first, n);
	for (size_t i = 0; i < d->n_parts; i++) {
		d->part_of_name[d->part[i].name] = 0;
		b->tree.node[node].n_children += d->part[i].name != 0;
	}
	for (size_t i = 0; i < d->n_parts && r >= 0; i++)
		r = take_part(d, node, &d->part[i], first, err);
	return r;
}

/* The stacks that go through node 0, from there on outwards. */
static size_t start_walkers(struct divider *d, uint32_t *path_of_top)
{
	struct query_tree_builder *b = d->b;
	uint64_t all[QUERY_N_MAIN_COSTS] = {0};
	size_t n = 0;

	*path_of_top = 0;
	for (size_t i = 0; i < b->groups.n; i++) {
		uint32_t at = b->paths.end[i], last = 0;
		size_t level = 0;

		while (level < b->o->n_under && at && b->paths.node[at].name == b->under[level]) {
			last = at;
			at = b->paths.node[at].parent;
			level++;
		}
		if (level < b->o->n_under)
			continue;
		*path_of_top = last;
		d->walker[n++] = (struct walker){at, (uint32_t)i};
		query_main_add(all, &b->groups.group[i]);
	}
	query_tree_set_least(b, all);
	b->tree.n_stacks = n;
	return n;
}

int query_tree_build_up(struct query_tree_builder *b, struct err *err)
{
	size_t n_names = b->q->names->n_identities + QUERY_FOLD_MAX_TITLES, n = b->groups.n + 1;
	struct divider d = {
		.b = b,
		.walker = calloc(n, sizeof(*d.walker)),
		.scratch = calloc(n, sizeof(*d.scratch)),
		.part_of_name = calloc(n_names, sizeof(*d.part_of_name)),
	};
	uint32_t path, top;
	int r = 0;

	if (!d.walker || !d.scratch || !d.part_of_name) {
		r = err_set_memory(err, n * sizeof(*d.walker));
		goto out;
	}
	n = start_walkers(&d, &path);
	if (b->o->n_under && !n)
		goto out;
	r = query_tree_add_node(b, 0, path, &top, err);
	if (r >= 0)
		r = put_walkers(&d, top, 0, n, err);
	for (uint32_t i = 0; i < b->tree.n && r >= 0; i++) {
		r = divide(&d, i, err);
		if (r >= 0 && i % QUERY_TREE_CANCEL_STEPS == 0)
			r = query_check_cancel(b->q, err);
	}
out:
	free(d.walker);
	free(d.scratch);
	free(d.part_of_name);
	free(d.first);
	free(d.n_walkers);
	free(d.part);
	return r;
}
