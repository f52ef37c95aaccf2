/* export/export.c - the table of formats, their options. See export.h. */
#include "export/export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/export_i.h"

static const struct export_format formats[] = {
	{"json", "application/json", ".json", "every allocation, and the backtraces they name",
	 EXPORT_ROWS, export_json},
	{"json-groups", "application/json", ".json", "call sites with their sums and backtraces", 0,
	 export_json_groups},
	{"csv", "text/csv; charset=utf-8", ".csv", "every allocation, for spreadsheets and scripts",
	 EXPORT_ROWS, export_csv},
	{"csv-groups", "text/csv; charset=utf-8", ".csv", "call sites with their sums", 0,
	 export_csv_groups},
	{"heaptrack", "text/plain; charset=utf-8", ".heaptrack",
	 "heaptrack_print and heaptrack_gui, file format 3", EXPORT_ROWS, export_heaptrack},
	{"flamegraph-svg", "image/svg+xml", ".svg", "flame graph for any browser; zoom and search",
	 EXPORT_COST | EXPORT_TREE, export_svg},
	{"collapsed", "text/plain; charset=utf-8", ".folded",
	 "collapsed stacks: flamegraph.pl, speedscope, Perfetto", EXPORT_COST, export_collapsed},
	{"pprof", "application/vnd.google.protobuf+gzip", ".pb.gz",
	 "go tool pprof, Pyroscope, Parca; allocated and in use", EXPORT_BINARY | EXPORT_COMPRESSED,
	 export_pprof},
	{"massif", "text/plain; charset=utf-8", ".massif",
	 "ms_print, massif-visualizer; usage over time", 0, export_massif},
	{"dhat", "application/json", ".dhat.json", "dh_view.html of Valgrind, Firefox Profiler", 0,
	 export_dhat},
	{"speedscope", "application/json", ".speedscope.json",
	 "speedscope.app; one profile for each cost", 0, export_speedscope},
	{"jemalloc", "text/plain; charset=utf-8", ".heap", "jeprof; needs the program's binaries",
	 0, export_jemalloc},
	{"replay", "application/octet-stream", ".replay",
	 "list of operations for tools that replay them", EXPORT_BINARY | EXPORT_ROWS,
	 export_replay},
	{"html", "text/html; charset=utf-8", ".html",
	 "overview and flame graph of the GUI in one file, for any browser", 0, export_html},
	{"ascii-tree", "text/plain; charset=utf-8", ".txt", "call tree as text",
	 EXPORT_COST | EXPORT_TREE, export_ascii},
};

static const struct {
	const char *old;
	const char *name;
} aliases[] = {
	{"flamegraph", "flamegraph-svg"},
	{"flamegraph.pl", "collapsed"},
	{"svg", "flamegraph-svg"},
};

static const struct {
	const char *name;
	const char *label;
	bool is_bytes;
} costs[EXPORT_N_COSTS] = {
	[EXPORT_BYTES] = {"bytes", "bytes allocated", true},
	[EXPORT_LEAKED] = {"leaked", "bytes leaked", true},
	[EXPORT_PEAK] = {"peak", "bytes alive at the peak", true},
	[EXPORT_ALLOCATIONS] = {"allocations", "allocations", false},
	[EXPORT_TEMPORARY] = {"temporary", "temporary allocations", false},
};

static const struct filter_parameter parameters[] = {
	{"cost", "choice", "bytes|leaked|peak|allocations|temporary",
	 "what a flame graph, a tree or collapsed stacks add up"},
	{"inverted", "choice", "true|false", "trees and flame graphs: innermost function first"},
	{"min_share", "share", NULL,
	 "trees and flame graphs: leave out frames with less than this part, in percent; default: "
	 "of "
	 "more than 65536 frames the smallest are added up; 0: all frames, however many"},
};

const struct export_format *export_formats(size_t *n)
{
	*n = ARRAY_LEN(formats);
	return formats;
}

const struct export_format *export_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(aliases); i++) {
		if (strcmp(aliases[i].old, name) == 0)
			name = aliases[i].name;
	}
	for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
		if (strcmp(formats[i].name, name) == 0)
			return &formats[i];
	}
	return NULL;
}

const struct filter_parameter *export_parameters(size_t *n)
{
	*n = ARRAY_LEN(parameters);
	return parameters;
}

const char *export_cost_label(enum export_cost c)
{
	return costs[c].label;
}

bool export_cost_is_bytes(enum export_cost c)
{
	return costs[c].is_bytes;
}

uint64_t export_cost_of(const struct query_group *g, enum export_cost c)
{
	switch (c) {
	case EXPORT_LEAKED:
		return g->leaked_bytes;
	case EXPORT_PEAK:
		return g->peak_bytes;
	case EXPORT_ALLOCATIONS:
		return g->n_allocs;
	case EXPORT_TEMPORARY:
		return g->n_temporary;
	default:
		return g->n_bytes;
	}
}

static int bad_value(const char *name, const char *value, struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(parameters); i++) {
		if (strcmp(parameters[i].name, name) == 0 && parameters[i].choices)
			return err_set(err, ERR_USAGE, "%s: '%s' is not one of %s", name, value,
				       parameters[i].choices);
	}
	return err_set(err, ERR_USAGE, "%s: '%s' is not a percentage from 0 to 100, such as 0.05%%",
		       name, value);
}

static int set_share(double *ret, const char *name, const char *value, struct err *err)
{
	char *end;
	double percent = strtod(value, &end);

	if (end != value && *end == '%')
		end++;
	if (end == value || *end || !(percent >= 0 && percent <= 100))
		return bad_value(name, value, err);
	*ret = percent / 100;
	return 1;
}

int export_set(struct export_options *o, const char *name, const char *value, struct err *err)
{
	if (strcmp(name, "cost") == 0) {
		for (unsigned c = 0; c < EXPORT_N_COSTS; c++) {
			if (strcmp(costs[c].name, value) == 0) {
				o->cost = c;
				return 1;
			}
		}
		return bad_value(name, value, err);
	}
	if (strcmp(name, "inverted") == 0) {
		bool yes = strcmp(value, "true") == 0 || strcmp(value, "1") == 0;

		if (!yes && strcmp(value, "false") != 0 && strcmp(value, "0") != 0)
			return bad_value(name, value, err);
		o->is_inverted = yes;
		return 1;
	}
	if (strcmp(name, "min_share") == 0) {
		int r = set_share(&o->min_share, name, value, err);

		o->is_whole = r == 1 && o->min_share <= 0;
		return r;
	}
	return 0;
}

int export_check(FILE *out, struct err *err)
{
	if (!ferror(out))
		return 0;
	return err_set_errno(err, errno ? errno : EIO, "cannot write the output");
}

int export_write(const struct export_format *f, struct query *q, const struct export_options *o,
		 FILE *out, struct err *err)
{
	int r;

	errno = 0;
	r = f->write(q, o, out, err);
	if (r < 0)
		return r;
	errno = 0;
	fflush(out);
	return export_check(out, err);
}
