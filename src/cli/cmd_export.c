/* cli/cmd_export.c - `memory-profiler-cli export`, and the names that koute's memory-profiler has for
 * two of its formats: `export-heaptrack` and `export-replay`.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/export_file.h"
#include "cli/filter_args.h"
#include "cli/open_args.h"
#include "export/export.h"
#include "serve/offline.h"
#include "util/file.h"

struct export_command {
	const char *format;
	const char *output;
	struct open_args open;
	struct filter_args filter;
	struct export_options options;
	struct args_more more; /* the options of exports, then those of filters */
};

static int set_more(void *user, const char *name, const char *value, struct err *err)
{
	struct export_command *c = user;
	char parameter[64]; /* name with '_' for '-' */
	int r;

	snprintf(parameter, sizeof(parameter), "%s", name);
	for (char *p = parameter; *p; p++)
		*p = *p == '-' ? '_' : *p;
	if (strlen(name) < sizeof(parameter) && value) {
		r = export_set(&c->options, parameter, value, err);
		if (r != 0)
			return r;
	}
	return c->filter.more.set(c->filter.more.user, name, value, err);
}

static void print_filter_help(void)
{
	struct filter_args a;

	filter_args_init(&a);
	a.more.print_help();
	filter_args_fini(&a);
}

static void print_more_help(void)
{
	size_t n;
	const struct export_format *f = export_formats(&n);
	const struct filter_parameter *p;

	puts("\nFormats:");
	for (size_t i = 0; i < n; i++)
		printf("  %-16s %s\n", f[i].name, f[i].help);
	p = export_parameters(&n);
	puts("\nFor trees, flame graphs and collapsed stacks:");
	for (size_t i = 0; i < n; i++)
		printf("  --%s=%s\n  %-16s %s\n", p[i].name,
		       p[i].choices ? p[i].choices : p[i].type, "", p[i].help);
	print_filter_help();
}

static int find_format(const char *name, const struct export_format **ret, struct err *err)
{
	char list[400] = "";
	size_t n;
	const struct export_format *f = export_formats(&n);

	*ret = name ? export_find(name) : NULL;
	if (*ret)
		return 0;
	for (size_t i = 0; i < n; i++) {
		size_t at = strlen(list);

		snprintf(list + at, sizeof(list) - at, "%s%s", i ? ", " : "", f[i].name);
	}
	if (!name)
		return err_set(err, ERR_USAGE, "--format is missing; the formats are %s", list);
	return err_set(err, ERR_USAGE, "unknown format '%s'; the formats are %s", name, list);
}

static int write_file(struct export_command *c, const struct export_format *f, const char *path,
		      const struct query_context *context, struct err *err)
{
	struct url_pair pair[FILTER_ARGS_MAX];
	struct offline offline = {.context = context,
				  .file_name = text_basename(path),
				  .filter = pair,
				  .n_filter = c->filter.n};
	struct export_file *file = NULL;
	struct query *q = NULL;
	int r = query_create(context, &c->filter.filter, &q, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < c->filter.n; i++)
		pair[i] = (struct url_pair){c->filter.name[i], c->filter.value[i]};
	c->options.answer = offline_answer;
	c->options.answer_user = &offline;
	c->options.context = context;
	c->options.filter = &c->filter.filter;
	c->options.title = text_basename(path);
	r = export_file_open(c->output, f, &file, err);
	if (r == 0) {
		r = export_write(f, q, &c->options, export_file_stream(file), err);
		r = export_file_close(file, r, err);
	}
	query_destroy(q);
	return r;
}

static int export_recording(struct export_command *c, char **paths, size_t n_paths, struct err *err)
{
	const char *path = paths[0];
	const struct export_format *f;
	struct open_recording opened = {0};
	int r = find_format(c->format, &f, err);

	if (r == 0)
		r = export_file_check(c->output, f, err); /* before the recording is read */
	if (r == 0 && c->output && file_is_same(path, c->output))
		r = err_set(err, ERR_USAGE,
			    "the output is the recording itself; give another name after -o");
	if (r < 0)
		return r;
	r = open_args_finish(&c->open, err);
	if (r < 0)
		return r;
	c->open.options.piece = (const char *const *)paths + 1;
	c->open.options.n_pieces = n_paths - 1;
	r = open_recording_open(path, &c->open.options, &opened, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < opened.n_notes; i++)
		args_complain("%s", opened.note[i]);
	r = write_file(c, f, path,
		       &(struct query_context){.store = opened.store, .frames = opened.frames},
		       err);
	if (r < 0 && r != -ERR_USAGE)
		err_prefix(err, "%s", path);
	open_recording_close(&opened);
	return r;
}

static int run_command(struct export_command *c, const struct args_command *command, int argc,
		       char **argv)
{
	struct err err = {0};
	int first, end, r;
	int status = args_parse(command, argc, argv, &first, &end);

	if (status >= 0)
		return status;
	r = export_recording(c, argv + first, (size_t)(end - first), &err);
	if (r == 0)
		return CLI_OK;
	args_complain("%s%s%s", r == -ERR_USAGE ? command->name : "", r == -ERR_USAGE ? ": " : "",
		      err.text);
	return r == -ERR_USAGE ? CLI_USAGE : CLI_FAILED;
}

static void init_command(struct export_command *c)
{
	*c = (struct export_command){0};
	filter_args_init(&c->filter);
	c->more = (struct args_more){.set = set_more, .print_help = print_more_help, .user = c};
}

/* The options of all three commands. */
#define EXPORT_OPTIONS(c)                                                                          \
	{.letter = 'o',                                                                            \
	 .name = "output",                                                                         \
	 .value = "FILE",                                                                          \
	 .help = "the output; compressed if the name ends with .gz",                               \
	 .text = &(c).output},                                                                     \
		OPEN_ARGS((c).open), SUPPRESSION_ARGS((c).open)

int cmd_export(int argc, char **argv)
{
	struct export_command c;
	const struct args_option option[] = {
		EXPORT_OPTIONS(c),
		{.letter = 'f',
		 .name = "format",
		 .value = "NAME",
		 .help = "the format: see below",
		 .text = &c.format},
	};
	const struct args_command command = {
		.name = "export",
		.operands = "FILE...",
		.help = "Writes the allocations of a recording in the format of another tool, to a "
			"file or\n"
			"to the standard output. Conditions select the allocations.\n",
		.option = option,
		.n_options = ARRAY_LEN(option),
		.more = &c.more,
		.min_operands = 1,
	};
	int status;

	init_command(&c);
	status = run_command(&c, &command, argc, argv);
	filter_args_fini(&c.filter);
	open_args_fini(&c.open);
	return status;
}

static int export_as(const char *name, const char *format, int argc, char **argv)
{
	struct export_command c;
	const struct args_option option[] = {EXPORT_OPTIONS(c)};
	const struct args_more more = {
		.set = set_more, .print_help = print_filter_help, .user = &c};
	const struct args_command command = {
		.name = name,
		.operands = "FILE...",
		.help = "Short for 'export --format' with this format.\n",
		.option = option,
		.n_options = ARRAY_LEN(option),
		.more = &more,
		.min_operands = 1,
	};
	int status;

	init_command(&c);
	c.format = format;
	status = run_command(&c, &command, argc, argv);
	filter_args_fini(&c.filter);
	open_args_fini(&c.open);
	return status;
}

int cmd_export_heaptrack(int argc, char **argv)
{
	return export_as("export-heaptrack", "heaptrack", argc, argv);
}

int cmd_export_replay(int argc, char **argv)
{
	return export_as("export-replay", "replay", argc, argv);
}
