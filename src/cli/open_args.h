/* cli/open_args.h - the options of commands that open a recording as a store (open/open.h). */
#ifndef CLI_OPEN_ARGS_H
#define CLI_OPEN_ARGS_H

#include "cli/args.h"
#include "open/open.h"

struct open_args {
	struct open_options options;
	struct args_list
		debug; /* values of --debug-symbols; must live as long as options is used */
};

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
	{                                                                                          \
		.name = "no-cache", .help = "read the recording again and keep nothing",           \
		.flag = &(a).options.no_cache                                                      \
	}

/* Puts the list of debug files into options; call it after args_parse(). */
void open_args_finish(struct open_args *a);

#endif
