/* cli/cmd_run.c - `memory-profiler-cli run`: starts a program with the recorder loaded into it. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/units.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/output_name.h"
#include "cli/recorder_lib.h"
#include "cli/run_child.h"
#include "cli/run_files.h"
#include "cli/target.h"
#include "format/default_output.h"
#include "ingest/overview.h"
#include "util/human.h"

#define OUTPUT_VARIABLE "MEMORY_PROFILER_OUTPUT"
#define PATTERN_BYTES (2 * PATH_MAX)
#define MAX_LISTED 10 /* recordings */
#define MAX_LOOKED_INTO_BYTES (64 * MIB) /* of a recording whose events are counted */

/* Refuses a folder that does not exist or is not writable, so that the program does not run without
 * a recording. A folder with placeholders is not checked. */
static int check_folder(const char *pattern, struct err *err)
{
	const char *slash = strrchr(pattern, '/');
	char dir[PATTERN_BYTES];
	struct stat st;

	snprintf(dir, sizeof(dir), "%.*s", (int)(slash - pattern), pattern);
	if (output_name_has_placeholder(dir))
		return 0;
	for (char *p = dir; (p = strstr(p, "%%")); p++)
		memmove(p, p + 1, strlen(p));
	if (access(dir[0] ? dir : "/", W_OK | X_OK) < 0)
		return err_set_errno(err, errno,
				     "recordings cannot be written to %s (-o or " OUTPUT_VARIABLE
				     ")",
				     dir[0] ? dir : "/");
	if (!output_name_has_placeholder(pattern) && stat(pattern, &st) == 0 && S_ISDIR(st.st_mode))
		return err_set(err, ERR_REFUSED, "%s is a directory; add a file name", pattern);
	return 0;
}

/* Makes the absolute pattern of the recordings' names and puts it into the environment for the
 * recorder. */
static int set_output(const char *wanted, char pattern[PATTERN_BYTES], struct err *err)
{
	char cwd[PATH_MAX], quoted[PATTERN_BYTES];
	int n;

	if (!wanted)
		wanted = getenv(OUTPUT_VARIABLE);
	if (!wanted)
		wanted = DEFAULT_OUTPUT;
	if (!*wanted)
		return err_set(err, ERR_REFUSED,
			       "the name of the recording is empty (-o or " OUTPUT_VARIABLE
			       "): nothing would be recorded; give a name");
	if (wanted[0] == '/') {
		n = snprintf(pattern, PATTERN_BYTES, "%s", wanted);
	} else {
		if (!getcwd(cwd, sizeof(cwd)))
			return err_set_errno(
				err, errno,
				"the current directory cannot be found; change to another one");
		if (!output_name_quote(cwd, quoted, sizeof(quoted)))
			return err_set(err, ERR_REFUSED,
				       "the name of the current directory is too long; use -o with "
				       "an absolute path");
		n = snprintf(pattern, PATTERN_BYTES, "%s/%s", strcmp(quoted, "/") ? quoted : "",
			     wanted);
	}
	if (n >= PATTERN_BYTES)
		return err_set(err, ERR_REFUSED,
			       "the name of the recording is too long (-o or " OUTPUT_VARIABLE
			       "); use a shorter one");
	if (setenv(OUTPUT_VARIABLE, pattern, 1) < 0)
		return err_set_memory(err, strlen(pattern));
	return check_folder(pattern, err);
}

/* The path relative to the current directory, if it is below it and does not begin with a dash. */
static const char *short_path(const char *path)
{
	char cwd[PATH_MAX];
	size_t len;

	if (!getcwd(cwd, sizeof(cwd)))
		return path;
	len = strlen(cwd);
	if (strncmp(path, cwd, len) == 0 && path[len] == '/' && path[len + 1] != '-')
		return path + len + 1;
	return path;
}

/* Prints text that a shell reads as one word. */
static void print_word(FILE *out, const char *word)
{
	bool is_plain = word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					  "0123456789_./+-=@,:%")] == 0;

	if (!is_plain)
		putc('\'', out);
	human_print_text(out, word, strlen(word));
	if (!is_plain)
		putc('\'', out);
}

/* Prints the rest of a recording's line: a few figures, unless the file is large, and the notes of the
 * recorder below. True if the process ended by exec. */
static bool print_rest(const struct run_file *f)
{
	char count[HUMAN_BYTES], size[HUMAN_BYTES];
	struct recording *r = NULL;
	struct overview o = {0};
	bool is_exec = false;

	if (f->file_bytes <= MAX_LOOKED_INTO_BYTES && recording_open(f->path, &r, NULL) == 0 &&
	    overview_make(r, &o, NULL) == 0) {
		fprintf(stderr, ", %s allocations, peak %s",
			human_count(o.totals.allocations, count),
			human_size(o.totals.peak_bytes, size));
		if (o.lost_events || o.lost_blocks)
			fputs(", NOT COMPLETE: events were lost", stderr);
		is_exec = o.totals.end_how == END_BY_EXEC;
	}
	fputs(")\n", stderr);
	for (size_t i = 0; i < o.n_notes; i++) {
		fputs("    ", stderr);
		human_print_text(stderr, o.note[i], strlen(o.note[i]));
		putc('\n', stderr);
	}
	overview_fini(&o);
	recording_close(r);
	return is_exec;
}

/* Prints a line per recording. Returns the process that went on as another program (exec) without
 * being recorded, or 0. */
static uint32_t print_files(const struct run_files *f)
{
	uint32_t exec_pid = 0;
	char size[HUMAN_BYTES];

	for (size_t i = 0; i < f->n_ours && i < MAX_LISTED; i++) {
		const struct run_file *file = &f->file[i];
		const char *path = short_path(file->path);

		fputs("  ", stderr);
		human_print_text(stderr, path, strlen(path));
		fprintf(stderr, " (%s, process %u", human_size(file->file_bytes, size), file->pid);
		if (print_rest(file))
			exec_pid = file->pid;
		else if (exec_pid == file->pid)
			exec_pid = 0; /* the other program has a recording of its own */
	}
	if (f->n_ours > MAX_LISTED)
		fprintf(stderr, "  and %zu more\n", f->n_ours - MAX_LISTED);
	return exec_pid;
}

static void report_files(const struct run_files *f)
{
	uint32_t exec_pid;

	fputs(PROGRAM ": recorded:\n", stderr);
	exec_pid = print_files(f);
	if (exec_pid)
		fprintf(stderr,
			"Process %u went on as another program (exec), which was not recorded; set "
			"MEMORY_PROFILER_TRACK_CHILD_PROCESSES=1 to record that, too.\n",
			exec_pid);
	fputs("Next: " PROGRAM " report ", stderr);
	print_word(stderr, short_path(f->file[0].path));
	putc('\n', stderr);
}

/* Prints what was recorded and which command to use next. */
static void report(const char *pattern, const struct run_child *child, uint64_t since_ns)
{
	struct run_files files = {0};
	struct err err = {0};

	if (WIFSIGNALED(child->status))
		args_complain("the program was ended by signal %d (%s)", WTERMSIG(child->status),
			      strsignal(WTERMSIG(child->status)));
	if (run_files_find(pattern, (uint32_t)child->pid, since_ns, &files, &err) < 0)
		args_complain("the recordings are %s (not listed: %s)", pattern, err.text);
	else if (files.n_ours == 0)
		args_complain(
			"no recording was written; run again with MEMORY_PROFILER_LOG=warn to see "
			"why (a program that never allocates leaves none)");
	else
		report_files(&files);
	run_files_fini(&files);
}

static uint64_t wall_clock_ns(void)
{
	struct timespec t = {0};

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static int run(char **argv, const char *output)
{
	char pattern[PATTERN_BYTES];
	struct run_child child = {0};
	struct err err = {0};
	int status = CLI_FAILED;
	uint64_t since_ns;
	int r = target_check(argv[0], &status, &err);

	if (r == 0)
		r = recorder_lib_preload(&err);
	if (r == 0)
		r = set_output(output, pattern, &err);
	since_ns = wall_clock_ns();
	if (r == 0)
		r = run_child(argv, &child, &err);
	if (r < 0) {
		args_complain("run: %s", err.text);
		return status;
	}
	if (child.exec_errno) {
		args_complain("run: %s: %s", argv[0], strerror(child.exec_errno));
		return child.exec_errno == ENOENT ? TARGET_NOT_FOUND : TARGET_NOT_EXECUTABLE;
	}
	report(pattern, &child, since_ns);
	run_child_end_like(&child);
}

int cmd_run(int argc, char **argv)
{
	const char *output = NULL;
	const struct args_option option[] = {
		{.letter = 'o',
		 .name = "output",
		 .value = "FILE",
		 .help = "name of the recording; may contain %p %t %e %n %%",
		 .text = &output},
	};
	const struct args_command command = {
		.name = "run",
		.operands = "[--] COMMAND [ARGUMENT]...",
		.help = "Starts COMMAND with the recorder loaded into it and lists the recordings "
			"at the end.\n"
			"Signals and the exit status of COMMAND are passed on. The default name of "
			"the\n"
			"recording is " DEFAULT_OUTPUT " in the current directory\n"
			"(%e executable, %t seconds since 1970, %p process id, %n counter, %% "
			"percent sign).\n"
			"docs/ENVIRONMENT.md lists the variables MEMORY_PROFILER_* that control "
			"the "
			"recorder.\n",
		.option = option,
		.n_options = ARRAY_LEN(option),
		.stops_at_operand = true,
		.min_operands = 1,
	};
	int first, end;
	int status = args_parse(&command, argc, argv, &first, &end);

	if (status >= 0)
		return status;
	argv[end] = NULL; /* end <= argc, and argv[argc] is NULL already */
	return run(argv + first, output);
}
