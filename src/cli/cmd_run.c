/* cli/cmd_run.c - `memory-profiler-cli run`: starts a program with the recorder loaded into it. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/units.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/recorder_lib.h"
#include "cli/run_child.h"
#include "cli/run_files.h"
#include "cli/run_output.h"
#include "cli/target.h"
#include "cli/wrapper.h"
#include "format/default_output.h"
#include "ingest/overview.h"
#include "recording/pieces.h"
#include "util/human.h"

#define CHILDREN_VARIABLE "MEMORY_PROFILER_TRACK_CHILD_PROCESSES"
#define LOG_VARIABLE "MEMORY_PROFILER_LOG"
#define MAX_LISTED 10 /* recordings */
#define MAX_AROUND 4 /* of a program that was followed through a script: more are only counted */
#define MAX_LOOKED_INTO_BYTES (64 * MIB) /* of a recording whose events are counted */

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
 * recorder below if they are wanted. True if the process ended by exec. */
static bool print_rest(const struct run_file *f, bool has_notes)
{
	char count[HUMAN_BYTES], size[HUMAN_BYTES];
	struct recording *r = NULL;
	struct overview o = {0};
	bool is_exec = false;

	if (f->file_bytes <= MAX_LOOKED_INTO_BYTES && recording_open(f->path, &r, NULL) == 0 &&
	    overview_make(r, &o, NULL) == 0) {
		uint64_t n = o.totals.allocations + o.totals.reallocations;

		fprintf(stderr, ", %s allocation%s, peak %s", human_count(n, count),
			n == 1 ? "" : "s", human_size(o.totals.peak_bytes, size));
		if (o.lost_events || o.lost_blocks)
			fputs(", NOT COMPLETE: events were lost", stderr);
		is_exec = o.totals.end_how == END_BY_EXEC;
	}
	fputs(")\n", stderr);
	for (size_t i = 0; has_notes && i < o.n_notes; i++) {
		fputs("    ", stderr);
		human_print_text(stderr, o.note[i], strlen(o.note[i]));
		putc('\n', stderr);
	}
	overview_fini(&o);
	recording_close(r);
	return is_exec;
}

/* Prints a line per recording, beginning with the number first. Notes are printed for that one only if
 * the others just surround it. Returns the process that went on as another program (exec) without
 * being recorded, or 0. */
static uint32_t print_files(const struct run_files *f, size_t first, bool has_surroundings)
{
	size_t max = has_surroundings && f->n_ours > MAX_AROUND ? 1 : MAX_LISTED;
	uint32_t exec_pid = 0;
	uint64_t rest_bytes = 0;
	char size[HUMAN_BYTES];

	for (size_t i = 0; i < f->n_ours; i++) {
		const struct run_file *file = &f->file[i == 0 ? first : i <= first ? i - 1 : i];
		const char *path = short_path(file->path);

		if (i >= max) {
			rest_bytes += file->file_bytes;
			continue;
		}

		fputs("  ", stderr);
		human_print_text(stderr, path, strlen(path));
		fprintf(stderr, " (%s, process %u", human_size(file->file_bytes, size), file->pid);
		if (print_rest(file, i == 0 || !has_surroundings))
			exec_pid = file->pid;
		else if (exec_pid == file->pid)
			exec_pid = 0; /* the other program has a recording of its own */
	}
	if (f->n_ours > max)
		fprintf(stderr, "  and %zu more of other processes (%s in all)\n", f->n_ours - max,
			human_size(rest_bytes, size));
	return exec_pid;
}

/* What a run is to do, and what it has found out. */
struct run {
	const char *output; /* -o; NULL: not given */
	const char *log;
	bool has_children, has_report, is_culled;
	struct target target;
	struct run_output to;
	struct run_child child;
	uint64_t since_ns;
};

static bool is_exec_of(const struct run_files *f, uint32_t pid)
{
	for (size_t i = 0, n = 0; i < f->n_ours; i++) {
		n += f->file[i].pid == pid;
		if (n > 1)
			return true;
	}
	return false;
}

/* The recording to look at: one file, or the pieces of a run in their order. */
struct answer {
	const char **path; /* owned; the texts belong to others */
	size_t n;
	char **beside; /* owned: texts of path */
	size_t n_beside;
};

static void answer_fini(struct answer *a)
{
	pieces_free(a->beside, a->n_beside);
	free(a->path);
}

/* Finds the pieces that belong to a recording. Without memory there is only the recording itself. */
static void answer_find(const char *path, struct answer *ret)
{
	*ret = (struct answer){.n = 1};
	pieces_beside(path, &ret->beside, &ret->n_beside, NULL);
	ret->path = calloc(1 + ret->n_beside, sizeof(*ret->path));
	if (!ret->path) {
		ret->n = 0;
		return;
	}
	ret->path[0] = path;
	for (size_t i = 0; i < ret->n_beside; i++)
		ret->path[ret->n++] = ret->beside[i];
	if (pieces_sort(ret->path, ret->n, NULL) < 0) {
		ret->path[0] = path;
		ret->n = 1;
	}
}

/* Prints which command to use next. */
static void print_next(const struct answer *a)
{
	fputs("Next: " PROGRAM " report", stderr);
	for (size_t i = 0; i < a->n; i++) {
		putc(' ', stderr);
		print_word(stderr, short_path(a->path[i]));
	}
	putc('\n', stderr);
}

/* Lists the recordings, the one to look at first in front, and gives that one the name that was asked
 * for, unless it has several pieces. */
static void report_files(struct run *run, struct run_files *f, struct answer *ret)
{
	size_t first = run_files_main(f, (uint32_t)run->child.pid, run->target.is_wrapper);
	struct run_file *file = &f->file[first];
	uint32_t exec_pid;

	answer_find(file->path, ret);
	if (ret->n == 1) {
		const char *path = run_output_name(&run->to, file->path);
		char *copy = path != file->path ? strdup(path) : NULL;

		if (copy) {
			free(file->path);
			ret->path[0] = file->path = copy;
		}
	}
	fputs(PROGRAM ": recorded:\n", stderr);
	exec_pid = print_files(f, first, run->target.is_wrapper);
	if (exec_pid && !is_exec_of(f, exec_pid))
		fprintf(stderr,
			run->has_children
				? "Process %u went on as another program (exec), which has no "
				  "recording: it could create no file (lines above say so), or the "
				  "recorder was not loaded into it.\n"
				: "Process %u went on as another program (exec), which was not "
				  "recorded; add --children to record that, too.\n",
			exec_pid);
	print_next(ret);
}

/* Prints the report of a recording where the messages of `run` go: stdout is the program's. */
static void print_report(const struct answer *a)
{
	char name[] = "report";
	char **argv = calloc(a->n + 2, sizeof(*argv));

	if (!argv)
		return;
	argv[0] = name;
	for (size_t i = 0; i < a->n; i++)
		argv[1 + i] = (char *)a->path[i]; /* args_parse() moves texts only */
	fflush(stdout);
	fputc('\n', stderr);
	if (dup2(STDERR_FILENO, STDOUT_FILENO) >= 0)
		cmd_report((int)a->n + 1, argv);
	fflush(stdout);
	free(argv);
}

/* Prints what was recorded and which command to use next. */
static void report(struct run *run)
{
	struct run_files files = {0};
	struct err err = {0};
	int status = run->child.status;

	if (WIFSIGNALED(status))
		args_complain("the program was ended by signal %d (%s)", WTERMSIG(status),
			      strsignal(WTERMSIG(status)));
	if (run_files_find(run->to.pattern, (uint32_t)run->child.pid, run->since_ns, &files, &err) <
	    0) {
		args_complain("the recordings are %s (not listed: %s)", run->to.pattern, err.text);
	} else if (files.n_ours == 0) {
		args_complain("no recording was written; run again with --log info to see why (a "
			      "program that never allocates leaves none)");
	} else {
		struct answer answer;

		report_files(run, &files, &answer);
		if (run->has_report)
			print_report(&answer);
		answer_fini(&answer);
	}
	run_files_fini(&files);
}

static uint64_t wall_clock_ns(void)
{
	struct timespec t = {0};

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* Puts a setting of the recorder into the environment. An option beats a variable, and says so. */
static int set_variable(const char *option, const char *name, const char *value, struct err *err)
{
	const char *old = getenv(name);

	if (old && strcmp(old, value) != 0)
		args_complain("run: %s is given, so %s=%s is ignored", option, name, old);
	return setenv(name, value, 1) < 0 ? err_set_memory(err, strlen(value)) : 0;
}

/* Puts the options into the environment, where the recorder reads them. Warnings of the recorder are
 * shown unless somebody has said what the log is to be. A wrapper is followed unless somebody has
 * said which processes are to be recorded. */
static int set_environment(struct run *run, struct err *err)
{
	const char *children = getenv(CHILDREN_VARIABLE);
	int r = 0;

	if (run->has_children)
		r = set_variable("--children", CHILDREN_VARIABLE, "1", err);
	else if (run->target.is_wrapper && !children)
		r = setenv(CHILDREN_VARIABLE, "1", 1) < 0 ? err_set_memory(err, 1) : 0;
	run->has_children = run->has_children || (run->target.is_wrapper && !children);
	if (r == 0 && run->log)
		r = set_variable("--log", LOG_VARIABLE, run->log, err);
	else if (r == 0 && !getenv(LOG_VARIABLE) && !getenv(LOG_VARIABLE "FILE"))
		r = setenv(LOG_VARIABLE, "warn", 1) < 0 ? err_set_memory(err, 1) : 0;
	if (r == 0 && run->is_culled)
		r = set_variable("--cull", "MEMORY_PROFILER_CULL_TEMPORARY_ALLOCATIONS", "1", err);
	if (r == 0 && run->output && getenv(RUN_OUTPUT_VARIABLE) &&
	    strcmp(getenv(RUN_OUTPUT_VARIABLE), run->output) != 0)
		args_complain("run: -o is given, so " RUN_OUTPUT_VARIABLE "=%s is ignored",
			      getenv(RUN_OUTPUT_VARIABLE));
	return r;
}

/* Checks what a command that clears the environment starts, and makes it pass our variables on. */
static int prepare_cleared(struct run *run, char ***argv, struct err *err)
{
	size_t program = wrapper_find_program(*argv);
	struct target target;
	char user[24];
	int r;

	if (!program)
		return err_set(err, ERR_REFUSED, "%s starts no program here; name one", **argv);
	r = target_check((*argv)[program], &target, err);
	run->target.exit_status = target.exit_status;
	if (r < 0)
		return r;
	snprintf(user, sizeof(user), "%u", getuid());
	if (geteuid() != 0 && setenv("MEMORY_PROFILER_CHOWN_OUTPUT_TO", user, 0) < 0)
		return err_set_memory(err, sizeof(user));
	return wrapper_add_environment(*argv, program, argv, err);
}

static void announce(const struct run *run)
{
	const char *to = run->to.name[0] ? run->to.name : run->to.pattern;

	args_complain("recording to %s%s", short_path(to),
		      run->target.is_wrapper && run->has_children
			      ? "; the programs that it starts get recordings of their own"
			      : "");
}

static int run_program(struct run *run, char **argv)
{
	struct err err = {0};
	char **given = argv;
	int r = target_check(argv[0], &run->target, &err);

	if (r == 0)
		r = recorder_lib_preload(&err);
	if (r == 0)
		r = set_environment(run, &err);
	if (r == 0)
		r = run_output_set(run->output, run->has_children, &run->to, &err);
	if (r == 0 && wrapper_clears_environment(argv[0]))
		r = prepare_cleared(run, &argv, &err);
	run->since_ns = wall_clock_ns();
	if (r == 0) {
		announce(run);
		r = run_child(argv, &run->child, &err);
	}
	if (r < 0)
		args_complain("run: %s", err.text);
	if (argv != given)
		free(argv);
	return r < 0 ? run->target.exit_status : -1;
}

static int run(struct run *run, char **argv)
{
	int status = run_program(run, argv);
	int error = run->child.exec_errno;

	if (status >= 0)
		return status;
	if (error) {
		args_complain("run: %s: %s", argv[0], strerror(error));
		return error == ENOENT ? TARGET_NOT_FOUND : TARGET_NOT_EXECUTABLE;
	}
	report(run);
	run_child_end_like(&run->child);
}

int cmd_run(int argc, char **argv)
{
	struct run what = {.target = {.exit_status = CLI_FAILED}};
	const struct args_option option[] = {
		{.letter = 'o',
		 .name = "output",
		 .value = "FILE",
		 .help = "name of the recording; may contain %p %t %e %n %%",
		 .text = &what.output},
		{.letter = 'r',
		 .name = "report",
		 .help = "print the report at the end (on stderr)",
		 .flag = &what.has_report},
		{.name = "children",
		 .help = "record the processes that COMMAND starts, too",
		 .flag = &what.has_children},
		{.name = "cull",
		 .help = "leave out allocations that are freed soon",
		 .flag = &what.is_culled},
		{.name = "log",
		 .value = "LEVEL",
		 .help = "messages of the recorder: error, warn, info, debug, trace",
		 .text = &what.log},
	};
	const struct args_command command = {
		.name = "run",
		.operands = "[--] COMMAND [ARGUMENT]...",
		.help = "Starts COMMAND with the recorder loaded into it and lists the recordings "
			"at the end.\n"
			"Signals and the exit status of COMMAND are passed on. If COMMAND is a "
			"shell, a script\n"
			"of one, or a command such as env, nice or sudo, the programs that it "
			"starts are\n"
			"recorded, too. The default name of the recording is\n" DEFAULT_OUTPUT
			" in the current directory\n"
			"(%e executable, %t seconds since 1970, %p process id, %n counter, %% "
			"percent sign).\n"
			"memory-profiler(7) and docs/ENVIRONMENT.md list the variables "
			"that control\n"
			"the recorder.\n",
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
	return run(&what, argv + first);
}
