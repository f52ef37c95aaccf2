/* serve/data_tree.c - /tree: the tree of calls as nested objects, outermost frames at the root.
 *
 * A tree can be thousands of calls deep, deeper than struct json counts: each node is begun with a
 * writer of its own and the brackets around children are put by hand.
 *
 * A tree of millions of calls would be an answer of gigabytes: of more than QUERY_TREE_READABLE nodes,
 * the smallest children of a node are one. Clients show it as a function with a name in brackets.
 */
#include "serve/data_json.h"
#include "serve/handlers.h"

/* Writes a node up to the '[' of its children. */
static void open_node(struct request *rq, const struct query_tree_node *n)
{
	struct json *j = &rq->json;

	json_init(j, rq->out);
	json_object(j, NULL);
	json_u64(j, "size", n->cost.n_bytes);
	json_u64(j, "count", n->cost.n_allocs);
	data_json_timeval(j, "first", request_unix_ns(rq, n->cost.first_ns));
	data_json_timeval(j, "last", request_unix_ns(rq, n->cost.last_ns));
	if (n->frame)
		data_json_frame(rq, "value", n->frame);
	fputs(",\"children\":[", rq->out);
}

static void put_tree(struct request *rq, const struct query_tree *t)
{
	uint32_t at = 0;

	open_node(rq, &t->node[0]);
	while (!request_is_over(rq)) {
		if (t->node[at].first_child) {
			at = t->node[at].first_child;
			open_node(rq, &t->node[at]);
			continue;
		}
		while (at && !t->node[at].next_sibling) {
			fputs("]}", rq->out);
			at = t->node[at].parent;
		}
		fputs("]}", rq->out);
		if (!at)
			return;
		putc(',', rq->out);
		at = t->node[at].next_sibling;
		open_node(rq, &t->node[at]);
	}
}

int data_tree(struct request *rq, struct err *err)
{
	struct query_tree_options o = QUERY_TREE_ALL;
	struct query_tree t = {0};
	bool is_whole;
	int r = request_flag(rq, "whole", false, &is_whole, err);

	if (r == 0)
		r = request_query(rq, err);
	if (r == 0) {
		o.most_nodes = is_whole ? 0 : QUERY_TREE_READABLE;
		query_want(rq->query, QUERY_WANT_SPAN);
		r = query_tree_with(rq->query, &o, &t, err);
	}
	if (r == 0 && t.n)
		put_tree(rq, &t);
	query_tree_fini(&t);
	return r;
}
