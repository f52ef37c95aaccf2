/* serve/v1_tree.c - /api/v1: the tree of calls for flame graphs and tree tables.
 *
 * Columns instead of nested objects: node i has the parent parent[i] (less than i; node 0 is the
 * root, or the row that `under` names) and the name names[name[i]]; children come in order, heaviest
 * first. Nodes with less than min_share of every cost are left out, so the answer's size does not
 * grow with the recording; children_left_out says of how many children that is so.
 */
#include "serve/comparison.h"
#include "serve/handlers.h"
#include "serve/tree_parameters.h"
#include "serve/v1_json.h"

#include <stdlib.h>
#include <string.h>

#include "query/filter_value.h"

#define DEFAULT_SHARE "0.05%"
#define MAX_NODES ((size_t)1 << 21)

struct drawn {
	struct request *rq;
	struct query_tree tree;
	uint32_t *order; /* nodes: parents first, heaviest first */
	uint32_t *index; /* node -> index in order */
	uint64_t n_left_out; /* children of nodes that are there */
};

static int read_share(struct request *rq, uint32_t *ppm, struct err *err)
{
	const char *text = url_find(&rq->url, "min_share");
	char with_sign[32];
	uint64_t share;

	snprintf(with_sign, sizeof(with_sign), "%.24s%s", text ? text : DEFAULT_SHARE,
		 text && !strchr(text, '%') ? "%" : "");
	if (!filter_value_share(with_sign, &share) || share > UINT32_MAX) {
		request_refuse(rq, 400, "min_share", text, "a percentage, such as 0.1%");
		return err_set(err, ERR_USAGE, "min_share: '%.100s' is not a percentage", text);
	}
	*ppm = (uint32_t)share;
	return 0;
}

static int read_parameters(struct request *rq, struct tree_parameters *p, struct err *err)
{
	uint64_t depth = UINT32_MAX;
	int r = tree_parameters_init(p, rq, err);

	if (r == 0)
		r = read_share(rq, &p->options.min_share_ppm, err);
	if (r == 0)
		r = request_u64(rq, "depth", UINT32_MAX, UINT32_MAX, &depth, err);
	p->options.max_depth = (uint32_t)depth;
	p->options.max_nodes = MAX_NODES;
	return r;
}

/* Depth first. */
static int order_nodes(struct drawn *d, struct err *err)
{
	const struct query_tree_node *node = d->tree.node;
	uint32_t at = 0, n = 0;

	d->order = calloc(d->tree.n, sizeof(*d->order));
	d->index = calloc(d->tree.n, sizeof(*d->index));
	if (!d->order || !d->index)
		return err_set_memory(err, d->tree.n * sizeof(*d->order));
	while (n < d->tree.n) {
		d->index[at] = n;
		d->order[n++] = at;
		if (node[at].first_child) {
			at = node[at].first_child;
			continue;
		}
		while (at && !node[at].next_sibling)
			at = node[at].parent;
		at = node[at].next_sibling;
	}
	return 0;
}

/* n_children becomes the number of those that are not there. */
static void count_left_out(struct drawn *d)
{
	for (size_t i = 1; i < d->tree.n; i++)
		d->tree.node[d->tree.node[i].parent].n_children--;
	for (size_t i = 0; i < d->tree.n; i++)
		d->n_left_out += d->tree.node[i].n_children;
}

enum tree_column {
	PARENT,
	NAME,
	FOLDED,
	CHILDREN_LEFT_OUT,
	N_OTHER_COLUMNS,
};

static uint64_t value_of(const struct drawn *d, size_t i, unsigned c)
{
	const struct query_tree_node *n = &d->tree.node[d->order[i]];

	switch (c) {
	case PARENT:
		return d->index[n->parent];
	case NAME: /* number of names: none */
		return n->name == QUERY_NO_NAME ? d->tree.n_names : n->name;
	case FOLDED:
		return n->n_folded;
	case CHILDREN_LEFT_OUT:
		return n->n_children;
	default:
		c -= N_OTHER_COLUMNS;
		return c < QUERY_N_MAIN_COSTS
			       ? query_main_cost_of(&n->cost, (enum query_main_cost)c)
			       : n->self[c - QUERY_N_MAIN_COSTS];
	}
}

static void put_tree(struct drawn *d, bool is_bottom_up)
{
	static const char *const column[N_OTHER_COLUMNS + 2 * QUERY_N_MAIN_COSTS] = {
		[PARENT] = "parent",
		[NAME] = "name",
		[FOLDED] = "folded",
		[CHILDREN_LEFT_OUT] = "children_left_out",
		[N_OTHER_COLUMNS + QUERY_MAIN_BYTES] = "bytes",
		[N_OTHER_COLUMNS + QUERY_MAIN_LEAKED] = "leaked_bytes",
		[N_OTHER_COLUMNS + QUERY_MAIN_PEAK] = "peak_bytes",
		[N_OTHER_COLUMNS + QUERY_MAIN_ALLOCS] = "allocations",
		[N_OTHER_COLUMNS + QUERY_MAIN_TEMPORARY] = "temporary_count",
		[N_OTHER_COLUMNS + QUERY_N_MAIN_COSTS + QUERY_MAIN_BYTES] = "self_bytes",
		[N_OTHER_COLUMNS + QUERY_N_MAIN_COSTS + QUERY_MAIN_LEAKED] = "self_leaked_bytes",
		[N_OTHER_COLUMNS + QUERY_N_MAIN_COSTS + QUERY_MAIN_PEAK] = "self_peak_bytes",
		[N_OTHER_COLUMNS + QUERY_N_MAIN_COSTS + QUERY_MAIN_ALLOCS] = "self_allocations",
		[N_OTHER_COLUMNS + QUERY_N_MAIN_COSTS + QUERY_MAIN_TEMPORARY] =
			"self_temporary_count",
	};
	struct json *j = &d->rq->json;

	json_object(j, NULL);
	json_text(j, "direction", is_bottom_up ? "bottom_up" : "top_down");
	json_array(j, "names");
	for (size_t i = 0; i < d->tree.n_names; i++) {
		if (d->tree.name[i].title)
			v1_json_run_text(d->rq, NULL, d->tree.name[i].frame, d->tree.name[i].title);
		else
			v1_json_frame_text(d->rq, NULL, d->tree.name[i].frame);
	}
	json_end_array(j);
	json_array(j, "key");
	for (size_t i = 0; i < d->tree.n_names; i++)
		json_u64(j, NULL, d->tree.name[i].key);
	json_end_array(j);
	for (unsigned c = 0; c < ARRAY_LEN(column) && !request_is_over(d->rq); c++) {
		json_array(j, column[c]);
		for (size_t i = 0; i < d->tree.n; i++)
			json_u64(j, NULL, value_of(d, i, c));
		json_end_array(j);
	}
	json_u64(j, "left_out", d->n_left_out);
	json_u64(j, "stacks", d->tree.n_stacks);
	v1_json_cost(j, "total", &d->tree.total);
	json_end_object(j);
}

/* at: the moment that is looked at, the same as the condition alive_at. */
static int make_filter(struct request *rq, struct err *err)
{
	const char *at = url_find(&rq->url, "at");
	int r = request_filter(rq, err);

	if (r == 0 && at) {
		r = filter_set(&rq->filter, "alive_at", at, err);
		if (r == -ERR_USAGE)
			request_refuse(rq, 400, "at", at, filter_type_help("time"));
	}
	return r < 0 ? r : 0;
}

int v1_tree(struct request *rq, struct err *err)
{
	struct drawn d = {.rq = rq};
	struct tree_parameters p;
	int r = read_parameters(rq, &p, err);

	if (r == 0)
		r = make_filter(rq, err);
	if (r == 0 && request_is_comparison(rq)) {
		r = tree_parameters_refuse(rq, comparison_tree(rq, &p.options, err), err);
		tree_parameters_fini(&p);
		return r;
	}
	if (r == 0)
		r = request_make_query(rq, err);
	if (r == 0) {
		query_want(rq->query, QUERY_WANT_PEAK);
		r = query_tree_with(rq->query, &p.options, &d.tree, err);
		tree_parameters_refuse(rq, r, err);
	}
	if (r == 0)
		r = order_nodes(&d, err);
	if (r == 0) {
		count_left_out(&d);
		put_tree(&d, p.options.kind == QUERY_BOTTOM_UP);
	}
	query_tree_fini(&d.tree);
	tree_parameters_fini(&p);
	free(d.order);
	free(d.index);
	return r;
}
