/* cli/report_json.c - see report_json.h. */
#include "cli/report_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/query_json.h"
#include "util/human.h"

/* A string of the store, or null if it is not known (number 0). */
static void put_string(struct json *j, const char *name, const struct report_view *v,
		       uint32_t string)
{
	size_t len;
	const char *text = store_string(v->store, string, &len);

	if (string == 0)
		json_null(j, name);
	else
		json_bytes(j, name, text, len);
}

static void put_program(struct json *j, const struct report_view *v)
{
	const struct store_facts *f = v->report.facts;
	char buf[HUMAN_BYTES];
	const char *text;
	size_t len;

	json_object(j, "program");
	put_string(j, "executable", v, f->executable);
	text = store_string(v->store, f->cmdline, &len);
	json_list(j, "command_line", text, len);
	json_u64(j, "pid", f->pid);
	put_string(j, "host", v, f->host);
	put_string(j, "arch", v, f->arch);
	json_text(j, "started_at", human_time(f->start_realtime_ns, buf));
	json_u64(j, "duration_ns", f->duration_ns);
	put_string(j, "ended", v, f->ended);
	json_u64(j, "end_status", f->end_status);
	json_bool(j, "complete", f->is_complete);
	json_u64(j, "threads", store_count_threads(v->store));
	json_end_object(j);
}

/* The length of the longest realloc chain, from the maxima of the row blocks. */
static uint64_t longest_chain(const struct report_view *v, size_t n_chains)
{
	uint64_t n_blocks = store_n_blocks(v->store), longest = 0;

	for (uint64_t b = 0; n_chains > 0 && b < n_blocks; b++) {
		uint64_t position = store_block_max(v->store, STORE_CHAIN_POSITION, b);

		if (position >= longest)
			longest = position + 1;
	}
	return longest;
}

static void put_pair(struct json *j, const char *name, uint64_t count, uint64_t bytes)
{
	json_object(j, name);
	json_u64(j, "count", count);
	json_u64(j, "bytes", bytes);
	json_end_object(j);
}

static void put_peak(struct json *j, uint64_t count, uint64_t bytes, uint64_t at_ns)
{
	json_object(j, "peak");
	json_u64(j, "count", count);
	json_u64(j, "bytes", bytes);
	json_u64(j, "at_ns", at_ns);
	json_end_object(j);
}

/* The totals of the whole recording. */
static void put_totals(struct json *j, const struct report_view *v)
{
	const struct store_facts *f = v->report.facts;
	size_t n_chains;

	(void)store_table(v->store, STORE_CHAINS, &n_chains);
	json_object(j, "totals");
	json_u64(j, "events", f->n_events);
	json_u64(j, "allocations", f->n_allocations);
	json_u64(j, "reallocations", f->n_reallocations);
	json_u64(j, "frees", f->n_frees);
	json_u64(j, "bytes", f->n_bytes);
	put_peak(j, f->peak_count, f->peak_bytes, f->peak_ns);
	put_pair(j, "leaked", f->live_count, f->live_bytes);
	put_pair(j, "temporary", f->n_temporary, f->temporary_bytes);
	json_object(j, "chains");
	json_u64(j, "count", n_chains);
	json_u64(j, "longest", longest_chain(v, n_chains));
	json_end_object(j);
	json_u64(j, "rss_peak_bytes", f->rss_peak_bytes);
	json_u64(j, "stacks", f->n_stacks);
	json_u64(j, "deepest_stack", f->deepest_stack);
	json_u64(j, "truncated_stacks", f->truncated_stacks);
	json_u64(j, "lost_events", f->lost_events);
	json_u64(j, "lost_blocks", f->lost_blocks);
	json_u64(j, "damaged_bytes", f->damaged_bytes);
	json_u64(j, "unknown_frees", f->unknown_frees);
	json_u64(j, "untracked_frees", f->untracked_frees);
	json_u64(j, "duplicate_allocations", f->duplicate_allocations);
	json_end_object(j);
}

static void put_threads(struct json *j, const struct report_view *v)
{
	size_t n;

	(void)store_table(v->store, STORE_THREADS, &n);
	json_array(j, "threads");
	for (size_t i = 0; i < n; i++) {
		const struct store_thread *t = store_thread(v->store, (uint32_t)i);

		if (!store_is_thread(t))
			continue;
		json_object(j, NULL);
		json_u64(j, "tid", t->tid);
		put_string(j, "name", v, t->name);
		json_u64(j, "allocations", t->n_allocs);
		json_u64(j, "bytes", t->n_bytes);
		json_u64(j, "frees", t->n_frees);
		json_u64(j, "temporary", t->n_temporary);
		json_end_object(j);
	}
	json_end_array(j);
}

/* The filter, and the totals of the allocations that match it: all if there is no filter. */
static void put_matching(struct json *j, const struct report_view *v)
{
	const struct query_group *t = &v->report.groups.total;
	const struct filter_args *a = v->options->filter;

	json_object(j, "filter");
	for (size_t i = 0; i < a->n; i++)
		json_text(j, a->name[i], a->value[i]);
	json_end_object(j);
	json_object(j, "matching");
	json_u64(j, "allocations", t->n_allocs);
	json_u64(j, "bytes", t->n_bytes);
	put_peak(j, v->report.peak.n_alive, v->report.peak.n_bytes, v->report.peak.at_ns);
	put_pair(j, "leaked", t->n_leaked, t->leaked_bytes);
	put_pair(j, "temporary", t->n_temporary, t->temporary_bytes);
	json_u64(j, "sites", v->report.groups.n);
	json_end_object(j);
}

static void put_site_figures(struct json *j, enum report_kind kind, const struct report_view *v,
			     const struct query_group *g)
{
	uint64_t total = report_weight(kind, &v->report.groups.total);

	json_u64(j, "stack", g->key);
	json_double(j, "share", total ? (double)report_weight(kind, g) / (double)total : 0.0, 6);
	json_u64(j, "allocations", g->n_allocs);
	json_u64(j, "bytes", g->n_bytes);
	json_u64(j, "min_size", g->min_size_bytes);
	json_u64(j, "max_size", g->max_size_bytes);
	json_u64(j, "usable_extra_bytes", g->extra_bytes);
	put_pair(j, "peak", g->peak_count, g->peak_bytes);
	put_pair(j, "leaked", g->n_leaked, g->leaked_bytes);
	put_pair(j, "temporary", g->n_temporary, g->temporary_bytes);
	json_u64(j, "first_ns", g->first_ns);
	json_u64(j, "last_ns", g->last_ns);
}

static int put_site(struct json *j, enum report_kind kind, struct report_view *v,
		    const struct query_group *g, struct err *err)
{
	const struct store_node *node =
		store_node(v->store, store_stack(v->store, (uint32_t)g->key)->node);
	const struct frame **frame = NULL;
	size_t n = 0;
	int result = frames_list(v->frames, (uint32_t)g->key, &frame, &n, err);

	if (result < 0)
		return result;
	json_object(j, NULL);
	put_site_figures(j, kind, v, g);
	json_text(j, "stack_end", store_end_name(node->end));
	json_bool(j, "stack_is_guessed", node->has_guess);
	json_array(j, "frames");
	for (size_t i = 0; i < n; i++)
		query_json_frame(j, NULL, frame[i],
				 frame_class_by(query_rules(v->report.query), frame[i]), true);
	json_end_array(j);
	json_end_object(j);
	free(frame);
	return 0;
}

static int put_lists(struct json *j, struct report_view *v, struct err *err)
{
	int n = 0;

	json_object(j, "lists");
	for (unsigned k = 0; k < REPORT_N_KINDS && n == 0; k++) {
		struct report_list *l = &v->report.list[k];

		if (!v->report.is_wanted[k])
			continue;
		json_object(j, report_kind_name(k));
		put_pair(j, "total", report_count(k, &v->report.groups.total),
			 report_bytes(k, &v->report.groups.total));
		json_u64(j, "n_sites", l->n_sites);
		json_array(j, "sites");
		for (size_t i = 0; i < l->n_shown && n == 0; i++)
			n = put_site(j, k, v, l->site[i], err);
		json_end_array(j);
		json_end_object(j);
	}
	json_end_object(j);
	return n;
}

static void put_notes(struct json *j, const struct report_view *v)
{
	char text[HEALTH_TITLE_BYTES + HEALTH_DETAIL_BYTES + 4];
	const struct store_note *note;
	size_t n;

	json_array(j, "notices");
	for (size_t i = 0; i < v->health.n_lines; i++) {
		const struct health_line *l = &v->health.line[i];

		if (l->state == HEALTH_OK || l->about == HEALTH_NOTE)
			continue;
		snprintf(text, sizeof(text), "%s: %s.", l->title, l->detail);
		json_text(j, NULL, text);
	}
	json_end_array(j);
	note = store_table(v->store, STORE_NOTES, &n);
	json_array(j, "notes");
	for (size_t i = 0; i < n; i++)
		put_string(j, NULL, v, note[i].text);
	json_end_array(j);
}

static void put_findings(struct json *j, const struct report_view *v)
{
	json_array(j, "findings");
	for (size_t i = 0; i < v->findings.n; i++) {
		const struct finding *f = &v->findings.finding[i];
		char name[FRAME_NAME_BYTES];

		if (f->kind == FINDING_REMARK)
			continue;
		json_object(j, NULL);
		json_text(j, "kind", finding_kind_name(f->kind));
		json_text(j, "title", f->title);
		json_text(j, "name", finding_name(f, name));
		json_text(j, "text", f->text);
		json_text(j, "cost", finding_cost_name(f->cost));
		json_u64(j, "value", f->value);
		json_double(j, "share", f->share, 6);
		if (f->blame)
			query_json_frame(j, "blame", f->blame,
					 frame_class_by(query_rules(v->report.query), f->blame),
					 true);
		else
			json_null(j, "blame");
		json_object(j, "filter");
		for (size_t k = 0; k < f->n_conditions; k++)
			json_text(j, f->condition[k].name, f->condition[k].value);
		json_end_object(j);
		json_end_object(j);
	}
	json_end_array(j);
}

static void put_health(struct json *j, const struct report_view *v)
{
	json_array(j, "health");
	for (size_t i = 0; i < v->health.n_lines; i++) {
		json_object(j, NULL);
		json_text(j, "state", health_state_name(v->health.line[i].state));
		json_text(j, "title", v->health.line[i].title);
		json_text(j, "detail", v->health.line[i].detail);
		json_end_object(j);
	}
	json_end_array(j);
}

int report_json_print(struct report_view *v, struct err *err)
{
	struct json j;
	int n;

	json_init(&j, stdout);
	json_object(&j, NULL);
	json_u64(&j, "schema", REPORT_JSON_SCHEMA);
	json_text(&j, "file", v->path);
	put_notes(&j, v);
	put_program(&j, v);
	put_totals(&j, v);
	put_threads(&j, v);
	put_matching(&j, v);
	put_findings(&j, v);
	put_health(&j, v);
	n = put_lists(&j, v, err);
	json_end_object(&j);
	json_line(&j);
	return n;
}
