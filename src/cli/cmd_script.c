/* cli/cmd_script.c - `memory-profiler-cli script`: runs a Lua script that asks questions about recordings.
 *
 * The script may come from a file, the standard input, the command line, or line by line from a terminal.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "base/units.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/export_file.h"
#include "cli/open_args.h"
#include "query/filter_value.h"
#include "query/shared_results.h"
#include "script/script.h"
#include "serve/offline.h"
#include "util/file.h"

#define MAX_MEMORY_BYTES ((size_t)1 << 30) /* of a script */
#define MAX_CODE_BYTES ((size_t)16 << 20)
#define SHARED_BYTES ((size_t)64 << 20) /* results that the questions of a script share */

/* A recording that the script asks. */
struct opened {
	struct open_recording recording;
	struct query_context context;
	const char *name;
	struct opened *next;
};

struct script_command {
	struct args_list data;
	struct open_args open;
	const char *code; /* -e */
	const char *timeout;
	uint64_t max_ns;
	struct opened *opened;
	struct export_file *file; /* that the script writes now; NULL: none */
};

static atomic_bool was_interrupted;

static void on_interrupt(int signal_number)
{
	(void)signal_number;
	atomic_store(&was_interrupted, true);
}

/* ---- what scripts do outside of themselves ---- */

static void print_text(void *user, const char *text, size_t len)
{
	(void)user;
	fwrite(text, 1, len, stdout);
}

static int create_file(void *user, const char *path, FILE **ret, struct err *err)
{
	/* for export_file_open(): never compressed a second time */
	static const struct export_format any = {.name = "file", .flags = EXPORT_COMPRESSED};
	struct script_command *c = user;
	int r = export_file_open(path, &any, &c->file, err);

	if (r < 0)
		return r;
	*ret = export_file_stream(c->file);
	return 0;
}

static int close_file(void *user, FILE *file, bool is_whole, struct err *err)
{
	struct script_command *c = user;

	(void)file;
	return export_file_close(c->file, is_whole ? 0 : -ERR_IO, err);
}

static int ask(void *user, const char *question, const atomic_bool *cancel, FILE *out,
	       struct err *err)
{
	const struct opened *o = user;
	struct query_context context = o->context;
	struct offline offline = {.context = &context, .file_name = o->name};

	context.cancel = cancel;
	return offline_answer(&offline, question, out, err);
}

static int open_data(void *user, const char *path, struct script_data *ret, struct err *err)
{
	struct script_command *c = user;
	struct opened *o = calloc(1, sizeof(*o));
	int r;

	if (!o)
		return err_set_memory(err, sizeof(*o));
	r = open_recording_open(path, &c->open.options, &o->recording, err);
	if (r < 0) {
		free(o);
		return r;
	}
	for (size_t i = 0; i < o->recording.n_notes; i++)
		args_complain("note: %s", o->recording.note[i]);
	o->context = (struct query_context){
		.store = o->recording.store,
		.frames = o->recording.frames,
		.shared = shared_results_create(o->recording.store, SHARED_BYTES),
	};
	o->name = text_basename(path);
	o->next = c->opened;
	c->opened = o;
	*ret = (struct script_data){
		.context = o->context, .name = o->name, .ask = ask, .ask_user = o};
	return 0;
}

static void close_all(struct script_command *c)
{
	while (c->opened) {
		struct opened *o = c->opened;

		c->opened = o->next;
		shared_results_destroy(o->context.shared);
		open_recording_close(&o->recording);
		free(o);
	}
}

/* ---- where the script comes from ---- */

/* NULL: the standard input. */
static int read_code(const char *path, char **ret, size_t *len, struct err *err)
{
	FILE *f = path ? fopen(path, "re") : stdin;
	char *text = malloc(MAX_CODE_BYTES + 1);
	int r = 0;

	if (!f)
		r = err_set_errno(err, errno, "'%s' cannot be opened", path);
	else if (!text)
		r = err_set_memory(err, MAX_CODE_BYTES);
	else
		*len = fread(text, 1, MAX_CODE_BYTES + 1, f);
	if (r == 0 && ferror(f))
		r = err_set_errno(err, errno, "'%s' cannot be read", path ? path : "stdin");
	else if (r == 0 && *len > MAX_CODE_BYTES)
		r = err_set(err, ERR_LIMIT, "the script has more than 16 MiB");
	if (f && path)
		fclose(f);
	if (r == 0)
		*ret = text;
	else
		free(text);
	return r;
}

/* The exit status for a result; an error is shown. */
static int status_of(const struct script_result *r)
{
	if (r->status == SCRIPT_EXITED)
		return r->exit_status;
	if (r->status == SCRIPT_OK)
		return CLI_OK;
	fflush(stdout);
	args_complain("%s", r->message);
	return CLI_FAILED;
}

/* Reads and runs lines until the end or exit(). A line that is not complete takes the next ones. */
static int run_prompt(struct script *s)
{
	char *line = NULL, *text = NULL;
	size_t capacity = 0, len = 0;
	int status = CLI_OK;
	bool is_over = false;

	puts("Lua 5.4; allocations(), data and report are there; docs/SCRIPTING.md has the rest. "
	     "Ctrl D ends.");
	while (!is_over) {
		struct script_result r;
		ssize_t n;
		char *more;

		fputs(len ? ">> " : "> ", stdout);
		fflush(stdout);
		n = getline(&line, &capacity, stdin);
		if (n < 0)
			break;
		more = realloc(text, len + (size_t)n + 1);
		if (!more)
			break;
		text = more;
		memcpy(text + len, line, (size_t)n);
		len += (size_t)n;
		atomic_store(&was_interrupted, false);
		script_run_line(s, text, len, &r);
		if (r.status == SCRIPT_INCOMPLETE)
			continue;
		len = 0;
		is_over = r.status == SCRIPT_EXITED;
		status = status_of(&r);
	}
	free(line);
	free(text);
	if (!is_over)
		putchar('\n');
	return is_over ? status : CLI_OK;
}

static int run_file(struct script *s, const char *name, const char *code, size_t len)
{
	struct script_result r;

	script_run(s, name, code, len, &r);
	if (r.status == SCRIPT_INCOMPLETE)
		r.status = SCRIPT_FAILED;
	return status_of(&r);
}

/* ---- the command ---- */

static int run_script(struct script_command *c, char **argv, size_t n, int *status, struct err *err)
{
	const struct script_host host = {.user = c,
					 .print = print_text,
					 .create = create_file,
					 .close = close_file,
					 .open = open_data};
	struct script_data data[ARGS_LIST_MAX];
	bool has_file = !c->code && n > 0,
	     is_prompt = !c->code && !has_file && isatty(STDIN_FILENO);
	const char *name = has_file ? argv[0] : c->code ? "-e" : "stdin";
	bool is_stdin = !c->code && (!has_file || strcmp(name, "-") == 0);
	struct script_options o = {.host = &host,
				   .data = data,
				   .n_data = c->data.n,
				   .argument = (const char *const *)argv + has_file,
				   .n_arguments = n - has_file,
				   .max_memory_bytes = MAX_MEMORY_BYTES,
				   .max_ns = c->max_ns,
				   .cancel = is_prompt ? &was_interrupted : NULL,
				   .has_files = true};
	struct script *s = NULL;
	size_t len = c->code ? strlen(c->code) : 0;
	char *code = NULL;
	int r = 0;

	if (!c->code && !is_prompt)
		r = read_code(is_stdin ? NULL : name, &code, &len, err);
	for (size_t i = 0; r == 0 && i < c->data.n; i++)
		r = open_data(c, c->data.item[i], &data[i], err);
	if (r == 0)
		r = script_create(&o, &s, err);
	if (r == 0 && is_prompt) {
		signal(SIGINT, on_interrupt);
		*status = run_prompt(s);
	} else if (r == 0) {
		*status = run_file(s, is_stdin ? "stdin" : name, c->code ? c->code : code, len);
	}
	script_destroy(s);
	free(code);
	return r;
}

int cmd_script(int argc, char **argv)
{
	struct script_command c = {0};
	const struct args_option option[] = {
		{.letter = 'd',
		 .name = "data",
		 .value = "FILE",
		 .help = "a recording that the script asks; may be repeated",
		 .list = &c.data},
		{.letter = 'e',
		 .name = "execute",
		 .value = "CODE",
		 .help = "run this code instead of a file",
		 .text = &c.code},
		{.name = "timeout",
		 .value = "TIME",
		 .help = "end the script after this time: 30s, 5m",
		 .text = &c.timeout},
		{.name = "debug-symbols",
		 .value = "PATH",
		 .help = "file or folder with debug information; may be repeated",
		 .list = &c.open.debug},
		{.name = "debuginfod",
		 .help = "ask the servers in $DEBUGINFOD_URLS for symbols",
		 .flag = &c.open.options.use_debuginfod},
		SUPPRESSION_ARGS(c.open),
		MEMORY_ARG(c.open.memory),
		{.name = "no-cache",
		 .help = "read the recording again and keep nothing",
		 .flag = &c.open.options.no_cache},
	};
	const struct args_command command = {
		.name = "script",
		.operands = "[FILE.lua|-] [ARGUMENT]...",
		.help = "Runs a Lua script that asks questions about recordings: which call sites "
			"grow, what\n"
			"leaks, as lists, tables and graphs. Without FILE, a terminal gets a "
			"prompt. The script\n"
			"sets the exit status, for checks in CI. docs/SCRIPTING.md is the manual "
			"of scripts.\n",
		.option = option,
		.n_options = ARRAY_LEN(option),
		.stops_at_operand = true,
	};
	struct err err = {0};
	int first, end, r = 0, status = args_parse(&command, argc, argv, &first, &end);

	if (status >= 0)
		return status;
	status = CLI_OK;
	if (c.timeout && !filter_value_interval(c.timeout, &c.max_ns))
		r = err_set(&err, ERR_USAGE, "'--timeout %s': write a time such as 30s or 5m",
			    c.timeout);
	if (r == 0)
		r = open_args_finish(&c.open, &err);
	if (r == 0)
		r = run_script(&c, argv + first, (size_t)(end - first), &status, &err);
	close_all(&c);
	open_args_fini(&c.open);
	if (r == 0)
		return status;
	args_complain("%s%s", r == -ERR_USAGE ? "script: " : "", err.text);
	return r == -ERR_USAGE ? CLI_USAGE : CLI_FAILED;
}
