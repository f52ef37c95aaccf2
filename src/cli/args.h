/* cli/args.h - command-line options, driven by a table per command (which also makes --help). */
#ifndef CLI_ARGS_H
#define CLI_ARGS_H

#include "util/err.h"

#define PROGRAM "memory-profiler-cli"

/* Exit status of every command, except where it passes on another program's. */
enum cli_exit {
	CLI_OK = 0,
	CLI_FAILED = 1,
	CLI_USAGE = 2,
};

/* The values of an option that may be given more than once. */
#define ARGS_LIST_MAX 64
struct args_list {
	const char *item[ARGS_LIST_MAX]; /* borrowed from argv */
	size_t n;
};

/* Options that a table elsewhere knows, such as the parameters of a filter. */
struct args_more {
	/* name: without the dashes. value: what follows it, behind '=' or as the next argument; NULL
	 * when nothing does. 1: taken. 0: no such option. Less: the value is not valid. */
	int (*set)(void *user, const char *name, const char *value, struct err *err);
	void (*print_help)(void); /* lines for the end of --help */
	void *user;
};

struct args_option {
	char letter; /* 0: none */
	const char *name; /* without the dashes */
	const char *value; /* what to call the value in --help; NULL: a flag */
	const char *help;
	bool *flag; /* set to true; for flags */
	const char **text; /* set to the value, borrowed from argv; for the others ... */
	struct args_list *list; /* ... or added to it */
};

struct args_command {
	const char *name;
	const char *operands; /* for the usage line */
	const char *help; /* paragraphs, ready wrapped, ending with a newline */
	const struct args_option *option;
	size_t n_options;
	const struct args_more *more; /* may be NULL */
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
