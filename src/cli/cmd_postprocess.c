/* cli/cmd_postprocess.c - `memory-profiler-cli postprocess`: puts function names into a recording in
 * place of the binaries.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cli/args.h"
#include "cli/cli.h"
#include "cli/rewrite.h"
#include "rewrite/postprocess.h"
#include "util/human.h"

/* False if text is not a level; NULL leaves *ret as it is. */
static bool parse_level(const char *text, enum anonymize_level *ret)
{
	static const char *const name[] = {
		[ANONYMIZE_NONE] = "none",
		[ANONYMIZE_PARTIAL] = "partial",
		[ANONYMIZE_FULL] = "full",
	};

	for (size_t i = 0; i < ARRAY_LEN(name); i++) {
		if (text && strcmp(text, name[i]) == 0) {
			*ret = (enum anonymize_level)i;
			return true;
		}
	}
	return text == NULL;
}

static void print_summary(const struct postprocess_result *result, uint64_t in_bytes)
{
	char a[HUMAN_BYTES], b[HUMAN_BYTES];

	printf("%s of %s places in the code have names", human_count(result->n_named, a),
	       human_count(result->n_locations, b));
	printf("; %s became %s\n", human_size(in_bytes, a), human_size(result->out_bytes, b));
}

static int postprocess(const char *in_path, const char *out_path,
		       struct postprocess_options *options, bool is_quiet)
{
	struct postprocess_result result = {0};
	char folder[PATH_MAX];
	struct rewrite w = {0};
	struct err err = {0};
	uint64_t in_bytes = 0;
	int r = rewrite_begin(&w, in_path, "postprocessing", 2, &err);
	int status;

	options->scratch_folder = rewrite_folder(out_path, folder, sizeof(folder));
	if (r == 0) {
		in_bytes = w.rec->file_bytes;
		r = postprocess_run(w.rec, in_path, options, out_path, &result, &err);
	}
	status = rewrite_end(&w, r, &err);
	if (status == CLI_OK && !is_quiet)
		print_summary(&result, in_bytes);
	return status;
}

int cmd_postprocess(int argc, char **argv)
{
	const char *output = NULL, *anonymize = NULL;
	struct args_list debug = {.n = 0};
	bool is_quiet = false;
	struct postprocess_options options = {0};
	const struct args_option option[] = {
		REWRITE_OPTIONS(&output, "FILE", &is_quiet),
		{.letter = 'd',
		 .name = "debug-symbols",
		 .value = "PATH",
		 .help = "file or folder with debug information; may be repeated",
		 .list = &debug},
		{.letter = 'a',
		 .name = "anonymize",
		 .value = "LEVEL",
		 .help = "none (default); partial: no paths, arguments, environment, host; full: "
			 "no names either",
		 .text = &anonymize},
		{.name = "debuginfod",
		 .help = "ask the servers in $DEBUGINFOD_URLS for symbols",
		 .flag = &options.use_debuginfod},
		{.name = "only-recording",
		 .help = "use no files of this machine except those given by -d",
		 .flag = &options.use_only_recording},
	};
	const struct args_command command = {
		.name = "postprocess",
		.operands = "-o FILE RECORDING",
		.help = "Looks up the function names of all call stacks and writes a recording "
			"that "
			"carries\n"
			"them instead of the binaries. It is small and can be read on any "
			"machine.\n",
		.option = option,
		.n_options = ARRAY_LEN(option),
		.min_operands = 1,
	};
	int status = rewrite_parse(&command, argc, argv, &output, &is_quiet);

	if (status >= 0)
		return status;
	if (!parse_level(anonymize, &options.level)) {
		args_complain("postprocess: '--anonymize %s': write none, partial or full",
			      anonymize);
		return CLI_USAGE;
	}
	options.debug_path = debug.item;
	options.n_debug_paths = debug.n;
	return postprocess(argv[1], output, &options, is_quiet);
}
