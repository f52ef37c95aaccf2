/* cli/report_brief.c - see report_brief.h. */
#include "cli/report_brief.h"

#include <stdlib.h>

#include "cli/report_stack.h"
#include "util/human.h"

#define N_ROWS 5
#define TEXT_COLUMNS 100 /* if the width of the terminal is not known */
#define FIGURE_COLUMNS 44 /* of a row, in front of the function */
#define MIN_FUNCTION_COLUMNS 20
#define LABEL_COLUMNS 26

/* The functions to blame of one cost, greatest first. */
struct ranking {
	enum report_kind kind;
	struct query_groups groups;
	const struct query_group **rank; /* owned; n of them have the cost */
	size_t n;
};

static int compare_ranks(const void *a, const void *b, void *kind)
{
	return report_compare(*(const enum report_kind *)kind,
			      *(const struct query_group *const *)a,
			      *(const struct query_group *const *)b);
}

static void ranking_fini(struct ranking *r)
{
	free(r->rank);
	query_groups_fini(&r->groups);
}

static int ranking_make(struct report_view *v, enum report_kind kind, struct ranking *ret,
			struct err *err)
{
	static const enum query_cost cost[REPORT_N_KINDS] = {
		QUERY_COST_PEAK_BYTES, QUERY_COST_LEAKED_BYTES, QUERY_COST_ALLOCATIONS,
		QUERY_COST_TEMPORARY, QUERY_COST_BYTES};
	struct query_groups *g = &ret->groups;
	int n;

	*ret = (struct ranking){.kind = kind};
	query_represent_by(v->report.query, cost[kind]);
	n = query_groups(v->report.query, QUERY_BY_BLAME, g, err);
	if (n < 0)
		return n;
	ret->rank = malloc((g->n + 1) * sizeof(*ret->rank));
	if (!ret->rank)
		return err_set_memory(err, g->n * sizeof(*ret->rank));
	for (size_t i = 0; i < g->n; i++) {
		if (report_count(kind, &g->group[i]) > 0)
			ret->rank[ret->n++] = &g->group[i];
	}
	qsort_r(ret->rank, ret->n, sizeof(*ret->rank), compare_ranks, &ret->kind);
	return 0;
}

/* Prints name and place of a function in what is left of the line after n_used columns. */
static int print_function(struct report_view *v, const struct ranking *r, size_t rank,
			  size_t n_used, const struct paint *paint, struct err *err)
{
	size_t width = v->options->width ? v->options->width : TEXT_COLUMNS;
	size_t i = (size_t)(r->rank[rank] - r->groups.group);
	const struct frame *f = query_blame(v->report.query, r->groups.stack[i]);
	int n = 0;

	if (width < n_used + MIN_FUNCTION_COLUMNS)
		width = n_used + MIN_FUNCTION_COLUMNS;
	if (f)
		n = report_stack_print_cut(v, f, width - n_used, paint, err);
	else
		fputs("stacks without a frame", paint->out);
	fputc('\n', paint->out);
	return n;
}

static int print_row(struct report_view *v, const struct ranking *r, size_t rank,
		     const struct paint *paint, struct err *err)
{
	const struct query_group *f = r->rank[rank];
	uint64_t count = report_count(r->kind, f);
	char a[HUMAN_BYTES], b[HUMAN_BYTES], c[HUMAN_BYTES];

	fputs("  ", paint->out);
	paint_text(paint, PAINT_NUMBER, "%7s",
		   human_share(report_weight(r->kind, f), report_weight(r->kind, &r->groups.total),
			       a));
	fprintf(paint->out, "  %10s  %10s %-6s   ", human_size(report_bytes(r->kind, f), b),
		human_rough(count, c), count == 1 ? "block" : "blocks");
	return print_function(v, r, rank, FIGURE_COLUMNS, paint, err);
}

static int print_table(struct report_view *v, enum report_kind kind, const struct paint *paint,
		       struct err *err)
{
	struct ranking r;
	int n = ranking_make(v, kind, &r, err);
	size_t n_rows = r.n < N_ROWS ? r.n : N_ROWS;

	if (n == 0 && r.n > 0) {
		report_view_print_heading(v, kind, paint);
		for (size_t i = 0; i < n_rows && n == 0; i++)
			n = print_row(v, &r, i, paint, err);
		if (r.n > n_rows)
			paint_text(paint, PAINT_DIM, "  ... and %zu more functions\n",
				   r.n - n_rows);
	}
	ranking_fini(&r);
	return n;
}

/* Prints the first function of a list in one line. */
static int print_line(struct report_view *v, enum report_kind kind, const struct paint *paint,
		      struct err *err)
{
	static const char *const label[REPORT_N_KINDS] = {
		[REPORT_ALLOCATIONS] = "Most allocations",
		[REPORT_TEMPORARY] = "Most temporary",
		[REPORT_BYTES] = "Most bytes allocated",
	};
	struct ranking r;
	int n = ranking_make(v, kind, &r, err);
	char a[HUMAN_BYTES];

	if (n == 0 && r.n > 0) {
		fprintf(paint->out, "  %-20s ", label[kind]);
		paint_text(paint, PAINT_NUMBER, "%7s",
			   human_share(report_weight(kind, r.rank[0]),
				       report_weight(kind, &r.groups.total), a));
		fputs(" by ", paint->out);
		n = print_function(v, &r, 0, LABEL_COLUMNS + 8, paint, err);
	}
	ranking_fini(&r);
	return n;
}

int report_brief_print(struct report_view *v, const struct paint *paint, struct err *err)
{
	static const enum report_kind table[] = {REPORT_LEAKED, REPORT_PEAK};
	static const enum report_kind line[] = {REPORT_ALLOCATIONS, REPORT_TEMPORARY, REPORT_BYTES};
	int n = 0;

	for (size_t i = 0; i < ARRAY_LEN(table) && n == 0; i++)
		n = print_table(v, table[i], paint, err);
	if (n == 0)
		fputc('\n', paint->out);
	for (size_t i = 0; i < ARRAY_LEN(line) && n == 0; i++)
		n = print_line(v, line[i], paint, err);
	if (n == 0)
		paint_text(paint, PAINT_DIM,
			   "\nMore: --sort leaked|peak|allocations|temporary|bytes shows call "
			   "sites with "
			   "their stacks,\n--view timeline|sizes|callers|callees draws charts, "
			   "--limit N "
			   "shows all lists with stacks.\n");
	return n;
}
