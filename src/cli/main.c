/* cli/main.c - table of commands, global options, exit status. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/args.h"
#include "cli/cli.h"

#ifndef MEMORY_PROFILER_VERSION
#define MEMORY_PROFILER_VERSION "unknown"
#endif

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *summary;
} commands[] = {
	{"run", cmd_run, "start a program and record what it allocates"},
	{"report", cmd_report, "tell where the memory went"},
	{"server", cmd_server, "answer questions about recordings over HTTP"},
	{"export", cmd_export, "write what is in a recording for other tools"},
	{"export-heaptrack", cmd_export_heaptrack, "the same, for heaptrack"},
	{"export-replay", cmd_export_replay, "the same, as a list of operations"},
	{"info", cmd_info, "tell what is in a recording"},
	{"dump", cmd_dump, "print the events of a recording as JSON lines"},
	{"cache", cmd_cache, "list or remove what is kept of recordings"},
	{"postprocess", cmd_postprocess, "put the names of functions in, leave binaries out"},
	{"strip", cmd_strip, "leave out allocations that lived only for a short time"},
	{"squeeze", cmd_squeeze, "keep only the allocations that were never freed"},
	{"repack", cmd_repack, "write a recording anew, without gaps and damage"},
	{"extract", cmd_extract, "write the files that a recording carries to a folder"},
	{"analyze-size", cmd_analyze_size, "tell what makes a recording large"},
};

static void print_help(FILE *out)
{
	fputs("Usage: " PROGRAM " COMMAND [ARGUMENT]...\n"
	      "\n"
	      "Records what programs allocate, and tells what is in the recordings.\n"
	      "\n"
	      "Commands:\n",
	      out);
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		fprintf(out, "  %-16s %s\n", commands[i].name, commands[i].summary);
	fputs("\n"
	      "Options:\n"
	      "  -h, --help     show this text; after a command: help on it\n"
	      "  -V, --version  show the version\n"
	      "\n"
	      "Exit status: 0 all went well, 1 something failed, 2 wrong usage; 'run' passes on "
	      "that\n"
	      "of the program.\n"
	      "\n"
	      "Example:\n"
	      "  " PROGRAM " run -o app.dat -- ./app --its-own options\n"
	      "  " PROGRAM " report app.dat\n",
	      out);
}

/* What could not be written must not look like success. */
static int flush_output(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	args_complain("cannot write the output: %s", strerror(errno));
	return status == CLI_OK ? CLI_FAILED : status;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;

	if (!name) {
		print_help(stderr);
		return CLI_USAGE;
	}
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
		print_help(stdout);
		return flush_output(CLI_OK);
	}
	if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
		puts(PROGRAM " " MEMORY_PROFILER_VERSION);
		return flush_output(CLI_OK);
	}
	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		if (strcmp(name, commands[i].name) == 0)
			return flush_output(commands[i].run(argc - 1, argv + 1));
	}
	args_complain("there is no %s '%s'; see '" PROGRAM " --help'",
		      name[0] == '-' ? "option" : "command", name);
	return CLI_USAGE;
}
