/* cli/cmd_strip.c - `memory-profiler-cli strip` and `squeeze`: drop short-lived allocations. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/units.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/rewrite.h"
#include "rewrite/strip.h"
#include "util/human.h"

static void print_summary(const struct strip_result *result, uint64_t in_bytes)
{
	const struct dropped_summary *d = &result->dropped;
	char a[HUMAN_BYTES], b[HUMAN_BYTES];

	printf("%s allocations of %s in all were left out", human_count(d->n_allocations, a),
	       human_size(d->n_bytes, b));
	printf("; %s became %s\n", human_size(in_bytes, a), human_size(result->out_bytes, b));
}

static int strip(const char *in_path, const char *out_path, struct strip_rule *rule, bool is_quiet)
{
	char folder[PATH_MAX];
	struct strip_result result = {0};
	struct rewrite w = {0};
	struct err err = {0};
	uint64_t in_bytes = 0;
	int r = rewrite_begin(&w, in_path, "stripping", 2, &err);
	int status;

	if (!rule->scratch_folder)
		rule->scratch_folder = rewrite_folder(out_path, folder, sizeof(folder));
	if (r == 0) {
		in_bytes = w.rec->file_bytes;
		r = strip_run(w.rec, rule, out_path, &result, &err);
	}
	status = rewrite_end(&w, r, &err);
	if (result.n_unknown_events)
		args_complain("%s: %" PRIu64
			      " events of kinds that this version does not know were left "
			      "out",
			      in_path, result.n_unknown_events);
	if (status == CLI_OK && !is_quiet)
		print_summary(&result, in_bytes);
	return status;
}

/* Reads a number of seconds from 0 to 1e9, with a fraction. */
static bool parse_seconds(const char *text, uint64_t *ret_ns)
{
	char *end;
	double seconds;

	errno = 0;
	seconds = strtod(text, &end);
	if (end == text || *end || errno || !isfinite(seconds) || seconds < 0 || seconds > 1e9)
		return false;
	*ret_ns = (uint64_t)(seconds * (double)NS_PER_S + 0.5);
	return true;
}

int cmd_strip(int argc, char **argv)
{
	const char *output = NULL, *threshold = NULL;
	bool is_quiet = false;
	const struct args_option option[] = {
		REWRITE_OPTIONS(&output, "FILE", &is_quiet),
		{.letter = 't',
		 .name = "threshold",
		 .value = "SECONDS",
		 .help = "drop what lived less than this; default: all that was freed",
		 .text = &threshold},
	};
	const struct args_command command = {
		.name = "strip",
		.operands = "-o FILE RECORDING",
		.help = "Writes a smaller recording without the allocations that lived less than "
			"SECONDS. A\n"
			"block and the blocks that realloc() made of it live as one. The dropped\n"
			"allocations are kept as sums per call stack.\n",
		.option = option,
		.n_options = ARRAY_LEN(option),
		.min_operands = 1,
	};
	struct strip_rule rule = {0};
	int status = rewrite_parse(&command, argc, argv, &output, &is_quiet);

	if (status >= 0)
		return status;
	rule.has_threshold = threshold != NULL;
	if (threshold && !parse_seconds(threshold, &rule.threshold_ns)) {
		args_complain("strip: '--threshold %s': write a number of seconds, such as 0.5",
			      threshold);
		return CLI_USAGE;
	}
	return strip(argv[1], output, &rule, is_quiet);
}

int cmd_squeeze(int argc, char **argv)
{
	const char *output = NULL, *tmpfile_path = NULL;
	bool is_quiet = false;
	const struct args_option option[] = {
		REWRITE_OPTIONS(&output, "FILE", &is_quiet),
		{.name = "tmpfile",
		 .value = "FILE",
		 .help = "put large scratch data into the folder of this file",
		 .text = &tmpfile_path},
	};
	const struct args_command command = {
		.name = "squeeze",
		.operands = "-o FILE RECORDING",
		.help = "Writes a recording with only the allocations that were never freed. The "
			"same as\n"
			"'strip' without a threshold.\n",
		.option = option,
		.n_options = ARRAY_LEN(option),
		.min_operands = 1,
	};
	struct strip_rule rule = {0};
	char folder[PATH_MAX];
	int status = rewrite_parse(&command, argc, argv, &output, &is_quiet);

	if (status >= 0)
		return status;
	if (tmpfile_path)
		rule.scratch_folder = rewrite_folder(tmpfile_path, folder, sizeof(folder));
	return strip(argv[1], output, &rule, is_quiet);
}
