/* export/export_ascii.c - the call tree as text: SIZE COUNT FIRST LAST SOURCE.
 *
 * Outermost frames first, or innermost first when inverted. Only branches are indented: a node
 * without siblings is in the same column as its parent, so deep stacks do not run off the page.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "export/export_i.h"
#include "export/tree_order.h"
#include "util/human.h"
#include "util/vec.h"

struct ascii {
	FILE *out;
	const struct query_tree *tree;
	enum export_cost cost;
	uint8_t *has_more; /* by column: a sibling follows below */
	size_t n_columns, cap_columns;
};

static void put_numbers(const struct ascii *a, const struct query_group *g)
{
	uint64_t size = g->n_bytes, count = g->n_allocs;
	char buf[HUMAN_BYTES];

	if (a->cost == EXPORT_LEAKED) {
		size = g->leaked_bytes;
		count = g->n_leaked;
	} else if (a->cost == EXPORT_PEAK) {
		size = g->peak_bytes;
		count = g->peak_count;
	} else if (a->cost == EXPORT_TEMPORARY) {
		size = g->temporary_bytes;
		count = g->n_temporary;
	}
	fprintf(a->out, "%12s %12" PRIu64 " %12.3f %12.3f  ", human_size(size, buf), count,
		(double)g->first_ns / (double)NS_PER_S, (double)g->last_ns / (double)NS_PER_S);
}

static void put_source(FILE *out, const struct frame *f)
{
	char buf[FRAME_LABEL_BYTES];
	const char *label = export_frame_label(f, buf);

	human_print_text(out, label, strlen(label));
	if (f && f->source) {
		fputs(" (", out);
		human_print_text(out, f->source, strlen(f->source));
		if (f->line)
			fprintf(out, ":%u", f->line);
		putc(')', out);
	}
	if (f && f->module && f->function) {
		const char *name = text_basename(f->module);

		fputs(" [", out);
		human_print_text(out, name, strlen(name));
		putc(']', out);
	}
	putc('\n', out);
}

/* Siblings are a branch; a lone child is not. */
static bool is_branch(const struct query_tree *t, uint32_t node)
{
	uint32_t first = t->node[t->node[node].parent].first_child;

	return t->node[first].next_sibling != 0;
}

static void put_node(const struct ascii *a, uint32_t node)
{
	put_numbers(a, &a->tree->node[node].cost);
	if (node == 0) {
		fputs("[all]\n", a->out);
		return;
	}
	for (size_t i = 0; i + 1 < a->n_columns; i++)
		fputs(a->has_more[i] ? "\xe2\x94\x82 " : "  ", a->out); /* | */
	if (a->n_columns > 0) {
		bool more = a->has_more[a->n_columns - 1];

		if (is_branch(a->tree, node))
			fputs(more ? "\xe2\x94\x9c\xe2\x94\x80" : "\xe2\x94\x94\xe2\x94\x80",
			      a->out);
		else
			fputs(more ? "\xe2\x94\x82 " : "  ", a->out);
	}
	put_source(a->out, a->tree->node[node].frame);
}

/* Moves *at to the next node and updates the columns; *at becomes 0 at the end. -ERR_MEMORY. */
static int next_node(struct ascii *a, uint32_t *at, struct err *err)
{
	const struct query_tree_node *node = a->tree->node;
	uint32_t i = *at;

	if (node[i].first_child) {
		i = node[i].first_child;
		if (is_branch(a->tree, i)) {
			int r = vec_reserve(&a->has_more, &a->cap_columns, a->n_columns + 1, 1,
					    err);

			if (r < 0)
				return r;
			a->n_columns++;
		}
	} else {
		while (i != 0 && node[i].next_sibling == 0) {
			a->n_columns -= is_branch(a->tree, i);
			i = node[i].parent;
		}
		i = i ? node[i].next_sibling : 0;
	}
	if (i != 0 && is_branch(a->tree, i))
		a->has_more[a->n_columns - 1] = node[i].next_sibling != 0;
	*at = i;
	return 0;
}

int export_ascii(struct query *q, const struct export_options *o, FILE *out, struct err *err)
{
	struct query_tree tree = {0};
	struct tree_order order = {0};
	struct ascii a = {.out = out, .tree = &tree, .cost = o->cost};
	char note[TREE_ORDER_NOTE_BYTES];
	uint32_t at = 0;
	int r = tree_order_query(q, o, SIZE_MAX, &tree, &order, err);

	if (r == 0)
		fprintf(out, "%12s %12s %12s %12s  %s\n", "SIZE", "COUNT", "FIRST", "LAST",
			"SOURCE");
	while (r == 0 && tree.n > 0) {
		put_node(&a, at);
		r = next_node(&a, &at, err);
		if (r == 0)
			r = export_check(out, err);
		if (at == 0)
			break;
	}
	if (r == 0 && order.n_cut > 0)
		fprintf(out, "%zu more frames are left out\n", order.n_cut);
	if (r == 0 && *tree_order_note(&tree, note))
		fprintf(out, "%s\n", note);
	free(a.has_more);
	query_tree_fini(&tree);
	return r;
}
