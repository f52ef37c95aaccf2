/* cli/cmd_repack.c - `memory-profiler-cli repack`: rewrites a recording without gaps and damage. */
#include <inttypes.h>
#include <stdio.h>

#include "cli/args.h"
#include "cli/cli.h"
#include "cli/rewrite.h"
#include "rewrite/recording_copy.h"
#include "util/human.h"

/* Says in the new recording what was damaged in the old one. */
static int write_damage_note(struct recording_writer *w, const struct recording *r, struct err *err)
{
	char text[160];

	if (r->damage.n_ranges == 0)
		return 0;
	snprintf(text, sizeof(text),
		 "repack left out %" PRIu64 " bytes at %" PRIu64 " places that were damaged",
		 r->damage.n_bytes, r->damage.n_ranges);
	return recording_writer_note(w, 2, text, err);
}

static int repack(struct recording *r, const char *out_path, bool is_uncompressed,
		  uint64_t *out_bytes, struct err *err)
{
	struct recording_copy_result result = {0};
	struct recording_writer *w = NULL;
	int n = recording_writer_create(out_path, r, is_uncompressed ? "repack plain" : "repack",
					!is_uncompressed, &w, err);

	if (n == 0)
		n = recording_copy_metadata(w, r, err);
	if (n == 0)
		n = recording_copy_events(w, r, &result, err);
	if (n == 0)
		n = write_damage_note(w, r, err);
	if (n < 0) {
		recording_writer_discard(w);
		return n;
	}
	return recording_writer_commit(w, r->n_missing_blocks + result.n_unreadable_blocks,
				       out_bytes, err);
}

int cmd_repack(int argc, char **argv)
{
	const char *output = NULL;
	bool is_uncompressed = false, is_quiet = false;
	const struct args_option option[] = {
		REWRITE_OPTIONS(&output, "FILE", &is_quiet),
		{.name = "disable-compression",
		 .help = "store everything uncompressed",
		 .flag = &is_uncompressed},
	};
	const struct args_command command = {
		.name = "repack",
		.operands = "-o FILE RECORDING...",
		.help = "Rewrites a recording: the same events in full blocks, without unused "
			"space "
			"and\n"
			"damaged data. An existing FILE is replaced when the new one is "
			"complete. The pieces of one run become one recording.\n",
		.option = option,
		.n_options = ARRAY_LEN(option),
		.min_operands = 1,
	};
	size_t n_paths = 0;
	int status = rewrite_parse_pieces(&command, argc, argv, &output, &is_quiet, &n_paths);
	char a[HUMAN_BYTES], b[HUMAN_BYTES];
	struct rewrite w = {0};
	uint64_t in_bytes = 0, out_bytes = 0;
	struct err err = {0};
	int r;

	if (status >= 0)
		return status;
	r = rewrite_begin_pieces(&w, (const char *const *)&argv[1], n_paths, "repacking", 1, &err);
	if (r == 0) {
		in_bytes = w.rec->file_bytes;
		r = repack(w.rec, output, is_uncompressed, &out_bytes, &err);
	}
	status = rewrite_end(&w, r, &err);
	if (status == CLI_OK && !is_quiet)
		printf("%s became %s\n", human_size(in_bytes, a), human_size(out_bytes, b));
	return status;
}
