/* export/export_massif.c - massif.out: ms_print, massif-visualizer.
 *
 * Snapshots at equal distances, and one at the peak. The snapshot of the peak, the last one and a
 * few others have the tree of all blocks that were alive at that time, innermost frames first. Such
 * a tree is a query of its own: "alive at that moment" in addition to the user's filter.
 *
 * Sizes are requested ones, so mem_heap_extra_B is 0. Times are milliseconds, or for runs of less
 * than a second "instructions", which are nanoseconds here: ms_print knows no finer unit.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "export/export_i.h"
#include "export/tree_order.h"

#define N_SNAPSHOTS 60u
#define DETAILED_EVERY 10u
#define THRESHOLD 0.01 /* of the snapshot: smaller nodes are summed up */
#define MAX_DEPTH 90u /* perl warns ms_print at 100 */

struct massif {
	FILE *out;
	struct err *err;
	const struct export_options *options;
	unsigned n_snapshots;
	uint64_t time_unit_ns;
};

static void put_head(struct massif *m, uint64_t at_ns, uint64_t n_bytes, const char *tree)
{
	fprintf(m->out,
		"#-----------\nsnapshot=%u\n#-----------\ntime=%" PRIu64 "\nmem_heap_B=%" PRIu64
		"\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=%s\n",
		m->n_snapshots++, at_ns / m->time_unit_ns, n_bytes, tree);
}

/* "0x1234: function (file.c:12)", as massif writes it. */
static void put_frame(FILE *out, const struct frame *f)
{
	if (!f) {
		fputs("0x0: [stack cut off] (in no module)", out);
		return;
	}
	fprintf(out, "0x%" PRIX64 ": ", f->addr - 1);
	export_put_clean(out, f->function ? f->function : "???", "", ' ');
	if (f->source && f->line) {
		fputs(" (", out);
		export_put_clean(out, text_basename(f->source), "", ' ');
		fprintf(out, ":%u)", f->line);
	} else {
		fputs(" (in ", out);
		export_put_clean(out, f->module ? f->module : "???", "", ' ');
		putc(')', out);
	}
}

struct massif_tree {
	const struct query_tree *tree;
	enum export_cost cost;
	uint64_t threshold_bytes;
	FILE *out;
};

static uint64_t node_bytes(const struct massif_tree *t, uint32_t node)
{
	return export_cost_of(&t->tree->node[node].cost, t->cost);
}

/* Writes a node and its subtree. The children are ordered, so the small ones come last. */
static void put_node(const struct massif_tree *t, uint32_t node, unsigned depth)
{
	const struct query_tree_node *n = t->tree->node;
	unsigned n_children = 0, n_small = 0;
	uint64_t small_bytes = 0;

	for (uint32_t c = depth < MAX_DEPTH ? n[node].first_child : 0; c; c = n[c].next_sibling) {
		if (node_bytes(t, c) >= t->threshold_bytes) {
			n_children++;
		} else {
			n_small++;
			small_bytes += node_bytes(t, c);
		}
	}
	fprintf(t->out, "%*sn%u: %" PRIu64 " ", (int)depth, "", n_children + (n_small > 0),
		node_bytes(t, node));
	if (node == 0)
		fputs("(heap allocation functions) malloc/new/new[], --alloc-fns, etc.", t->out);
	else
		put_frame(t->out, n[node].frame);
	putc('\n', t->out);
	for (uint32_t c = n[node].first_child; c && n_children > 0; c = n[c].next_sibling) {
		put_node(t, c, depth + 1);
		n_children--;
	}
	if (n_small > 0)
		fprintf(t->out,
			"%*sn0: %" PRIu64 " in %u place%s below massif's threshold (%.2f%%)\n",
			(int)depth + 1, "", small_bytes, n_small, n_small == 1 ? "," : "s, all",
			100 * THRESHOLD);
}

static int put_tree(struct massif *m, struct query *q, enum export_cost cost)
{
	struct query_tree tree = {0};
	struct tree_order order;
	int r = query_tree(q, QUERY_BOTTOM_UP, &tree, m->err);

	if (r < 0)
		return r;
	r = tree_order(&tree, cost, 0, SIZE_MAX, &order, m->err);
	if (r == 0 && tree.n > 0) {
		struct massif_tree t = {.tree = &tree, .cost = cost, .out = m->out};

		t.threshold_bytes = (uint64_t)((double)node_bytes(&t, 0) * THRESHOLD);
		put_node(&t, 0, 0);
	} else if (r == 0) {
		fputs("n0: 0 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n",
		      m->out);
	}
	query_tree_fini(&tree);
	return r;
}

/* A snapshot with the tree of what is alive at at_ns. */
static int put_detailed(struct massif *m, uint64_t at_ns)
{
	const struct filter_time moment = {.kind = FILTER_TIME_RELATIVE, .ns = at_ns};
	struct filter filter = *m->options->filter; /* its texts stay the user's */
	struct query_groups groups = {0};
	struct query *q = NULL;
	int r;

	if (filter.alive_at.kind == FILTER_TIME_NONE)
		filter.alive_at = moment;
	else
		filter.alive_at_2 = moment;
	r = query_create(m->options->context, &filter, &q, m->err);
	if (r == 0)
		r = query_groups(q, QUERY_BY_STACK, &groups, m->err);
	if (r == 0) {
		put_head(m, at_ns, groups.total.n_bytes, "detailed");
		r = put_tree(m, q, EXPORT_BYTES);
	}
	query_groups_fini(&groups);
	query_destroy(q);
	return r;
}

static int put_snapshots(struct massif *m, struct query *q, uint64_t end_ns)
{
	const struct filter *f = m->options->filter;
	bool can_detail =
		f->alive_at.kind == FILTER_TIME_NONE || f->alive_at_2.kind == FILTER_TIME_NONE;
	struct store_bucket bucket[N_SNAPSHOTS];
	struct query_peak peak;
	bool has_peak = false;
	int r = query_peak(q, &peak, m->err);

	if (r == 0)
		r = query_timeline(q, 0, end_ns + 1, N_SNAPSHOTS, bucket, m->err);
	if (r < 0)
		return r;
	put_head(m, 0, 0, "empty");
	for (unsigned i = 0; i < N_SNAPSHOTS && r == 0; i++) {
		uint64_t at_ns = (uint64_t)((double)end_ns * (i + 1) / N_SNAPSHOTS);

		if (i + 1 == N_SNAPSHOTS)
			at_ns = end_ns;
		if (!has_peak && peak.at_ns <= at_ns) {
			put_head(m, peak.at_ns, peak.n_bytes, "peak");
			r = put_tree(m, q, EXPORT_PEAK);
			has_peak = true;
		}
		if (r < 0)
			break;
		if (can_detail && (i + 1) % DETAILED_EVERY == 0)
			r = put_detailed(m, at_ns);
		else
			put_head(m, at_ns, bucket[i].last_bytes, "empty");
		if (r == 0)
			r = export_check(m->out, m->err);
	}
	return r;
}

int export_massif(struct query *q, const struct export_options *o, FILE *out, struct err *err)
{
	uint64_t end_ns = store_facts(o->context->store)->duration_ns;
	struct massif m = {.out = out, .err = err, .options = o, .time_unit_ns = NS_PER_MS};

	if (end_ns < NS_PER_S)
		m.time_unit_ns = 1;
	fputs("desc: memory-profiler " MEMORY_PROFILER_VERSION "\ncmd: ", out);
	export_put_cmdline(o, out);
	fprintf(out, "\ntime_unit: %s\n", m.time_unit_ns == 1 ? "i" : "ms");
	return put_snapshots(&m, q, end_ns);
}
