/* cli/open_args.h - the options of commands that open a recording as a store (open/open.h). */
#ifndef CLI_OPEN_ARGS_H
#define CLI_OPEN_ARGS_H

#include "cli/args.h"
#include "open/open.h"

struct open_args {
	struct open_options options;
	struct suppressions suppressions; /* of the next two */
	struct args_list suppression_files;
	bool no_built_in; /* suppressions */
	const char *memory; /* value of --memory; NULL: not given */
	struct args_list
		debug; /* values of --debug-symbols; must live as long as options is used */
};

/* The option --memory alone. text: a const char * for its value. */
#define MEMORY_ARG(memory)                                                                         \
	{                                                                                          \
		.name = "memory", .value = "SIZE",                                                 \
		.help = "memory to use at most (512M); what needs more uses temporary files",      \
		.text = &(memory)                                                                  \
	}

/* Entries of a table of args_option that set a, a struct open_args. */
#define OPEN_ARGS(a)                                                                               \
	{.letter = 'd',                                                                            \
	 .name = "debug-symbols",                                                                  \
	 .value = "PATH",                                                                          \
	 .help = "file or folder with debug information; may be repeated",                         \
	 .list = &(a).debug},                                                                      \
		{.name = "debuginfod",                                                             \
		 .help = "ask the servers in $DEBUGINFOD_URLS for symbols",                        \
		 .flag = &(a).options.use_debuginfod},                                             \
		MEMORY_ARG((a).memory),                                                            \
	{                                                                                          \
		.name = "no-cache", .help = "read the recording again and keep nothing",           \
		.flag = &(a).options.no_cache                                                      \
	}

/* The same for leaks that do not count. */
#define SUPPRESSION_ARGS(a)                                                                        \
	{.letter = 's',                                                                            \
	 .name = "suppressions",                                                                   \
	 .value = "FILE",                                                                          \
	 .help = "leaks not to count: lines leak:PATTERN, and the built-in rules; or the word "    \
		 "built-in for these alone; may be repeated",                                      \
	 .list = &(a).suppression_files},                                                          \
	{                                                                                          \
		.name = "no-built-in-suppressions",                                                \
		.help = "with --suppressions: without the built-in rules",                         \
		.flag = &(a).no_built_in                                                           \
	}

/* Puts the lists of debug files and of suppressions into options, and sets the budget of memory; call
 * it after args_parse(). ERR_USAGE: --memory has no size, or a file of suppressions is not right. */
int open_args_finish(struct open_args *a, struct err *err);
void open_args_fini(struct open_args *a); /* after the last recording is closed */

/* Sets the budget (util/memory_budget.h) from the value of --memory; NULL: nothing. ERR_USAGE. */
int open_args_set_memory(const char *size, struct err *err);

#endif
