/* serve/data_list.c - /list: the recordings. */
#include "base/text.h"
#include "serve/data_json.h"
#include "serve/handlers.h"

#include <string.h>

static const char *const state_name[] = {"loading", "ready", "failed"};

const char *data_state_name(enum registry_state s)
{
	return state_name[s];
}

/* The arguments with spaces between them, as the 2023 version shows them. */
static void put_cmdline(struct json *j, const struct store *s, uint32_t string)
{
	char line[4096];
	size_t len;
	const char *text = store_string(s, string, &len);
	size_t n = len < sizeof(line) ? len : sizeof(line);

	for (size_t i = 0; i < n; i++)
		line[i] = text[i] ? text[i] : ' ';
	while (n && line[n - 1] == ' ')
		n--;
	json_bytes(j, "cmdline", line, n);
}

static void put_facts(struct json *j, const struct store *s)
{
	const struct store_facts *f = store_facts(s);

	json_text(j, "executable", store_string(s, f->executable, NULL));
	put_cmdline(j, s, f->cmdline);
	json_text(j, "architecture", store_string(s, f->arch, NULL));
	json_u64(j, "final_allocated", f->live_bytes);
	json_u64(j, "final_allocated_count", f->live_count);
	data_json_timeval(j, "runtime", f->duration_ns);
	json_u64(j, "unique_backtrace_count", f->n_stacks);
	json_u64(j, "maximum_backtrace_depth", f->deepest_stack);
	data_json_timeval(j, "timestamp", f->start_realtime_ns);
}

/* Scripts read these fields of every entry: they are there from the start, without a value. */
static void put_no_facts(struct json *j)
{
	static const char *const name[] = {"executable",
					   "cmdline",
					   "architecture",
					   "final_allocated",
					   "final_allocated_count",
					   "runtime",
					   "unique_backtrace_count",
					   "maximum_backtrace_depth",
					   "timestamp"};

	for (size_t i = 0; i < ARRAY_LEN(name); i++)
		json_null(j, name[i]);
}

int data_list(struct request *rq, struct err *err)
{
	struct json *j = &rq->json;

	(void)err;
	json_array(j, NULL);
	for (size_t k = 0; k < registry_n_entries(rq->registry); k++) {
		struct registry_entry *i = registry_entry(rq->registry, k);
		enum registry_state state = registry_state(i);
		struct registry_snapshot *p = NULL;

		if (state == REGISTRY_READY) {
			registry_freshen(i, 0);
			p = registry_take(i);
		}
		json_object(j, NULL);
		json_text(j, "id", registry_id(i));
		if (p)
			put_facts(j, registry_store(p));
		else
			put_no_facts(j);
		registry_give(p);
		json_text(j, "state", state_name[state]);
		json_double(j, "percent", registry_percent(i), 1);
		json_text(j, "file", text_basename(registry_path(i)));
		if (state == REGISTRY_FAILED)
			json_text(j, "error", registry_error(i));
		json_end_object(j);
	}
	json_end_array(j);
	return 0;
}
