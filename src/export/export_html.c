/* export/export_html.c - a report in one file that needs nothing else: summary, usage over time,
 * the call sites that matter most, and a flame graph.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "export/export_i.h"
#include "export/flame.h"
#include "export/html_style.h"
#include "query/frame_class.h"
#include "util/human.h"

#define N_SITES 25u /* rows of a table */
#define MAX_FRAMES 200u /* of a stack; the rest is counted */
#define N_BUCKETS 240u
#define CHART_WIDTH 1200.0
#define CHART_HEIGHT 180.0

struct html {
	FILE *out;
	struct err *err;
	const struct export_options *options;
	const struct store *store;
	const struct store_facts *facts;
	struct export_stacks stacks;
	struct query_peak peak;
	uint32_t *sorted; /* indices of groups */
};

static void put_card(FILE *out, const char *value, const char *what)
{
	fprintf(out, "<div class=\"card\"><b>%s</b><span>%s</span></div>\n", value, what);
}

static void put_cards(struct html *h)
{
	const struct query_group *t = &h->stacks.groups.total;
	char buf[HUMAN_BYTES], text[128], other[HUMAN_BYTES];

	fputs("<div class=\"cards\">\n", h->out);
	snprintf(text, sizeof(text), "peak, after %s", human_duration(h->peak.at_ns, other));
	put_card(h->out, human_size(h->peak.n_bytes, buf), text);
	snprintf(text, sizeof(text), "leaked, in %s blocks", human_count(t->n_leaked, other));
	put_card(h->out, human_size(t->leaked_bytes, buf), text);
	put_card(h->out, human_count(t->n_allocs, buf), "allocations");
	put_card(h->out, human_size(t->n_bytes, buf), "allocated in all");
	snprintf(text, sizeof(text), "temporary allocations (%.1f %%)",
		 t->n_allocs ? 100.0 * (double)t->n_temporary / (double)t->n_allocs : 0);
	put_card(h->out, human_count(t->n_temporary, buf), text);
	put_card(h->out, human_size(h->facts->rss_peak_bytes, buf), "greatest resident size seen");
	put_card(h->out, human_duration(h->facts->duration_ns, buf), "duration");
	put_card(h->out, human_count(h->stacks.groups.n, buf), "call sites");
	fputs("</div>\n", h->out);
}

static void put_head(struct html *h)
{
	const struct store_facts *f = h->facts;
	char buf[HUMAN_BYTES];

	fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width\">\n<title>",
	      h->out);
	export_put_xml(h->out, export_title(h->options));
	fprintf(h->out, " - memory report</title>\n<style>%s%s</style>\n<script>%s</script>\n",
		HTML_STYLE, flame_style, flame_script);
	fputs("</head><body><main>\n<h1>", h->out);
	export_put_xml(h->out, export_title(h->options));
	fputs("</h1>\n<p class=\"sub\">", h->out);
	export_put_xml(h->out, store_string(h->store, f->executable, NULL));
	fprintf(h->out, ", process %" PRIu64 ", started %s", f->pid,
		human_time(f->start_realtime_ns, buf));
	if (store_string(h->store, f->host, NULL)[0]) {
		fputs(" on ", h->out);
		export_put_xml(h->out, store_string(h->store, f->host, NULL));
	}
	fputs("</p>\n", h->out);
}

static void put_warnings(struct html *h)
{
	const struct store_facts *f = h->facts;
	size_t n;
	const struct store_note *note = store_table(h->store, STORE_NOTES, &n);

	if (h->stacks.groups.total.n_allocs != f->n_rows)
		fprintf(h->out,
			"<div class=\"warn\">A filter is set: %" PRIu64 " of %" PRIu64
			" allocations are shown.</div>\n",
			h->stacks.groups.total.n_allocs, f->n_rows);
	if (f->lost_events || f->damaged_bytes)
		fprintf(h->out,
			"<div class=\"warn\">The recording is not whole: %" PRIu64
			" events were lost, %" PRIu64 " bytes are damaged.</div>\n",
			f->lost_events, f->damaged_bytes);
	for (size_t i = 0; i < n && i < N_SITES; i++) {
		if (note[i].level > 2)
			continue;
		fputs("<div class=\"warn\">", h->out);
		export_put_xml(h->out, store_string(h->store, note[i].text, NULL));
		fputs("</div>\n", h->out);
	}
}

/* Points of one line of the chart. */
static void put_line(FILE *out, const char *style, const double *y, const double *x, size_t n)
{
	fprintf(out, "<polyline fill=\"none\" %s points=\"", style);
	for (size_t i = 0; i < n; i++)
		fprintf(out, "%.1f,%.1f ", x[i], y[i]);
	fputs("\"/>\n", out);
}

static void put_samples(struct html *h, double scale)
{
	size_t n, n_points = 0, step;
	const struct store_sample *s = store_table(h->store, STORE_SAMPLES, &n);
	double x[2 * N_BUCKETS], y[2 * N_BUCKETS];

	step = n / (2 * N_BUCKETS) + 1;
	for (size_t i = 0; i < n && n_points < ARRAY_LEN(x); i += step) {
		x[n_points] =
			CHART_WIDTH * (double)s[i].at_ns / ((double)h->facts->duration_ns + 1);
		y[n_points++] = CHART_HEIGHT - (double)s[i].rss_bytes * scale;
	}
	if (n_points > 1)
		put_line(h->out, "stroke=\"#b35900\" stroke-dasharray=\"4 3\"", y, x, n_points);
}

static int put_chart(struct html *h, struct query *q)
{
	struct store_bucket bucket[N_BUCKETS];
	double x[N_BUCKETS], y[N_BUCKETS], scale;
	uint64_t most = h->peak.n_bytes > h->facts->rss_peak_bytes ? h->peak.n_bytes
								   : h->facts->rss_peak_bytes;
	int r = query_timeline(q, 0, h->facts->duration_ns + 1, N_BUCKETS, bucket, h->err);
	char buf[HUMAN_BYTES];

	if (r < 0)
		return r;
	scale = (CHART_HEIGHT - 4) / ((double)most + 1);
	for (size_t i = 0; i < N_BUCKETS; i++) {
		x[i] = CHART_WIDTH * ((double)i + 0.5) / N_BUCKETS;
		y[i] = CHART_HEIGHT - (double)bucket[i].max_bytes * scale;
	}
	fprintf(h->out,
		"<h2 id=\"time\">Usage over time</h2>\n<div class=\"box\"><svg viewBox=\"0 0 %u "
		"%u\" "
		"width=\"100%%\" role=\"img\" aria-label=\"usage over time\">"
		"<line x1=\"0\" x2=\"%u\" y1=\"%u\" y2=\"%u\" stroke=\"#d9dee4\"/>\n",
		(unsigned)CHART_WIDTH, (unsigned)CHART_HEIGHT + 2, (unsigned)CHART_WIDTH,
		(unsigned)CHART_HEIGHT, (unsigned)CHART_HEIGHT);
	put_line(h->out, "stroke=\"#0b62c4\" stroke-width=\"2\"", y, x, N_BUCKETS);
	put_samples(h, scale);
	fprintf(h->out,
		"</svg><div class=\"legend\">Solid: bytes alive (the most in each of %u steps). "
		"Dashed: resident size. Full height: %s. Width: ",
		N_BUCKETS, human_size(most, buf));
	fprintf(h->out, "%s.</div></div>\n", human_duration(h->facts->duration_ns, buf));
	return 0;
}

static void put_frame(FILE *out, const struct frame *f)
{
	char buf[EXPORT_LABEL_BYTES];

	export_put_xml(out, export_frame_label(f, buf));
	if (f->source) {
		fputs(" <i>", out);
		export_put_xml(out, f->source);
		if (f->line)
			fprintf(out, ":%u", f->line);
		fputs("</i>", out);
	}
	if (f->module) {
		fputs(" [", out);
		export_put_xml(out, text_basename(f->module));
		putc(']', out);
	}
}

/* The frame that tells most: the innermost of the program's own, else the innermost that is no
 * allocator's and no run-time's, else the innermost. NULL: the stack is empty. */
static const struct frame *telling_frame(struct html *h)
{
	const char *executable = store_string(h->store, h->facts->executable, NULL);
	const struct frame *best = NULL;
	int best_rank = -1;

	for (size_t i = 0; i < h->stacks.n_codes && i < MAX_FRAMES; i++) {
		size_t n;
		const struct frame *f = frames_of_code(h->stacks.frames, h->stacks.code[i], &n);

		for (size_t k = 0; k < n; k++) {
			enum frame_class c = frame_class_of(&f[k], executable);
			int rank = c == FRAME_CLASS_OWN ? 2 : !frame_class_is_folded(c);

			if (rank > best_rank) {
				best_rank = rank;
				best = &f[k];
			}
		}
	}
	return best;
}

/* The frame that tells most, and behind a click all of them, innermost first. */
static int put_stack(struct html *h, uint32_t stack)
{
	struct export_stacks *s = &h->stacks;
	int r = export_stacks_codes(s, stack, h->err);
	const struct frame *shown;

	if (r < 0)
		return r;
	shown = telling_frame(h);
	fputs("<details><summary>", h->out);
	if (shown)
		put_frame(h->out, shown);
	else
		fputs("[no stack]", h->out);
	fputs("</summary><ol>\n", h->out);
	for (size_t i = 0; i < s->n_codes && i < MAX_FRAMES; i++) {
		size_t n;
		const struct frame *f = frames_of_code(s->frames, s->code[i], &n);

		for (size_t k = 0; k < n; k++) {
			fputs(&f[k] == shown ? "<li class=\"own\">" : "<li>", h->out);
			put_frame(h->out, &f[k]);
			fputs("</li>\n", h->out);
		}
	}
	if (s->n_codes > MAX_FRAMES)
		fprintf(h->out, "<li>... %zu more</li>\n", s->n_codes - MAX_FRAMES);
	fputs("</ol></details>", h->out);
	return export_check(h->out, h->err);
}

struct by_cost {
	const struct query_group *group;
	enum export_cost cost;
};

static int compare_groups(const void *pa, const void *pb, void *user)
{
	const struct by_cost *by = user;
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
	uint64_t cost_a = export_cost_of(&by->group[a], by->cost);
	uint64_t cost_b = export_cost_of(&by->group[b], by->cost);

	if (cost_a != cost_b)
		return cost_a > cost_b ? -1 : 1;
	return a < b ? -1 : a > b;
}

/* Columns beside the one that a table is ordered by. */
static const enum export_cost columns[] = {EXPORT_ALLOCATIONS, EXPORT_BYTES, EXPORT_LEAKED,
					   EXPORT_PEAK};

static char *amount(const struct query_group *g, enum export_cost cost, char buf[HUMAN_BYTES])
{
	uint64_t value = export_cost_of(g, cost);

	return export_cost_is_bytes(cost) ? human_size(value, buf) : human_count(value, buf);
}

static void put_row_numbers(FILE *out, const struct query_group *g, enum export_cost cost,
			    uint64_t total)
{
	char buf[HUMAN_BYTES];

	fprintf(out, "<tr><td>%s</td><td>%.1f %%</td>", amount(g, cost, buf),
		100.0 * (double)export_cost_of(g, cost) / (double)total);
	for (unsigned i = 0; i < ARRAY_LEN(columns); i++) {
		if (columns[i] != cost)
			fprintf(out, "<td>%s</td>", amount(g, columns[i], buf));
	}
	fputs("<td>", out);
}

static int put_sites(struct html *h, enum export_cost cost)
{
	const struct query_groups *groups = &h->stacks.groups;
	struct by_cost by = {.group = groups->group, .cost = cost};
	uint64_t total = export_cost_of(&groups->total, cost);
	int r = 0;

	if (total == 0)
		return 0;
	qsort_r(h->sorted, groups->n, sizeof(*h->sorted), compare_groups, &by);
	fprintf(h->out,
		"<h2 id=\"%s\">Call sites by %s</h2>\n<div class=\"scroll\"><table><tr><th>%s</th>"
		"<th>share</th>",
		export_cost_name(cost), export_cost_label(cost), export_cost_name(cost));
	for (unsigned i = 0; i < ARRAY_LEN(columns); i++) {
		if (columns[i] != cost)
			fprintf(h->out, "<th>%s</th>", export_cost_name(columns[i]));
	}
	fputs("<th>allocated by</th></tr>\n", h->out);
	for (size_t i = 0; i < groups->n && i < N_SITES && r == 0; i++) {
		const struct query_group *g = &groups->group[h->sorted[i]];

		if (export_cost_of(g, cost) == 0)
			break;
		put_row_numbers(h->out, g, cost, total);
		r = put_stack(h, (uint32_t)g->key);
		fputs("</td></tr>\n", h->out);
	}
	fputs("</table></div>\n", h->out);
	return r;
}

static int put_threads(struct html *h, struct query *q)
{
	struct query_groups groups = {0};
	size_t n_threads;
	const struct store_thread *thread = store_table(h->store, STORE_THREADS, &n_threads);
	int r = query_groups(q, QUERY_BY_THREAD, &groups, h->err);

	if (r < 0)
		return r;
	fputs("<h2 id=\"threads\">Threads</h2>\n<div class=\"scroll\"><table><tr><th>thread</th>"
	      "<th>allocations</th><th>bytes</th><th>leaked</th><th>at peak</th><th>name</th>"
	      "</tr>\n",
	      h->out);
	for (size_t i = 0; i < groups.n && i < 4 * N_SITES; i++) {
		const struct query_group *g = &groups.group[i];
		char buf[HUMAN_BYTES];

		if (g->key >= n_threads)
			continue;
		fprintf(h->out, "<tr><td>%" PRIu64 "</td>", thread[g->key].tid);
		fprintf(h->out, "<td>%s</td>", human_count(g->n_allocs, buf));
		fprintf(h->out, "<td>%s</td>", human_size(g->n_bytes, buf));
		fprintf(h->out, "<td>%s</td>", human_size(g->leaked_bytes, buf));
		fprintf(h->out, "<td>%s</td><td>", human_size(g->peak_bytes, buf));
		export_put_xml(h->out, store_string(h->store, thread[g->key].name, NULL));
		fputs("</td></tr>\n", h->out);
	}
	fputs("</table></div>\n", h->out);
	query_groups_fini(&groups);
	return 0;
}

static int put_graphs(struct html *h, struct query *q)
{
	enum export_cost costs[] = {h->options->cost, EXPORT_PEAK, EXPORT_LEAKED};
	int r = 0;

	for (unsigned i = 0; i < ARRAY_LEN(costs) && r == 0; i++) {
		const struct flame flame = {.id = i, .cost = costs[i]};

		if ((i > 0 && costs[i] == costs[0]) ||
		    export_cost_of(&h->stacks.groups.total, costs[i]) == 0)
			continue;
		fprintf(h->out,
			"<h2 id=\"flame-%s\">Flame graph: %s</h2>\n<div class=\"box scroll\"><div>",
			export_cost_name(costs[i]), export_cost_label(costs[i]));
		r = flame_write(q, h->options, &flame, h->out, h->err);
		fputs("</div><div class=\"legend\">Click a frame to zoom. / searches, Esc resets, "
		      "arrow keys and Enter move.</div></div>\n",
		      h->out);
	}
	return r;
}

static int put_page(struct html *h, struct query *q)
{
	static const enum export_cost tables[] = {EXPORT_PEAK, EXPORT_LEAKED, EXPORT_ALLOCATIONS,
						  EXPORT_TEMPORARY, EXPORT_BYTES};
	int r;

	put_head(h);
	put_warnings(h);
	put_cards(h);
	r = put_chart(h, q);
	if (r == 0)
		r = put_graphs(h, q);
	for (unsigned i = 0; i < ARRAY_LEN(tables) && r == 0; i++)
		r = put_sites(h, tables[i]);
	if (r == 0)
		r = put_threads(h, q);
	fputs("<p class=\"sub\">Command: <code>", h->out);
	if (r == 0) {
		const char *text;
		size_t len, at = 0;

		text = store_string(h->store, h->facts->cmdline, &len);
		for (; at < len; at += strlen(text + at) + 1) {
			putc(' ', h->out);
			export_put_xml(h->out, text + at);
		}
	}
	fputs("</code>. Made by memory-profiler " MEMORY_PROFILER_VERSION
	      ".</p>\n</main></body></html>\n",
	      h->out);
	return r;
}

int export_html(struct query *q, const struct export_options *o, FILE *out, struct err *err)
{
	struct html h = {.out = out,
			 .err = err,
			 .options = o,
			 .store = o->context->store,
			 .facts = store_facts(o->context->store)};
	int r = export_stacks_init(&h.stacks, q, o, err);

	if (r < 0)
		return r;
	h.sorted = malloc((h.stacks.groups.n + 1) * sizeof(*h.sorted));
	if (!h.sorted)
		r = err_set_memory(err, h.stacks.groups.n * sizeof(*h.sorted));
	for (size_t i = 0; r == 0 && i < h.stacks.groups.n; i++)
		h.sorted[i] = (uint32_t)i;
	if (r == 0)
		r = query_peak(q, &h.peak, err);
	if (r == 0)
		r = put_page(&h, q);
	free(h.sorted);
	export_stacks_fini(&h.stacks);
	return r;
}
