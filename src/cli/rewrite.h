/* cli/rewrite.h - what the commands share that read one recording and write a file or a folder. */
#ifndef CLI_REWRITE_H
#define CLI_REWRITE_H

#include "recording/recording.h"

/* The options of all these commands, for a table of args_option. */
#define REWRITE_OPTIONS(output_flag, output_text, quiet_flag)                                      \
	{.letter = 'o',                                                                            \
	 .name = "output",                                                                         \
	 .value = output_text,                                                                     \
	 .help = "the output (required)",                                                          \
	 .text = output_flag},                                                                     \
	{                                                                                          \
		.letter = 'q', .name = "quiet", .help = "show no progress and no summary",         \
		.flag = quiet_flag                                                                 \
	}

struct args_command;

/* Parses the arguments: exactly one operand, and *output must be set afterwards. Switches progress
 * off if *is_quiet. Returns -1 on success, with the input in argv[1]; otherwise the exit status for
 * the command. */
int rewrite_parse(const struct args_command *c, int argc, char **argv, const char *const *output,
		  const bool *is_quiet);

/* The same for a command that takes several pieces of one recording: *n of them, from argv[1] on. */
int rewrite_parse_pieces(const struct args_command *c, int argc, char **argv,
			 const char *const *output, const bool *is_quiet, size_t *n);

struct rewrite {
	struct recording *rec;
	struct progress progress;
	const char *in_path;
};

/* Opens the input. Shows progress under the verb ("stripping") while its events are read n_passes
 * times. Returns 0 or -ERR_x; call rewrite_end() in both cases. */
int rewrite_begin(struct rewrite *w, const char *in_path, const char *verb, unsigned n_passes,
		  struct err *err);
int rewrite_begin_pieces(struct rewrite *w, const char *const *in_path, size_t n_paths,
			 const char *verb, unsigned n_passes, struct err *err);

/* Ends the progress, reports damage of the input and closes it. r and err are the result of the
 * work; an error is printed. Returns the exit status. */
int rewrite_end(struct rewrite *w, int r, struct err *err);

/* The folder of a path: in buf, or "." or "/". */
const char *rewrite_folder(const char *path, char *buf, size_t capacity);

#endif
