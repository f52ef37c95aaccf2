/* cli/report_text.c - see report_text.h. */
#include "cli/report_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/paint.h"
#include "cli/report_brief.h"
#include "cli/report_stack.h"
#include "util/human.h"

#define TEXT_COLUMNS 100 /* width of sentences if the terminal's is not known */
#define MAX_COMMAND 240 /* bytes of a command line that are shown */
#define MAX_SIMILAR 1000 /* call sites that are compared with the one before them */

static void print_label(const char *label)
{
	printf("  %-11s ", label);
}

static void print_string(const struct report_view *v, uint32_t string)
{
	size_t len;
	const char *text = store_string(v->store, string, &len);

	if (len > 0)
		human_print_text(stdout, text, len);
	else
		fputs("not known", stdout);
}

/* Prints the parts of a list, cut if it is long; a part with blanks is quoted. */
static void print_list(const struct report_view *v, uint32_t string)
{
	size_t len, max = v->options->is_full ? SIZE_MAX : MAX_COMMAND;
	const char *text = store_string(v->store, string, &len);
	bool is_cut = len > max;

	len = is_cut ? max : len;

	if (len == 0)
		fputs("not known", stdout);
	for (size_t at = 0; at < len;) {
		size_t n = strnlen(text + at, len - at);
		const char *quote = n == 0 || memchr(text + at, ' ', n) ? "'" : "";

		printf("%s%s", at ? " " : "", quote);
		human_print_text(stdout, text + at, n);
		fputs(quote, stdout);
		at += n + 1;
	}
	fputs(is_cut ? " ..." : "", stdout);
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0.0;
}

static void print_size(uint64_t n_bytes)
{
	char a[HUMAN_BYTES], b[HUMAN_BYTES];

	fputs(human_size(n_bytes, a), stdout);
	if (n_bytes >= KIB)
		printf(" (%s bytes)", human_count(n_bytes, b));
}

/* Prints text broken at blanks, indented from the second line on. */
static void print_wrapped(const struct report_view *v, const char *text, int indent)
{
	size_t width = v->options->width ? v->options->width : TEXT_COLUMNS;
	size_t at = (size_t)indent;

	while (*text) {
		size_t len = strcspn(text, " ");

		if (at + len > width && at > (size_t)indent) {
			printf("\n%*s", indent, "");
			at = (size_t)indent;
		}
		human_print_text(stdout, text, len);
		at += len + 1;
		text += len;
		if (*text == ' ') {
			text++;
			if (at + strcspn(text, " ") <= width)
				putchar(' ');
		}
	}
	putchar('\n');
}

/* Prints the lines of health.h that report a problem, the recorder's warnings among them. */
static void print_notices(const struct report_view *v, const struct paint *paint)
{
	bool has_any = false;

	for (size_t i = 0; i < v->health.n_lines; i++) {
		const struct health_line *l = &v->health.line[i];
		char text[HEALTH_TITLE_BYTES + HEALTH_DETAIL_BYTES + 4];

		if (l->state == HEALTH_OK)
			continue;
		snprintf(text, sizeof(text), "%s: %s.", l->title, l->detail);
		paint_text(paint, PAINT_LOUD, "Note: ");
		print_wrapped(v, text, 6);
		has_any = true;
	}
	if (has_any)
		putchar('\n');
}

static void print_program(const struct report_view *v)
{
	const struct store_facts *f = v->report.facts;
	const char *ended = store_string(v->store, f->ended, NULL);
	char a[HUMAN_BYTES], b[HUMAN_BYTES];
	size_t n_threads = store_count_threads(v->store);

	print_label("Program");
	print_string(v, f->executable);
	putchar('\n');
	print_label("Command");
	print_list(v, f->cmdline);
	putchar('\n');
	print_label("Started");
	human_time(f->start_realtime_ns, a);
	printf("%.19sZ, process %" PRIu64 ", %s thread%s\n", a, f->pid, human_count(n_threads, b),
	       n_threads == 1 ? "" : "s");
	print_label("Lasted");
	printf("%s, ended by: ", human_duration(f->duration_ns, a));
	human_print_text(stdout, ended, strlen(ended));
	if (strcmp(ended, "_exit") == 0 || strcmp(ended, "quick_exit") == 0)
		printf(", status %" PRIu64, f->end_status);
	putchar('\n');
}

static void print_figures(const struct report_view *v)
{
	const struct store_facts *f = v->report.facts;
	double seconds = (double)f->duration_ns / (double)NS_PER_S;
	uint64_t n_allocs = f->n_rows + f->n_culled;
	char a[HUMAN_BYTES], b[HUMAN_BYTES];

	print_label("Allocated");
	print_size(f->n_bytes);
	printf(" by %s allocation%s", human_count(n_allocs, a), n_allocs == 1 ? "" : "s");
	if (seconds > 0)
		printf(", %s per second", human_count((uint64_t)((double)n_allocs / seconds), a));
	putchar('\n');
	print_label("Peak heap");
	print_size(f->peak_bytes);
	printf(" in %s block%s, %s after the start\n", human_count(f->peak_count, a),
	       f->peak_count == 1 ? "" : "s", human_duration(f->peak_ns, b));
	print_label("Peak RSS");
	if (f->rss_peak_bytes >= f->peak_bytes && f->rss_peak_bytes)
		printf("%s\n", human_size(f->rss_peak_bytes, a));
	else if (f->rss_peak_bytes)
		printf("at least %s: it was not sampled at the peak\n",
		       human_size(f->rss_peak_bytes, a));
	else
		puts("not known");
	print_label("Leaked");
	print_size(f->live_bytes);
	printf(" in %s block%s: not freed at the end\n", human_count(f->live_count, a),
	       f->live_count == 1 ? "" : "s");
	print_label("Temporary");
	printf("%s (%.1f%% of all allocations): freed before their thread allocated again\n",
	       human_count(f->n_temporary, a), percent(f->n_temporary, n_allocs));
	print_label("Recording");
	printf("%s events, %s\n", human_count(f->n_events, a), human_size(f->recording_bytes, b));
}

static void print_filter(const struct report_view *v, const struct paint *paint)
{
	const struct filter_args *a = v->options->filter;
	const struct query_group *t = &v->report.groups.total;
	char text[HUMAN_BYTES];

	if (a->n == 0)
		return;
	putchar('\n');
	paint_text(paint, PAINT_BOLD, "Only what matches");
	for (size_t i = 0; i < a->n; i++) {
		printf("%s %s=", i ? "," : "", a->name[i]);
		human_print_text(stdout, a->value[i], strlen(a->value[i]));
	}
	printf(":\n  %s allocations (%.1f%% of all), ", human_count(t->n_allocs, text),
	       percent(t->n_allocs, v->report.facts->n_rows + v->report.facts->n_culled));
	printf("%s; at their peak ", human_size(t->n_bytes, text));
	printf("%s, ", human_size(v->report.peak.n_bytes, text));
	printf("%s after the start\n", human_duration(v->report.peak.at_ns, text));
}

static const char *unit_of(enum report_kind kind, uint64_t n)
{
	if (kind == REPORT_PEAK || kind == REPORT_LEAKED)
		return n == 1 ? "block " : "blocks";
	return n == 1 ? "allocation " : "allocations";
}

/* Counts the call sites after number i whose text is the same, and adds them up. */
static int count_similar(struct report_view *v, enum report_kind kind, size_t i, size_t *ret,
			 struct query_group *sum, struct err *err)
{
	const struct report_list *l = &v->report.list[kind];
	char *text = NULL, *other = NULL;
	size_t n_similar = 0;
	int n = 0;

	if (!v->options->is_full)
		n = report_stack_text(v, (uint32_t)l->site[i]->key, &text, err);
	for (size_t k = i + 1; text && n == 0 && k < l->n_sites && n_similar < MAX_SIMILAR; k++) {
		n = report_stack_text(v, (uint32_t)l->site[k]->key, &other, err);
		if (n < 0 || strcmp(text, other) != 0)
			break;
		free(other);
		other = NULL;
		sum->peak_bytes += l->site[k]->peak_bytes;
		sum->leaked_bytes += l->site[k]->leaked_bytes;
		sum->n_allocs += l->site[k]->n_allocs;
		sum->n_temporary += l->site[k]->n_temporary;
		sum->n_bytes += l->site[k]->n_bytes;
		n_similar++;
	}
	free(text);
	free(other);
	*ret = n_similar;
	return n;
}

static void print_site_figures(const struct report_view *v, enum report_kind kind,
			       const struct query_group *g, const struct paint *paint)
{
	uint64_t n = report_count(kind, g), n_bytes = report_bytes(kind, g);
	char a[HUMAN_BYTES];

	fputs("  ", stdout);
	paint_text(paint, PAINT_NUMBER, "%5.1f%%",
		   percent(report_weight(kind, g), report_weight(kind, &v->report.groups.total)));
	printf("  %10s", human_size(n_bytes, a));
	printf("  %13s %s", human_count(n, a), unit_of(kind, n));
	printf("  %10s each", human_size(n ? n_bytes / n : 0, a));
}

static int print_list_of(struct report_view *v, enum report_kind kind, const struct paint *paint,
			 struct err *err)
{
	const struct report_list *l = &v->report.list[kind];
	size_t i = 0, n_printed = 0;
	int n = 0;

	report_view_print_heading(v, kind, paint);
	if (l->n_sites == 0)
		puts("  nothing");
	while (i < l->n_sites && n_printed < l->n_shown && n == 0) {
		struct query_group more = {0};
		size_t n_similar = 0;

		n = count_similar(v, kind, i, &n_similar, &more, err);
		if (n < 0)
			break;
		putchar('\n');
		print_site_figures(v, kind, l->site[i], paint);
		if (n_similar > 0)
			paint_text(paint, PAINT_DIM, "  (+%zu similar, %.1f%%)", n_similar,
				   percent(report_weight(kind, &more),
					   report_weight(kind, &v->report.groups.total)));
		putchar('\n');
		n = report_stack_print(v, (uint32_t)l->site[i]->key, paint, err);
		i += 1 + n_similar;
		n_printed++;
	}
	if (i < l->n_sites)
		paint_text(paint, PAINT_DIM, "\n  ... and %zu more: --sort %s --limit N\n",
			   l->n_sites - i, report_kind_name(kind));
	return n;
}

/* A finding as one sentence, which the caller frees with free(). NULL: no memory. */
static char *finding_sentence(const struct report_view *v, const struct finding *f)
{
	const char *kind = finding_kind_title(f->kind);
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	fprintf(out, "%s%s%s", kind, *kind ? ": " : "", f->title);
	if (f->blame && f->kind == FINDING_REMARK) {
		fputs(": ", out);
		report_stack_print_frame(v, f->blame, out);
	} else if (f->blame && f->blame->source) {
		fputs(" (", out);
		report_stack_print_location(v, f->blame, out);
		fputs(")", out);
	}
	fprintf(out, "%s%s.", *f->text ? ": " : "", f->text);
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

static int print_findings(const struct report_view *v, const struct paint *paint, struct err *err)
{
	if (v->findings.n > 0 || v->findings.is_without_rows) {
		putchar('\n');
		paint_text(paint, PAINT_HEADING, "What stands out\n");
	}
	for (size_t i = 0; i < v->findings.n; i++) {
		char *text = finding_sentence(v, &v->findings.finding[i]);

		if (!text)
			return err_set_memory(err, 1);
		fputs("  - ", stdout);
		print_wrapped(v, text, 4);
		free(text);
	}
	if (v->findings.is_without_rows)
		paint_text(paint, PAINT_DIM,
			   "  (Bursts and copying were not looked for: the recording is large. "
			   "--json and "
			   "the server\n  look for them.)\n");
	return 0;
}

/* Notes that are no warnings, or too many warnings. */
static void print_notes(const struct report_view *v)
{
	size_t n, n_warnings = 0;
	bool is_first = true;
	const struct store_note *note = store_table(v->store, STORE_NOTES, &n);

	for (size_t i = 0; i < n; i++) {
		const char *text = store_string(v->store, note[i].text, NULL);

		if (health_is_warning(text) && n_warnings++ < HEALTH_MAX_NOTES)
			continue; /* print_notices() */
		print_label(is_first ? "Recorder" : "");
		print_wrapped(v, text, 14 /* behind the label */);
		is_first = false;
	}
}

int report_text_print(struct report_view *v, struct err *err)
{
	struct paint paint = {.out = stdout, .has_color = v->options->has_color};
	int n = 0;

	paint_start(&paint, PAINT_BOLD);
	human_print_text(stdout, v->path, strlen(v->path));
	paint_end(&paint, PAINT_BOLD);
	putchar('\n');
	print_notices(v, &paint);
	print_program(v);
	print_figures(v);
	print_notes(v);
	print_filter(v, &paint);
	if (v->report.groups.n == 0) {
		puts(v->options->filter->n ? "\nNo allocation fulfils these conditions."
					   : "\nThere are no allocations in the recording.");
		return 0;
	}
	n = print_findings(v, &paint, err);
	if (v->options->is_brief)
		return n == 0 ? report_brief_print(v, &paint, err) : n;
	for (unsigned k = 0; k < REPORT_N_KINDS && n == 0; k++) {
		if (v->report.is_wanted[k])
			n = print_list_of(v, k, &paint, err);
	}
	return n;
}
