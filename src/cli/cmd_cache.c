/* cli/cmd_cache.c - `memory-profiler-cli cache`: lists and removes the stores of recordings. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/args.h"
#include "cli/cli.h"
#include "store/store_cache.h"
#include "util/human.h"
#include "util/json_write.h"

#define SECONDS_LEN 19 /* of human_time() without the fraction */

struct totals {
	uint64_t n;
	uint64_t n_bytes;
	bool as_json;
};

static const char *state_name(enum store_cache_state state)
{
	static const char *const name[] = {
		[STORE_CACHE_GOOD] = "good",       [STORE_CACHE_STALE] = "stale",
		[STORE_CACHE_VERSION] = "version", [STORE_CACHE_DAMAGED] = "damaged",
		[STORE_CACHE_NAMES] = "names",
	};

	return name[state];
}

static void print_json(const struct store_cache_item *item)
{
	bool is_open = item->state == STORE_CACHE_GOOD || item->state == STORE_CACHE_STALE;
	char buf[HUMAN_BYTES];
	struct json j;

	json_init(&j, stdout);
	json_object(&j, NULL);
	json_text(&j, "store", item->store);
	json_text(&j, "names", item->names);
	json_text(&j, "state", state_name(item->state));
	json_u64(&j, "bytes", item->n_bytes);
	json_text(&j, "made_at", human_time(item->changed_ns, buf));
	if (is_open) {
		json_u64(&j, "rows", item->n_rows);
		json_text(&j, "program", item->program);
		json_hex_bytes(&j, "recording_id", item->identity.recording_id,
			       sizeof(item->identity.recording_id));
		json_u64(&j, "recording_bytes", item->identity.size_bytes);
	}
	json_end_object(&j);
	json_line(&j);
}

static void print_text(const struct store_cache_item *item, bool is_first)
{
	char size[HUMAN_BYTES], rows[HUMAN_BYTES], when[HUMAN_BYTES];
	const char *path = item->store ? item->store : item->names;

	if (is_first)
		printf("%10s  %15s  %-7s  %-19s  %s\n", "size", "rows", "state", "made (UTC)",
		       "program, file");
	printf("%10s  %15s  %-7s  %.*s  ", human_size(item->n_bytes, size),
	       human_count(item->n_rows, rows), state_name(item->state), SECONDS_LEN,
	       human_time(item->changed_ns, when));
	human_print_text(stdout, item->program, strlen(item->program));
	printf("\n%61s", "");
	human_print_text(stdout, path, strlen(path));
	putchar('\n');
}

static int list_item(void *user, const struct store_cache_item *item, struct err *err)
{
	struct totals *t = user;

	(void)err;
	if (t->as_json)
		print_json(item);
	else
		print_text(item, t->n == 0);
	t->n++;
	t->n_bytes += item->n_bytes;
	return 0;
}

static int clear_item(void *user, const struct store_cache_item *item, struct err *err)
{
	struct totals *t = user;
	int r = store_cache_remove(item, err);

	if (r < 0)
		return r;
	t->n++;
	t->n_bytes += item->n_bytes;
	return 0;
}

static void print_sum(const struct totals *t, const char *what)
{
	char size[HUMAN_BYTES], count[HUMAN_BYTES];

	printf("%s%s %s, %s\n", what, human_count(t->n, count), t->n == 1 ? "store" : "stores",
	       human_size(t->n_bytes, size));
}

int cmd_cache(int argc, char **argv)
{
	struct totals t = {0};
	const struct args_option option[] = {
		{.name = "json",
		 .help = "list: print one JSON object per store and line",
		 .flag = &t.as_json},
	};
	const struct args_command command = {
		.name = "cache",
		.operands = "list|clear [FILE]...",
		.help = "The first command that opens a recording keeps the result in a store, "
			"which opens at\n"
			"once the next time. Lists or removes the stores of the given recordings, "
			"or all in the\n"
			"cache folder. A removed store is rebuilt when it is needed.\n",
		.option = option,
		.n_options = ARRAY_LEN(option),
		.min_operands = 1,
	};
	struct err err = {0};
	int first, end, r;
	int status = args_parse(&command, argc, argv, &first, &end);
	bool clears;

	if (status >= 0)
		return status;
	clears = strcmp(argv[first], "clear") == 0;
	if (!clears && strcmp(argv[first], "list") != 0) {
		args_complain("cache: '%s' is neither list nor clear; see '" PROGRAM
			      " cache --help'",
			      argv[first]);
		return CLI_USAGE;
	}
	r = store_cache_each(argv + first + 1, (size_t)(end - first - 1),
			     clears ? clear_item : list_item, &t, &err);
	if (r < 0) {
		args_complain("%s", err.text);
		return CLI_FAILED;
	}
	if (clears)
		print_sum(&t, "removed ");
	else if (!t.as_json)
		print_sum(&t, t.n > 0 ? "\n" : "");
	return CLI_OK;
}
