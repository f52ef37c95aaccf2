/* cli/main.c - the table of commands, the global options, the exit status. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
	{"run", cmd_run, "start a program and record its allocations"},
	{"report", cmd_report, "show where the memory went"},
	{"server", cmd_server, "serve recordings over HTTP: web GUI and REST API"},
	{"top", cmd_top, "show who holds memory and who allocates now"},
	{"script", cmd_script, "run a Lua script that asks questions"},
	{"gather", cmd_gather, "receive recordings over the network"},
	{"export", cmd_export, "convert a recording for other tools"},
	{"export-heaptrack", cmd_export_heaptrack, "short for 'export --format heaptrack'"},
	{"export-replay", cmd_export_replay, "short for 'export --format replay'"},
	{"info", cmd_info, "show what is in a recording"},
	{"dump", cmd_dump, "print the events of a recording as JSON lines"},
	{"cache", cmd_cache, "list or remove the stores of recordings"},
	{"postprocess", cmd_postprocess, "add function names to a recording, drop the binaries"},
	{"strip", cmd_strip, "drop short-lived allocations from a recording"},
	{"squeeze", cmd_squeeze, "keep only the allocations that were never freed"},
	{"repack", cmd_repack, "rewrite a recording without gaps and damage"},
	{"extract", cmd_extract, "write the files embedded in a recording to a folder"},
	{"analyze-size", cmd_analyze_size, "show what makes a recording large"},
};

static void print_help(FILE *out)
{
	fputs("Usage: " PROGRAM " COMMAND [ARGUMENT]...\n"
	      "\n"
	      "Records the allocations of programs and analyzes the recordings.\n"
	      "\n"
	      "Commands:\n",
	      out);
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		fprintf(out, "  %-16s %s\n", commands[i].name, commands[i].summary);
	fputs("\n"
	      "Options:\n"
	      "  -h, --help     show this help; after a command, the help of that command\n"
	      "  help COMMAND   show the manual of a command\n"
	      "  -V, --version  show the version\n"
	      "\n"
	      "Exit status: 0 success, 1 failure, 2 wrong usage; 'run' passes on the status of "
	      "the program.\n"
	      "\n"
	      "Example:\n"
	      "  " PROGRAM " run -o app.dat -- ./app --its-own options\n"
	      "  " PROGRAM " report app.dat\n",
	      out);
}

/* Flushes stdout. Output that cannot be written turns success into failure. */
static int flush_output(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	args_complain("cannot write the output: %s", strerror(errno));
	return status == CLI_OK ? CLI_FAILED : status;
}

/* Runs `man` on the page of a command, if the page is installed beside this program. Returns only if
 * there is no page or no `man`. */
static void show_manual(const char *name)
{
	static const char *const suffix[] = {"", ".gz"};
	char self[PATH_MAX], page[2 * PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n < 0)
		return;
	self[n] = 0;
	*strrchr(self, '/') = 0;
	if (strncmp(name, "export", 6) == 0)
		name = "export"; /* one page for all of its names */
	for (size_t i = 0; i < ARRAY_LEN(suffix); i++) {
		snprintf(page, sizeof(page), "%s/../share/man/man1/" PROGRAM "-%s.1%s", self, name,
			 suffix[i]);
		if (access(page, R_OK) == 0)
			execlp("man", "man", page, NULL);
	}
}

/* Shows the manual of a command, or its short help. */
static int help_on(const char *name)
{
	char help[] = "--help", command[] = "help";
	char *argv[] = {command, help, NULL};

	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		if (strcmp(name, commands[i].name) == 0) {
			show_manual(name);
			return flush_output(commands[i].run(2, argv));
		}
	}
	args_complain("help: unknown command '%s'; see '" PROGRAM " --help'", name);
	return CLI_USAGE;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;

	if (!name) {
		print_help(stderr);
		return CLI_USAGE;
	}
	if (strcmp(name, "help") == 0 && argc > 2)
		return help_on(argv[2]);
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
	args_complain("unknown %s '%s'; see '" PROGRAM " --help'",
		      name[0] == '-' ? "option" : "command", name);
	return CLI_USAGE;
}
