/* cli/report_charts.c - see report_charts.h: the timeline and the sizes. */
#include "cli/report_charts.h"

#include <stdlib.h>
#include <string.h>

#include "cli/paint.h"
#include "query/sizes.h"
#include "util/human.h"

#define COLUMNS 100 /* if the width of the terminal is not known */
#define MIN_COLUMNS 40
#define MAX_COLUMNS 160
#define CHART_ROWS 10
#define CHART_LEFT 13 /* columns in front of the chart */
#define TABLE_ROWS 10
#define EIGHTHS 8
#define BAR_COLUMNS 24

/* A block of n eighths of a cell: from the bottom (tall) or from the left. */
static const char *const tall[EIGHTHS + 1] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
static const char *const wide[EIGHTHS + 1] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};

bool report_chart_parse(const char *text, enum report_chart *ret)
{
	static const char *const name[] = {"timeline", "sizes", "callers", "callees"};

	for (unsigned i = 0; i < ARRAY_LEN(name); i++) {
		if (strcmp(text, name[i]) == 0) {
			*ret = (enum report_chart)(i + 1);
			return true;
		}
	}
	return false;
}

static size_t chart_columns(const struct report_options *o)
{
	size_t width = o->width ? o->width : COLUMNS;

	width = width > MAX_COLUMNS ? MAX_COLUMNS : width;
	return width < MIN_COLUMNS ? MIN_COLUMNS : width;
}

/* n of whole as a number of eighths of n_cells cells, rounded up, so that little is not nothing. */
static size_t eighths_of(uint64_t n, uint64_t whole, size_t n_cells)
{
	double share = whole ? (double)n / (double)whole : 0;
	size_t eighths = (size_t)(share * (double)(n_cells * EIGHTHS));

	return n > 0 && eighths == 0 ? 1 : eighths;
}

/* ---- memory over time ---- */

static void print_chart(const struct store_bucket *bucket, size_t n, uint64_t most_bytes)
{
	char a[HUMAN_BYTES];

	for (size_t row = CHART_ROWS; row-- > 0;) {
		bool is_labelled = row + 1 == CHART_ROWS || row == CHART_ROWS / 2;
		uint64_t top_bytes = (row + 1) * (most_bytes / CHART_ROWS);

		if (row + 1 == CHART_ROWS)
			top_bytes = most_bytes;
		printf("%*s %s", CHART_LEFT - 3, is_labelled ? human_size(top_bytes, a) : "",
		       is_labelled ? "┤" : "│");
		for (size_t i = 0; i < n; i++) {
			size_t level = eighths_of(bucket[i].max_bytes, most_bytes, CHART_ROWS);
			size_t below = row * EIGHTHS, here = level > below ? level - below : 0;

			fputs(tall[here > EIGHTHS ? EIGHTHS : here], stdout);
		}
		putchar('\n');
	}
}

static void print_time_axis(const struct query_span *span, size_t n)
{
	char a[HUMAN_BYTES], b[HUMAN_BYTES];
	int room;

	printf("%*s └", CHART_LEFT - 3, "0 B");
	for (size_t i = 0; i < n; i++)
		fputs("─", stdout);
	human_duration(span->from_ns, a);
	human_duration(span->from_ns + span->span_ns, b);
	room = (int)n - (int)strlen(a);
	printf("\n%*s%s%*s\n", CHART_LEFT - 1, "", a, room > 0 ? room : 0, b);
}

/* Joins neighbouring buckets to TABLE_ROWS rows. */
static void print_time_table(const struct query_span *span, const struct store_bucket *bucket,
			     size_t n)
{
	char a[HUMAN_BYTES], b[HUMAN_BYTES], c[HUMAN_BYTES], d[HUMAN_BYTES], e[HUMAN_BYTES];
	uint64_t width_ns = query_timeline_width(span->from_ns, span->from_ns + span->span_ns, n);

	printf("\n  %-12s  %10s  %12s  %12s  %12s\n", "until", "most", "allocations", "allocated",
	       "freed");
	for (size_t row = 0; row < TABLE_ROWS; row++) {
		struct store_bucket sum = {0};
		size_t first = row * n / TABLE_ROWS, end = (row + 1) * n / TABLE_ROWS;
		uint64_t until_ns = span->from_ns + end * width_ns;

		for (size_t i = first; i < end; i++) {
			if (bucket[i].max_bytes > sum.max_bytes)
				sum.max_bytes = bucket[i].max_bytes;
			sum.n_allocs += bucket[i].n_allocs;
			sum.alloc_bytes += bucket[i].alloc_bytes;
			sum.release_bytes += bucket[i].release_bytes;
		}
		if (until_ns > span->from_ns + span->span_ns)
			until_ns = span->from_ns + span->span_ns;
		printf("  %-12s  %10s  %12s  %12s  %12s\n", human_duration(until_ns, a),
		       human_size(sum.max_bytes, b), human_rough(sum.n_allocs, c),
		       human_size(sum.alloc_bytes, d), human_size(sum.release_bytes, e));
	}
}

static int print_timeline(struct query *q, const struct report_options *o, struct err *err)
{
	struct query_span span = query_span(q);
	struct store_bucket bucket[MAX_COLUMNS] = {0};
	size_t n = chart_columns(o) - CHART_LEFT;
	struct query_peak peak;
	char a[HUMAN_BYTES], b[HUMAN_BYTES];
	int r;

	if (span.span_ns == 0) {
		puts("No moment fulfils these conditions.");
		return 0;
	}
	r = query_peak(q, &peak, err);
	if (r == 0)
		r = query_timeline(q, span.from_ns, span.from_ns + span.span_ns, n, bucket, err);
	if (r < 0)
		return r;
	printf("Memory in use: at most %s, %s after the start\n\n", human_size(peak.n_bytes, a),
	       human_duration(peak.at_ns, b));
	print_chart(bucket, n, peak.n_bytes);
	print_time_axis(&span, n);
	print_time_table(&span, bucket, n);
	return 0;
}

/* ---- sizes ---- */

static void print_bar(uint64_t n, uint64_t whole)
{
	size_t eighths = eighths_of(n, whole, BAR_COLUMNS);

	for (size_t i = 0; i < eighths / EIGHTHS; i++)
		fputs(wide[EIGHTHS], stdout);
	puts(wide[eighths % EIGHTHS]);
}

static void print_size_range(const struct sizes_bucket *b)
{
	char from[HUMAN_BYTES], to[HUMAN_BYTES], both[2 * HUMAN_BYTES + 8];

	human_size(b->min_bytes, from);
	human_size(b->max_bytes, to);
	if (b->min_bytes == b->max_bytes)
		snprintf(both, sizeof(both), "%s", from);
	else
		snprintf(both, sizeof(both), "%s to %s", from, to);
	printf("  %-22s", both);
}

static int print_sizes(struct query *q, const struct report_options *o, struct err *err)
{
	enum report_kind kind = o->has_sort ? o->sort : REPORT_ALLOCATIONS;
	struct query_group total = {0};
	struct sizes *s = calloc(1, sizeof(*s));
	char a[HUMAN_BYTES], b[HUMAN_BYTES], c[HUMAN_BYTES];
	uint64_t most = 0;
	int r = s ? query_total(q, &total, err) : err_set_memory(err, sizeof(*s));

	if (r == 0)
		r = sizes_count(q, QUERY_COST_BYTES, 0, s, err);
	for (size_t i = 0; r == 0 && i < s->n_buckets; i++) {
		if (report_weight(kind, &s->bucket[i].cost) > most)
			most = report_weight(kind, &s->bucket[i].cost);
	}
	if (r == 0) {
		printf("Allocations by size: %s, %s in all; bars: %s\n\n",
		       human_count(total.n_allocs, a), human_size(total.n_bytes, b),
		       report_kind_name(kind));
		printf("  %-22s  %11s  %10s  %10s\n", "requested", "allocations", "bytes",
		       "leaked");
	}
	for (size_t i = 0; r == 0 && i < s->n_buckets; i++) {
		const struct query_group *g = &s->bucket[i].cost;

		print_size_range(&s->bucket[i]);
		printf("  %11s  %10s  %10s  ", human_rough(g->n_allocs, a),
		       human_size(g->n_bytes, b), human_size(g->leaked_bytes, c));
		print_bar(report_weight(kind, g), most);
	}
	free(s);
	return r;
}

int report_chart_print(enum report_chart chart, struct report_view *v, struct err *err)
{
	struct report *report = &v->report;
	const struct report_options *o = v->options;
	int r;

	report->facts = store_facts(v->store);
	report->context = (struct query_context){
		.store = v->store, .frames = v->frames, .progress_label = "looking at allocations"};
	report->owns_query = true;
	r = query_create(&report->context, &o->filter->filter, &report->query, err);
	if (r < 0)
		return r;
	human_print_text(stdout, v->path, strlen(v->path));
	for (size_t i = 0; i < o->filter->n; i++) {
		printf("%s %s=", i ? "," : "\nOnly what matches", o->filter->name[i]);
		human_print_text(stdout, o->filter->value[i], strlen(o->filter->value[i]));
	}
	puts("\n");
	if (chart == REPORT_CHART_TIMELINE)
		return print_timeline(report->query, o, err);
	if (chart == REPORT_CHART_SIZES)
		return print_sizes(report->query, o, err);
	return report_tree_print(v, chart == REPORT_CHART_CALLERS, err);
}
