/* cli/cmd_report.c - `memory-profiler-cli report`: where the memory went. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/paint.h"
#include "cli/report_json.h"
#include "cli/report_text.h"
#include "open/open.h"

/* Of events, at most some ten million: their rows are made in a second or two, and let findings see
 * memory over time. */
#define SMALL_BYTES (64 * MIB)

/* Values as they stand on the command line. */
struct words {
	const char *sort;
	const char *limit;
	const char *time;
	const char *color;
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
			       "'--limit %s' is no number of call sites: write 1 or more, or 'all'",
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
	return n;
}

static int show(const char *path, const struct open_options *how, const struct report_options *o,
		struct err *err)
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
	n = report_view_make(&v, err);
	if (n == 0)
		n = o->is_json ? report_json_print(&v, err) : report_text_print(&v, err);
	if (n < 0 && n != -ERR_USAGE)
		err_prefix(err, "%s", path);
	report_view_fini(&v);
	open_recording_close(&opened);
	return n;
}

int cmd_report(int argc, char **argv)
{
	struct report_options o = {0};
	struct open_options how = {0};
	struct args_list debug = {.n = 0};
	struct words w = {0};
	struct filter_args filter;
	const struct args_option option[] = {
		{.name = "json", .help = "exact figures as one JSON object", .flag = &o.is_json},
		{.name = "sort",
		 .value = "KIND",
		 .help = "one list only: peak, leaked, allocations, temporary or bytes",
		 .text = &w.sort},
		{.name = "limit",
		 .value = "N",
		 .help = "call sites per list, or 'all'",
		 .text = &w.limit},
		{.name = "time",
		 .value = "FROM..TO",
		 .help = "what was allocated in that time: 1s..2.5s, ..50%",
		 .text = &w.time},
		{.letter = 'd',
		 .name = "debug-symbols",
		 .value = "PATH",
		 .help = "debug file, or folder of such, to look into for names",
		 .list = &debug},
		{.name = "debuginfod",
		 .help = "ask the servers in $DEBUGINFOD_URLS for symbols",
		 .flag = &how.use_debuginfod},
		{.name = "no-cache",
		 .help = "read the recording anew and keep nothing",
		 .flag = &how.no_cache},
		{.name = "full", .help = "all frames, names and paths in full", .flag = &o.is_full},
		{.name = "color",
		 .value = "WHEN",
		 .help = "auto (on a terminal), always or never",
		 .text = &w.color},
	};
	const struct args_command command = {
		.name = "report",
		.operands = "FILE",
		.help = "Tells where the memory went: figures of the whole run, then the call "
			"sites that\n"
			"matter most at the peak, for leaks, for the number of allocations, for "
			"temporary\n"
			"ones and for bytes in all.\n",
		.option = option,
		.n_options = ARRAY_LEN(option),
		.more = &filter.more,
		.min_operands = 1,
	};
	struct err err = {0};
	int first, end, n, status;

	filter_args_init(&filter);
	status = args_parse(&command, argc, argv, &first, &end);
	if (status < 0) {
		how.debug_path = debug.item;
		how.n_debug_paths = debug.n;
		n = end - first > 1 ? err_set(&err, ERR_USAGE, "one recording at a time, not '%s'",
					      argv[first + 1])
				    : parse_words(&w, &o, &filter, &err);
		how.without_rows = filter.n == 0 && !o.is_json; /* JSON tells of chains */
		how.small_bytes = SMALL_BYTES;
		if (n == 0)
			n = show(argv[first], &how, &o, &err);
		status = n == 0 ? CLI_OK : n == -ERR_USAGE ? CLI_USAGE : CLI_FAILED;
		if (n < 0)
			args_complain("%s%s", n == -ERR_USAGE ? "report: " : "", err.text);
	}
	filter_args_fini(&filter);
	return status;
}
