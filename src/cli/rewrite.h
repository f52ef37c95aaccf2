/* cli/rewrite.h - what the commands share that make one recording from another. */
#ifndef CLI_REWRITE_H
#define CLI_REWRITE_H

#include "recording/recording.h"

#define REWRITE_OPTIONS(output_flag, output_text, quiet_flag)                                      \
	{.letter = 'o',                                                                            \
	 .name = "output",                                                                         \
	 .value = output_text,                                                                     \
	 .help = "where the result goes (must be given)",                                          \
	 .text = output_flag},                                                                     \
	{                                                                                          \
		.letter = 'q', .name = "quiet", .help = "no progress, no summary",                 \
		.flag = quiet_flag                                                                 \
	}

struct args_command;

/* Parses the arguments: one operand, and -o must be among the options. -1: go on with
 * argv[1] as the input; otherwise the exit status to end with. */
int rewrite_parse(const struct args_command *c, int argc, char **argv, const char *const *output,
		  const bool *is_quiet);

struct rewrite {
	struct recording *rec;
	struct progress progress;
	const char *in_path;
	bool is_quiet;
};

/* Opens the input and shows progress while its events are read n_passes times. verb: "stripping". */
int rewrite_begin(struct rewrite *w, const char *in_path, const char *verb, unsigned n_passes,
		  struct err *err);

/* Ends the progress, says what was damaged and closes the input. r and err are the result of the
 * work; gives the exit status, after complaining when r is less than 0. */
int rewrite_end(struct rewrite *w, int r, struct err *err);

/* The folder of a path, in buf. */
const char *rewrite_folder(const char *path, char *buf, size_t capacity);

#endif
