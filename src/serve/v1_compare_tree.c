/* serve/v1_compare_tree.c - /api/v1: the trees of two recordings as one, in the columns of v1_tree.c and
 * base_bytes and so on: what the base has. */
#include "serve/comparison.h"
#include "serve/handlers.h"
#include "serve/v1_json.h"

/* Each tree is made whole before small nodes are left out, about 250 bytes for a node. */
#define MAX_NODES ((size_t)1 << 20)

static void put_names(struct request *rq, const struct compare_tree *t)
{
	struct json *j = &rq->json;

	json_array(j, "names");
	for (size_t i = 0; i < t->n_names; i++) {
		const struct compare_name *n = &t->name[i];

		if (n->title)
			v1_json_run_text(rq, NULL, n->frame, n->title);
		else
			comparison_put_frame(rq, NULL, n->frame, n->side);
	}
	json_end_array(j);
	json_array(j, "key");
	for (size_t i = 0; i < t->n_names; i++)
		json_u64(j, NULL, t->name[i].key);
	json_end_array(j);
}

enum number_column {
	PARENT,
	NAME,
	FOLDED,
	CHILDREN_LEFT_OUT,
	N_NUMBER_COLUMNS,
};

static uint64_t number_of(const struct compare_tree *t, const struct compare_node *n, unsigned c)
{
	switch (c) {
	case PARENT:
		return n->parent;
	case NAME: /* number of names: none */
		return n->name == QUERY_NO_NAME ? t->n_names : n->name;
	case FOLDED:
		return n->n_folded;
	default:
		return n->n_left_out;
	}
}

static void put_numbers(struct request *rq, const struct compare_tree *t)
{
	static const char *const name[N_NUMBER_COLUMNS] = {"parent", "name", "folded",
							   "children_left_out"};

	for (unsigned c = 0; c < N_NUMBER_COLUMNS && !request_is_over(rq); c++) {
		json_array(&rq->json, name[c]);
		for (size_t i = 0; i < t->n; i++)
			json_u64(&rq->json, NULL, number_of(t, &t->node[i], c));
		json_end_array(&rq->json);
	}
}

static void put_costs(struct request *rq, const struct compare_tree *t)
{
	static const char *const name[QUERY_N_MAIN_COSTS] = {
		[QUERY_MAIN_BYTES] = "bytes",
		[QUERY_MAIN_LEAKED] = "leaked_bytes",
		[QUERY_MAIN_PEAK] = "peak_bytes",
		[QUERY_MAIN_ALLOCS] = "allocations",
		[QUERY_MAIN_TEMPORARY] = "temporary_count",
	};
	struct json *j = &rq->json;
	char text[40];

	for (unsigned c = 0; c < QUERY_N_MAIN_COSTS && !request_is_over(rq); c++) {
		json_array(j, name[c]);
		for (size_t i = 0; i < t->n; i++)
			comparison_put_change(j, NULL, t->node[i].cost[COMPARE_BEFORE][c],
					      t->node[i].cost[COMPARE_AFTER][c]);
		json_end_array(j);
		snprintf(text, sizeof(text), "base_%s", name[c]);
		json_array(j, text);
		for (size_t i = 0; i < t->n; i++)
			json_u64(j, NULL, t->node[i].cost[COMPARE_BEFORE][c]);
		json_end_array(j);
		snprintf(text, sizeof(text), "self_%s", name[c]);
		json_array(j, text);
		for (size_t i = 0; i < t->n; i++)
			comparison_put_change(j, NULL, t->node[i].self[COMPARE_BEFORE][c],
					      t->node[i].self[COMPARE_AFTER][c]);
		json_end_array(j);
	}
}

static void put_tree(struct request *rq, const struct compare_tree *t, bool is_bottom_up)
{
	struct json *j = &rq->json;
	uint64_t n_left_out = 0;

	for (size_t i = 0; i < t->n; i++)
		n_left_out += t->node[i].n_left_out;
	json_object(j, NULL);
	json_text(j, "direction", is_bottom_up ? "bottom_up" : "top_down");
	put_names(rq, t);
	put_numbers(rq, t);
	put_costs(rq, t);
	json_u64(j, "left_out", n_left_out);
	json_u64(j, "stacks", t->n_stacks[COMPARE_AFTER]);
	json_u64(j, "base_stacks", t->n_stacks[COMPARE_BEFORE]);
	comparison_put_costs(j, "total", &t->total[COMPARE_BEFORE], &t->total[COMPARE_AFTER]);
	v1_json_cost(j, "total_before", &t->total[COMPARE_BEFORE]);
	v1_json_cost(j, "total_after", &t->total[COMPARE_AFTER]);
	json_end_object(j);
}

int comparison_tree(struct request *rq, const struct query_tree_options *o, struct err *err)
{
	struct query_tree_options options = *o;
	struct compare_tree t = {0};
	struct query *q[COMPARE_N_SIDES];
	int r = comparison_make_query(rq, QUERY_WANT_PEAK, q, err);

	options.max_nodes = MAX_NODES;
	if (r == 0)
		r = compare_trees(q, &options, &t, err);
	if (r == 0)
		put_tree(rq, &t, o->kind == QUERY_BOTTOM_UP);
	compare_tree_fini(&t);
	return r;
}
