/* cli/cmd_report.c - `memory-profiler-cli report`: where the memory went. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/open_args.h"
#include "cli/paint.h"
#include "cli/report_charts.h"
#include "cli/report_json.h"
#include "cli/report_text.h"
#include "gather/remote_copy.h"

/* Bytes of events, decompressed, up to which all rows of the store are made: some ten million events,
 * which take a second or two. Rows let the findings see memory over time. */
#define SMALL_BYTES (128 * MIB)

/* Values as given on the command line; NULL: not given. */
struct words {
	const char *sort;
	const char *limit;
	const char *time;
	const char *color;
	const char *view;
};

static int parse_limit(const char *text, struct report_options *o, struct err *err)
{
	char *end;

	errno = 0;
	o->has_limit = true;
	o->limit = strtoull(text, &end, 10);
	if (strcmp(text, "all") == 0)
		o->limit = 0;
	else if (errno || end == text || *end || text[0] == '-' || o->limit == 0)
		return err_set(err, ERR_USAGE,
			       "'--limit %s': write a number of call sites from 1 on, or 'all'",
			       text);
	return 0;
}

static int parse_color(const char *text, enum paint_when *ret, struct err *err)
{
	static const char *const word[] = {"auto", "always", "never"};

	for (unsigned i = 0; i < ARRAY_LEN(word); i++) {
		if (strcmp(text, word[i]) == 0) {
			*ret = (enum paint_when)i;
			return 0;
		}
	}
	return err_set(err, ERR_USAGE, "'--color %s': write auto, always or never", text);
}

static int parse_words(const struct words *w, struct report_options *o, struct filter_args *filter,
		       struct err *err)
{
	enum paint_when when = PAINT_AUTO;
	int n = 0;

	if (w->sort) {
		o->has_sort = true;
		if (!report_kind_parse(w->sort, &o->sort))
			return err_set(err, ERR_USAGE,
				       "'--sort %s': write peak, leaked, allocations, temporary or "
				       "bytes",
				       w->sort);
	}
	if (w->limit)
		n = parse_limit(w->limit, o, err);
	if (n == 0 && w->time)
		n = filter_args_set_time(filter, w->time, err);
	if (n == 0 && w->color)
		n = parse_color(w->color, &when, err);
	o->has_color = paint_wanted(when);
	o->width = paint_width();
	o->filter = filter;
	o->is_brief = !o->is_json && !o->has_sort && !o->has_limit && !o->is_full;
	return n;
}

static int show(const char *path, const struct open_options *how, const struct report_options *o,
		enum report_chart chart, struct err *err)
{
	struct open_recording opened = {0};
	struct report_view v = {.path = path, .options = o};
	int n = open_recording_open(path, how, &opened, err);

	if (n < 0)
		return n;
	for (size_t i = 0; i < opened.n_notes; i++)
		args_complain("note: %s", opened.note[i]);
	v.store = opened.store;
	v.frames = opened.frames;
	n = chart ? report_chart_print(chart, &v, err) : report_view_make(&v, err);
	if (n == 0 && !chart)
		n = o->is_json ? report_json_print(&v, err) : report_text_print(&v, err);
	if (n < 0 && n != -ERR_USAGE)
		err_prefix(err, "%s", path);
	report_view_fini(&v);
	open_recording_close(&opened);
	return n;
}

/* Everything that the command line sets. */
struct report_command {
	struct report_options options;
	struct open_args open;
	struct words words;
	struct filter_args filter;
	enum report_chart chart;
	const char *target; /* --connect; NULL: none */
};

static int run(struct report_command *c, char **path, int n_paths, struct err *err)
{
	struct open_options *how = &c->open.options;
	int r;

	r = parse_words(&c->words, &c->options, &c->filter, err);
	if (r == 0 && c->words.view && !report_chart_parse(c->words.view, &c->chart))
		r = err_set(err, ERR_USAGE,
			    "'--view %s': write timeline, sizes, callers or callees",
			    c->words.view);
	if (r == 0 && c->chart && c->options.is_json)
		r = err_set(err, ERR_USAGE, "--view draws charts; leave out --json or --view");
	if (r == 0)
		r = open_args_finish(&c->open, err);
	if (r < 0)
		return r;
	/* JSON has realloc chains; sizes are counted row by row */
	how->without_rows = c->filter.n == 0 && !c->options.is_json && !how->suppressions &&
			    c->chart != REPORT_CHART_SIZES;
	how->small_bytes = SMALL_BYTES;
	how->piece = (const char *const *)path + 1;
	how->n_pieces = (size_t)n_paths - 1;
	return show(path[0], how, &c->options, c->chart, err);
}

static int run_local_or_remote(struct report_command *c, char **path, int n_paths, struct err *err)
{
	struct remote_copy copy = {0};
	int r;

	if ((n_paths == 0) != (c->target != NULL))
		return err_set(err, ERR_USAGE, "write one or more FILEs, or --connect HOST:PORT");
	if (!c->target)
		return run(c, path, n_paths, err);
	r = remote_copy_open(c->target, &copy, err);
	if (r == 0)
		r = run(c, &copy.path, 1, err);
	remote_copy_close(&copy);
	return r;
}

static int parse(struct report_command *c, int argc, char **argv, int *first, int *end)
{
	const struct args_option option[] = {
		{.name = "json",
		 .help = "print exact figures as one JSON object",
		 .flag = &c->options.is_json},
		{.name = "sort",
		 .value = "KIND",
		 .help = "one list with stacks: peak, leaked, allocations, temporary or bytes",
		 .text = &c->words.sort},
		{.name = "view",
		 .value = "VIEW",
		 .help = "a chart instead: timeline, sizes, callers or callees",
		 .text = &c->words.view},
		{.name = "limit",
		 .value = "N",
		 .help = "all lists with stacks, N call sites each, or 'all'",
		 .text = &c->words.limit},
		{.name = "time",
		 .value = "FROM..TO",
		 .help = "only what was allocated in that time: 1s..2.5s, ..50%",
		 .text = &c->words.time},
		{.name = "connect",
		 .value = "HOST:PORT",
		 .help = "no FILE, but a program that runs there with a server",
		 .text = &c->target},
		OPEN_ARGS(c->open),
		SUPPRESSION_ARGS(c->open),
		{.name = "full",
		 .help = "show all frames, names and paths in full",
		 .flag = &c->options.is_full},
		{.name = "color",
		 .value = "WHEN",
		 .help = "auto (on a terminal), always or never",
		 .text = &c->words.color},
	};
	const struct args_command command = {
		.name = "report",
		.operands = "FILE...",
		.help = "Shows where the memory went, on one screen: figures of the whole run, "
			"what "
			"stands\n"
			"out, and the functions with most leaked bytes and most bytes at the peak. "
			"--sort and\n"
			"--limit show call sites with their stacks, --view draws charts. Several "
			"FILEs are the\n"
			"pieces of one run, and count as one recording.\n",
		.option = option,
		.n_options = ARRAY_LEN(option),
		.more = &c->filter.more,
	};

	return args_parse(&command, argc, argv, first, end);
}

int cmd_report(int argc, char **argv)
{
	struct report_command c = {0};
	struct err err = {0};
	int first, end, r, status;

	filter_args_init(&c.filter);
	status = parse(&c, argc, argv, &first, &end);
	if (status < 0) {
		r = run_local_or_remote(&c, argv + first, end - first, &err);
		status = r == 0 ? CLI_OK : r == -ERR_USAGE ? CLI_USAGE : CLI_FAILED;
		if (r < 0)
			args_complain("%s%s", r == -ERR_USAGE ? "report: " : "", err.text);
	}
	filter_args_fini(&c.filter);
	open_args_fini(&c.open);
	return status;
}
