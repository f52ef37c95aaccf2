/* serve/v1_tree.c - /api/v1: the tree of calls for flame graphs and tree tables.
 *
 * Columns instead of nested objects: node i has the parent parent[i] (less than i; node 0 is the
 * root) and the name names[name[i]]; children come in order, heaviest first. Nodes with less than
 * min_share of every cost are left out, so the answer's size does not grow with the recording.
 */
#include "serve/handlers.h"
#include "serve/wire.h"

#include <stdlib.h>
#include <string.h>

#include "query/filter_value.h"
#include "serve/name_table.h"

#define DEFAULT_SHARE "0.05%"
#define N_COSTS 5u
#define NO_NAME UINT32_MAX

struct drawn {
	struct request *rq;
	struct query_tree tree;
	struct name_table names;
	uint32_t *order; /* kept nodes in order: parents first, heaviest first */
	uint32_t *place; /* node -> index in order */
	uint32_t *name; /* by index in order */
	size_t n;
	uint64_t least[N_COSTS]; /* what a node must have of some cost */
};

static uint64_t cost_of(const struct query_tree_node *n, unsigned cost)
{
	const uint64_t value[N_COSTS] = {n->cost.n_bytes, n->cost.leaked_bytes, n->cost.peak_bytes,
					 n->cost.n_allocs, n->cost.n_temporary};

	return value[cost];
}

static bool is_kept(const struct drawn *d, const struct query_tree_node *n)
{
	for (unsigned c = 0; c < N_COSTS; c++) {
		if (cost_of(n, c) >= d->least[c] && cost_of(n, c) > 0)
			return true;
	}
	return false;
}

static int set_least(struct drawn *d, struct err *err)
{
	const char *text = url_find(&d->rq->url, "min_share");
	uint64_t ppm;
	char with_sign[32];

	snprintf(with_sign, sizeof(with_sign), "%.24s%s", text ? text : DEFAULT_SHARE,
		 text && !strchr(text, '%') ? "%" : "");
	if (!filter_value_share(with_sign, &ppm)) {
		request_refuse(d->rq, 400, "min_share", text, "a percentage, such as 0.1%");
		return err_set(err, ERR_USAGE, "min_share: '%.100s' is not a percentage", text);
	}
	for (unsigned c = 0; c < N_COSTS; c++)
		d->least[c] = (uint64_t)((double)cost_of(&d->tree.node[0], c) * (double)ppm / 1e6);
	return 0;
}

/* Appends a node; the order of the calls is the order of the answer. */
static int keep(struct drawn *d, uint32_t at, struct err *err)
{
	const struct frame *f = d->tree.node[at].frame;
	uint32_t name = NO_NAME;

	if (f) {
		int r = name_table_add(&d->names, f, &name, err);

		if (r < 0)
			return r;
	}
	d->place[at] = (uint32_t)d->n;
	d->name[d->n] = name;
	d->order[d->n++] = at;
	return 0;
}

/* Depth first; what is not kept has no child that is. */
static int choose_nodes(struct drawn *d, struct err *err)
{
	const struct query_tree_node *node = d->tree.node;
	uint32_t at = 0;
	int r = keep(d, 0, err);

	while (r == 0) {
		uint32_t next = node[at].first_child;

		if (at && !is_kept(d, &node[at]))
			next = 0;
		while (next == 0 && at) {
			next = node[at].next_sibling;
			if (next == 0)
				at = node[at].parent;
		}
		if (next == 0)
			break;
		at = next;
		if (is_kept(d, &node[at]))
			r = keep(d, at, err);
	}
	return r;
}

enum tree_column {
	PARENT,
	NAME,
	BYTES,
	LEAKED_BYTES,
	PEAK_BYTES,
	ALLOCATIONS,
	TEMPORARY_COUNT,
	SELF_BYTES,
	SELF_ALLOCATIONS,
	N_TREE_COLUMNS,
};

static uint64_t value_of(const struct drawn *d, size_t i, enum tree_column c)
{
	const struct query_tree_node *n = &d->tree.node[d->order[i]];

	switch (c) {
	case PARENT:
		return d->place[n->parent];
	case NAME: /* number of names: none */
		return d->name[i] == NO_NAME ? d->names.n : d->name[i];
	case SELF_BYTES:
		return n->self_bytes;
	case SELF_ALLOCATIONS:
		return n->self_allocs;
	default:
		return cost_of(n, c - BYTES);
	}
}

static void put_tree(struct drawn *d, bool is_bottom_up)
{
	static const char *const column[N_TREE_COLUMNS] = {
		"parent",          "name",       "bytes",
		"leaked_bytes",    "peak_bytes", "allocations",
		"temporary_count", "self_bytes", "self_allocations"};
	struct json *j = &d->rq->json;

	json_object(j, NULL);
	json_text(j, "direction", is_bottom_up ? "bottom_up" : "top_down");
	json_array(j, "names");
	for (size_t i = 0; i < d->names.n; i++)
		wire_frame_text(d->rq, NULL, d->names.frame[i]);
	json_end_array(j);
	for (unsigned c = 0; c < N_TREE_COLUMNS; c++) {
		json_array(j, column[c]);
		for (size_t i = 0; i < d->n; i++)
			json_u64(j, NULL, value_of(d, i, c));
		json_end_array(j);
	}
	json_u64(j, "left_out", d->tree.n - d->n);
	wire_cost(j, "total", &d->tree.node[0].cost);
	json_end_object(j);
}

int v1_tree(struct request *rq, struct err *err)
{
	struct drawn d = {.rq = rq};
	unsigned direction;
	int r = request_choice(rq, "direction", "top_down|bottom_up", 0, &direction, err);

	if (r == 0)
		r = request_query(rq, err);
	if (r == 0) {
		query_want(rq->query, QUERY_WANT_PEAK);
		r = query_tree(rq->query, direction ? QUERY_BOTTOM_UP : QUERY_TOP_DOWN, &d.tree,
			       err);
	}
	if (r == 0)
		r = set_least(&d, err);
	if (r < 0)
		goto out;
	d.order = calloc(d.tree.n + 1, sizeof(*d.order));
	d.place = calloc(d.tree.n + 1, sizeof(*d.place));
	d.name = calloc(d.tree.n + 1, sizeof(*d.name));
	if (!d.order || !d.place || !d.name) {
		r = err_set_memory(err, d.tree.n * sizeof(*d.order));
		goto out;
	}
	r = choose_nodes(&d, err);
	if (r == 0)
		put_tree(&d, direction);
out:
	query_tree_fini(&d.tree);
	name_table_fini(&d.names);
	free(d.order);
	free(d.place);
	free(d.name);
	return r;
}
