/* cli/open_args.h - the options of commands that open a recording as a store (open/open.h). */
#ifndef CLI_OPEN_ARGS_H
#define CLI_OPEN_ARGS_H

#include "cli/args.h"
#include "open/open.h"

struct open_args {
	struct open_options options;
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

/* Puts the list of debug files into options, and sets the budget of memory; call it after
 * args_parse(). ERR_USAGE: --memory has no size. */
int open_args_finish(struct open_args *a, struct err *err);

/* Sets the budget (util/memory_budget.h) from the value of --memory; NULL: nothing. ERR_USAGE. */
int open_args_set_memory(const char *size, struct err *err);

#endif
