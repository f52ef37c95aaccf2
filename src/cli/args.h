/* cli/args.h - command-line options, driven by a table per command (which also makes --help). */
#ifndef CLI_ARGS_H
#define CLI_ARGS_H

#include "base/compiler.h"

#define PROGRAM "memory-profiler-cli"

/* Exit status of every command, except where it passes on another program's. */
enum cli_exit {
	CLI_OK = 0,
	CLI_FAILED = 1,
	CLI_USAGE = 2,
};

struct args_option {
	char letter; /* 0: none */
	const char *name; /* without the dashes */
	const char *value; /* what to call the value in --help; NULL: a flag */
	const char *help;
	bool *flag; /* set to true; for flags */
	const char **text; /* set to the value, borrowed from argv; for the others */
};

struct args_command {
	const char *name;
	const char *operands; /* for the usage line */
	const char *help; /* paragraphs, ready wrapped, ending with a newline */
	const struct args_option *option;
	size_t n_options;
	bool stops_at_operand; /* what follows the first operand is not ours */
	size_t min_operands;
};

/* Reads argv[1...]. On success the operands are argv[*first] to argv[*end - 1] (argv is
 * reordered), and the result is -1. Otherwise the result is the exit status to end with: help was
 * asked for and printed, or the usage was wrong and that was said. */
int args_parse(const struct args_command *c, int argc, char **argv, int *first, int *end);

/* "memory-profiler-cli: " and the text, as a line on stderr. */
void args_complain(const char *fmt, ...) PRINTF_LIKE(1, 2);

#endif
