/* cli/cmd_analyze_size.c - `memory-profiler-cli analyze-size`: what makes a recording large. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/args.h"
#include "cli/cli.h"
#include "cli/rewrite.h"
#include "recording/chunk_reader.h"
#include "rewrite/size_report.h"
#include "util/human.h"
#include "util/json_write.h"

static void print_row(const char *name, uint64_t n, double n_bytes, uint64_t all_bytes)
{
	char a[HUMAN_BYTES], b[HUMAN_BYTES];

	printf("  %-18s %15s %12s", name, human_count(n, a), human_size((uint64_t)n_bytes, b));
	if (all_bytes)
		printf(" %6.1f %%", n_bytes * 100 / (double)all_bytes);
	putchar('\n');
}

static void print_head(const char *title, const char *count)
{
	printf("\n%-20s %15s %12s %8s\n", title, count, "size", "share");
}

static void print_text(const char *path, const struct recording *r, const struct size_report *s)
{
	uint64_t file_bytes = r->file_bytes, allocated = s->totals.bytes_allocated;

	human_print_text(stdout, path, strlen(path));
	putchar('\n');
	print_head("In the file", "chunks");
	for (unsigned i = 0; i < SIZE_REPORT_N_TYPES; i++) {
		if (s->type[i].n)
			print_row(chunk_reader_type_name(i), s->type[i].n,
				  (double)s->type[i].n_bytes, file_bytes);
	}
	print_row("header and unused", 1, (double)s->unused_bytes, file_bytes);
	print_head("Events", "number");
	for (unsigned i = 0; i < SIZE_REPORT_N_KINDS; i++) {
		if (s->kind[i].n)
			print_row(size_report_kind_name(i), s->kind[i].n, s->stored_bytes[i],
				  file_bytes);
	}
	print_head("Allocations lived", "number");
	for (unsigned i = 0; i < LIFETIME_N; i++)
		print_row(size_report_lifetime_name(i), s->lifetime[i].n,
			  (double)s->lifetime[i].n_bytes, allocated);
	fputs("\nSizes of events are their share after compression. 'strip -t SECONDS' leaves out "
	      "what lived\nshorter.\n",
	      stdout);
}

static void json_row(struct json *j, const char *name, const struct size_report_row *row)
{
	json_object(j, name);
	json_u64(j, "count", row->n);
	json_u64(j, "bytes", row->n_bytes);
	json_end_object(j);
}

static void print_json(const char *path, const struct recording *r, const struct size_report *s)
{
	struct json j;

	json_init(&j, stdout);
	json_object(&j, NULL);
	json_text(&j, "file", path);
	json_u64(&j, "file_bytes", r->file_bytes);
	json_u64(&j, "unused_bytes", s->unused_bytes);
	json_object(&j, "chunks");
	for (unsigned i = 0; i < SIZE_REPORT_N_TYPES; i++) {
		if (s->type[i].n)
			json_row(&j, chunk_reader_type_name(i), &s->type[i]);
	}
	json_end_object(&j);
	json_array(&j, "events");
	for (unsigned i = 0; i < SIZE_REPORT_N_KINDS; i++) {
		if (s->kind[i].n == 0)
			continue;
		json_object(&j, NULL);
		json_u64(&j, "kind", i);
		json_text(&j, "name", size_report_kind_name(i));
		json_u64(&j, "count", s->kind[i].n);
		json_u64(&j, "bytes", s->kind[i].n_bytes);
		json_u64(&j, "stored_bytes", (uint64_t)s->stored_bytes[i]);
		json_end_object(&j);
	}
	json_end_array(&j);
	json_object(&j, "lifetimes");
	for (unsigned i = 0; i < LIFETIME_N; i++)
		json_row(&j, size_report_lifetime_name(i), &s->lifetime[i]);
	json_end_object(&j);
	json_end_object(&j);
	json_line(&j);
}

int cmd_analyze_size(int argc, char **argv)
{
	static struct size_report report;
	bool as_json = false, is_quiet = false;
	const struct args_option option[] = {
		{.name = "json", .help = "print one JSON object", .flag = &as_json},
		{.letter = 'q', .name = "quiet", .help = "show no progress", .flag = &is_quiet},
	};
	const struct args_command command = {
		.name = "analyze-size",
		.operands = "RECORDING",
		.help = "Shows what makes a recording large: bytes by kind of chunk and of event, "
			"and the\n"
			"lifetimes of its allocations.\n",
		.option = option,
		.n_options = ARRAY_LEN(option),
		.min_operands = 1,
	};
	const char *no_output = ""; /* nothing is written */
	int status = rewrite_parse(&command, argc, argv, &no_output, &is_quiet);
	struct rewrite w = {0};
	struct err err = {0};
	int r;

	if (status >= 0)
		return status;
	r = rewrite_begin(&w, argv[1], "analyzing", 2, &err);
	if (r == 0)
		r = size_report_make(w.rec, &report, &err);
	progress_end(&w.progress);
	if (r == 0 && as_json)
		print_json(argv[1], w.rec, &report);
	else if (r == 0)
		print_text(argv[1], w.rec, &report);
	return rewrite_end(&w, r, &err);
}
