/* cli/args.h - the command line of one command, read by a table of its options.
 *
 * The table also makes the text of --help. Long options are `--name VALUE` or `--name=VALUE`; letters
 * may be combined (-qf) and may carry their value (-oFILE). `--` ends the options.
 * Threads: the main thread only.
 */
#ifndef CLI_ARGS_H
#define CLI_ARGS_H

#include "util/err.h"

#define PROGRAM "memory-profiler-cli"

/* Exit status of every command, except `run`, which passes on the status of its program. */
enum cli_exit {
	CLI_OK = 0,
	CLI_FAILED = 1,
	CLI_USAGE = 2,
};

/* The values of an option that may be repeated. */
#define ARGS_LIST_MAX 64
struct args_list {
	const char *item[ARGS_LIST_MAX]; /* borrowed from argv */
	size_t n;
};

/* Options that a table elsewhere defines, such as the parameters of a filter. */
struct args_more {
	/* Sets an option. name has no dashes. value is the text after '=', or else the next argument,
	 * or NULL if there is none.
	 * Returns 1 if the option was set, 0 if there is no such option, -ERR_x if the value is bad. */
	int (*set)(void *user, const char *name, const char *value, struct err *err);
	void (*print_help)(void); /* prints lines for the end of --help */
	void *user;
};

/* One option: a flag if value is NULL, else an option with a value, which goes to text or list. */
struct args_option {
	char letter; /* 0: none */
	const char *name; /* without the dashes */
	const char *value; /* how --help calls the value; NULL for a flag */
	const char *help;
	bool *flag; /* becomes true */
	const char **text; /* becomes the value, borrowed from argv */
	struct args_list *list; /* the value is appended */
};

struct args_command {
	const char *name;
	const char *operands; /* for the usage line */
	const char *help; /* wrapped paragraphs that end with a newline */
	const struct args_option *option;
	size_t n_options;
	const struct args_more *more; /* may be NULL */
	bool stops_at_operand; /* arguments after the first operand are operands, too */
	size_t min_operands;
};

/* Reads argv[1] to argv[argc - 1] and reorders argv.
 * Returns -1 on success; the operands are then argv[*first] to argv[*end - 1].
 * Returns the exit status for the command if there is nothing more to do: CLI_OK after printing
 * --help, CLI_USAGE after printing what is wrong. */
int args_parse(const struct args_command *c, int argc, char **argv, int *first, int *end);

/* Prints "memory-profiler-cli: " and the text as one line on stderr. Control characters in the text
 * are escaped. */
void args_complain(const char *fmt, ...) PRINTF_LIKE(1, 2);

#endif
