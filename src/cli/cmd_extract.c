/* cli/cmd_extract.c - `memory-profiler-cli extract`: writes the embedded files to a folder. */
#include <inttypes.h>
#include <stdio.h>

#include "cli/args.h"
#include "cli/cli.h"
#include "cli/rewrite.h"
#include "rewrite/extract.h"
#include "util/human.h"

struct outcome {
	uint64_t n_files;
	uint64_t n_bytes;
	bool has_failed;
};

static void on_file(void *user, const struct extract_file *f)
{
	struct outcome *o = user;
	char a[HUMAN_BYTES];

	switch (f->outcome) {
	case EXTRACT_WRITTEN:
		o->n_files++;
		o->n_bytes += f->file->size_bytes;
		break;
	case EXTRACT_INCOMPLETE:
		args_complain("%s: not written: the recording holds only %" PRIu64
			      " of its %s bytes",
			      f->path ? f->path : "(no name)", f->file->covered_bytes,
			      human_count(f->file->size_bytes, a));
		break;
	case EXTRACT_EXISTS:
		args_complain("%s exists already; --force replaces it", f->path);
		o->has_failed = true;
		break;
	}
}

int cmd_extract(int argc, char **argv)
{
	const char *output = NULL;
	bool is_quiet = false, is_forced = false;
	const struct args_option option[] = {
		REWRITE_OPTIONS(&output, "DIR", &is_quiet),
		{.letter = 'f',
		 .name = "force",
		 .help = "replace existing files",
		 .flag = &is_forced},
	};
	const struct args_command command = {
		.name = "extract",
		.operands = "-o DIR RECORDING",
		.help = "Writes the files embedded in a recording (the program and its libraries) "
			"below DIR,\n"
			"each under its original path. Reports incomplete files.\n",
		.option = option,
		.n_options = ARRAY_LEN(option),
		.min_operands = 1,
	};
	int status = rewrite_parse(&command, argc, argv, &output, &is_quiet);
	struct outcome outcome = {0};
	struct extract_options options = {.on_file = on_file, .user = &outcome};
	char a[HUMAN_BYTES], b[HUMAN_BYTES];
	struct rewrite w = {0};
	struct err err = {0};
	int r;

	if (status >= 0)
		return status;
	options.folder = output;
	options.replaces = is_forced;
	r = rewrite_begin(&w, argv[1], "extracting from", 0, &err);
	if (r == 0)
		r = extract_run(w.rec, &options, &err);
	status = rewrite_end(&w, r, &err);
	if (status == CLI_OK && !is_quiet)
		printf("%s files of %s in all\n", human_count(outcome.n_files, a),
		       human_size(outcome.n_bytes, b));
	return outcome.has_failed ? CLI_FAILED : status;
}
