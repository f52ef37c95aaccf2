/* cli/report_tree.c - see report_charts.h: who calls the functions that allocate, and what main()
 * calls.
 *
 *    share       bytes       blocks   function
 *    62.1 %    112 KiB      8 000    words_add  demo.c:40
 *    62.1 %    112 KiB      8 000     work  demo.c:76
 *
 * A run of runtime frames is one node. A child is indented by two columns, an only child by one.
 */
#include <stdio.h>

#include "cli/paint.h"
#include "cli/report_charts.h"
#include "cli/report_stack.h"
#include "export/tree_order.h"
#include "util/human.h"

#define COLUMNS 100 /* if the width of the terminal is not known */
#define FIGURE_COLUMNS 37 /* of a line, in front of the function */
#define MIN_ROOM 20
#define MAX_NODES 40
#define MIN_SHARE 0.01
#define MAX_DEPTH 24u
#define MAX_INDENT 20

static const enum export_cost cost_of[REPORT_N_KINDS] = {
	[REPORT_PEAK] = EXPORT_PEAK,
	[REPORT_LEAKED] = EXPORT_LEAKED,
	[REPORT_ALLOCATIONS] = EXPORT_ALLOCATIONS,
	[REPORT_TEMPORARY] = EXPORT_TEMPORARY,
	[REPORT_BYTES] = EXPORT_BYTES,
};

/* Does the node stand for its parent as well, as the only way on? */
static bool is_chain(const struct query_tree *t, uint32_t node)
{
	const struct query_tree_node *parent = &t->node[t->node[node].parent];

	return t->node[node].parent != 0 && t->node[parent->first_child].next_sibling == 0;
}

static unsigned indent_of(const struct query_tree *t, uint32_t node)
{
	unsigned n = 0;

	for (; t->node[node].parent != 0; node = t->node[node].parent)
		n += is_chain(t, node) ? 1 : 2;
	return n < MAX_INDENT ? n : MAX_INDENT;
}

static int print_node(struct report_view *v, const struct query_tree *t, uint32_t node,
		      enum report_kind kind, const struct paint *paint, struct err *err)
{
	const struct query_tree_node *n = &t->node[node];
	const struct query_tree_name *name = &t->name[n->name];
	unsigned indent = indent_of(t, node);
	size_t width = v->options->width ? v->options->width : COLUMNS;
	size_t room = width > FIGURE_COLUMNS + indent + MIN_ROOM ? width - FIGURE_COLUMNS - indent
								 : MIN_ROOM;
	char a[HUMAN_BYTES], b[HUMAN_BYTES], c[HUMAN_BYTES];
	int result = 0;

	fputs("  ", stdout);
	paint_text(paint, PAINT_NUMBER, "%7s",
		   human_share(report_weight(kind, &n->cost), report_weight(kind, &t->total), a));
	printf("  %10s  %10s  %*s", human_size(report_bytes(kind, &n->cost), b),
	       human_rough(report_count(kind, &n->cost), c), (int)indent, "");
	if (name->title)
		paint_text(paint, PAINT_DIM, "[%s]", name->title);
	else if (name->frame)
		result = report_stack_print_cut(v, name->frame, room, paint, err);
	putchar('\n');
	return result;
}

int report_tree_print(struct report_view *v, bool is_callers, struct err *err)
{
	struct query *q = v->report.query;
	const struct report_options *o = v->options;
	enum report_kind kind = o->has_sort ? o->sort : REPORT_PEAK;
	const struct query_tree_options tree = {
		.kind = is_callers ? QUERY_BOTTOM_UP : QUERY_TOP_DOWN,
		.fold = o->is_full ? QUERY_FOLD_NONE : QUERY_FOLD_RUNTIME,
		.collapses_recursion = true,
		.max_depth = MAX_DEPTH,
	};
	const struct paint paint = {.out = stdout, .has_color = o->has_color};
	uint64_t max_nodes = !o->has_limit ? MAX_NODES : o->limit ? o->limit : SIZE_MAX;
	struct tree_order order = {0};
	struct query_tree t = {0};
	int r = query_tree_with(q, &tree, &t, err);

	if (r == 0)
		r = tree_order(&t, cost_of[kind], MIN_SHARE, (size_t)max_nodes, &order, err);
	if (r == 0 && t.n > 0) {
		printf("%s, by %s\n\n",
		       is_callers ? "Functions that allocate, below each its callers"
				  : "From the start of each thread to what allocates",
		       export_cost_label(cost_of[kind]));
		printf("  %7s  %10s  %10s  function\n", "share", "bytes", "blocks");
		for (uint32_t i = tree_order_next(&t, 0); i && r == 0; i = tree_order_next(&t, i))
			r = print_node(v, &t, i, kind, &paint, err);
		if (order.n_cut > 0)
			paint_text(
				&paint, PAINT_DIM,
				"  ... and %zu more: --limit N, or the flame graph of 'server'\n",
				order.n_cut);
	}
	query_tree_fini(&t);
	return r;
}
