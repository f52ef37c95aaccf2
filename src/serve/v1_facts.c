/* serve/v1_facts.c - /api/v1: what is known of recordings as a whole. */
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "report/health.h"
#include "serve/buckets.h"
#include "serve/comparison.h"
#include "serve/handlers.h"
#include "serve/v1_json.h"
#include "store/suppressed.h"
#include "util/human.h"

#define N_TIMELINE 120u
#define MAX_MARKERS 200u
#define MAX_PAUSES 1000u

static void put_string(struct json *j, const char *name, const struct store *s, uint32_t string)
{
	size_t len;
	const char *text = store_string(s, string, &len);

	json_bytes(j, name, text, len);
}

static void put_cmdline(struct json *j, const struct store *s)
{
	size_t len;
	const char *text = store_string(s, store_facts(s)->cmdline, &len);

	json_list(j, "cmdline", text, len);
}

/* The most bytes alive in each of at most N_TIMELINE equal parts of the run: a small graph. */
static void put_timeline(struct json *j, const struct store *s)
{
	struct buckets b = {0};

	json_array(j, "timeline");
	if (buckets_join(s, N_TIMELINE, &b, NULL) == 0) {
		for (size_t k = 0; k < b.n; k++)
			json_u64(j, NULL, b.bucket[k].max_bytes);
	}
	json_end_array(j);
	buckets_fini(&b);
}

/* What is known of a recording that is ready. */
static void put_ready(struct json *j, const struct store *s)
{
	const struct store_facts *f = store_facts(s);
	char buf[HUMAN_BYTES];

	put_string(j, "executable", s, f->executable);
	put_cmdline(j, s);
	put_string(j, "host", s, f->host);
	put_string(j, "architecture", s, f->arch);
	json_u64(j, "pid", f->pid);
	json_text(j, "started_at", human_time(f->start_realtime_ns, buf));
	json_u64(j, "start_ns", f->start_realtime_ns);
	json_u64(j, "duration_ns", f->duration_ns);
	json_u64(j, "allocations", f->n_rows + f->n_culled);
	json_u64(j, "peak_bytes", f->peak_bytes);
	json_u64(j, "leaked_bytes", f->live_bytes);
	json_u64(j, "file_bytes", f->recording_bytes);
	json_bool(j, "complete", f->is_complete);
	put_string(j, "ended", s, f->ended);
	json_u64(j, "threads", store_count_threads(s));
	put_timeline(j, s);
}

static void put_recording(struct json *j, struct registry_entry *i)
{
	enum registry_state state = registry_state(i);
	bool is_growing = false;
	double eta_s;

	json_object(j, NULL);
	json_text(j, "id", registry_id(i));
	json_text(j, "file", text_basename(registry_path(i)));
	json_text(j, "state", data_state_name(state));
	json_double(j, "percent", registry_percent(i), 1);
	json_double(j, "names_percent", registry_names_percent(i), 1);
	if (state == REGISTRY_FAILED)
		json_text(j, "error", registry_error(i));
	if (state == REGISTRY_READY) {
		struct registry_snapshot *p;

		registry_freshen(i, 0);
		p = registry_take(i);
		put_ready(j, registry_store(p));
		is_growing = registry_is_growing(p);
		registry_give(p);
	}
	json_bool(j, "growing", is_growing);
	json_null(j, "imported"); /* no other kind of file can be opened */
	if (state == REGISTRY_LOADING && registry_eta_s(i, &eta_s))
		json_double(j, "eta_s", eta_s, 1);
	else
		json_null(j, "eta_s");
	json_end_object(j);
}

/* The one recording of an exported page. */
static void put_exported(struct request *rq)
{
	struct json *j = &rq->json;

	json_object(j, NULL);
	json_text(j, "id", rq->id);
	json_text(j, "file", rq->file_name);
	json_text(j, "state", data_state_name(REGISTRY_READY));
	json_double(j, "percent", 100, 1);
	json_double(j, "names_percent", 100, 1);
	put_ready(j, rq->store);
	json_bool(j, "growing", false);
	json_null(j, "imported");
	json_null(j, "eta_s");
	json_end_object(j);
}

int v1_recordings(struct request *rq, struct err *err)
{
	struct json *j = &rq->json;

	(void)err;
	json_object(j, NULL);
	json_array(j, "recordings");
	if (!rq->registry)
		put_exported(rq);
	for (size_t k = 0; rq->registry && k < registry_n_entries(rq->registry); k++)
		put_recording(j, registry_entry(rq->registry, k));
	json_end_array(j);
	json_text(j, "version", MEMORY_PROFILER_VERSION);
	json_end_object(j);
	return 0;
}

static void put_process(struct json *j, const struct store *s)
{
	const struct store_facts *f = store_facts(s);
	char buf[HUMAN_BYTES];

	put_string(j, "executable", s, f->executable);
	put_cmdline(j, s);
	put_string(j, "cwd", s, f->cwd);
	put_string(j, "host", s, f->host);
	put_string(j, "kernel", s, f->kernel);
	put_string(j, "architecture", s, f->arch);
	put_string(j, "recorder", s, f->recorder);
	json_u64(j, "pid", f->pid);
	json_u64(j, "parent_pid", f->parent_pid);
	json_u64(j, "page_bytes", f->page_bytes);
	json_u64(j, "memory_bytes", f->memory_bytes);
	json_u64(j, "memory_limit_bytes", f->memory_limit_bytes);
	json_u64(j, "cpus", f->n_cpus);
	json_text(j, "started_at", human_time(f->start_realtime_ns, buf));
	json_u64(j, "start_ns", f->start_realtime_ns);
	json_u64(j, "duration_ns", f->duration_ns);
	json_bool(j, "complete", f->is_complete);
	put_string(j, "ended", s, f->ended);
	json_bool(j, "out_of_memory", health_is_out_of_memory(s));
	json_u64(j, "end_status", f->end_status);
}

/* The markers that the program set, in order of time: the first MAX_MARKERS, and how many there are. */
static void put_markers(struct json *j, const struct store *s)
{
	uint64_t n_markers = 0;
	size_t n;
	const struct store_call *c = store_table(s, STORE_CALLS, &n);

	json_array(j, "markers");
	for (size_t i = 0; i < n; i++) {
		if (c[i].kind != STORE_CALL_MARKER || n_markers++ >= MAX_MARKERS)
			continue;
		json_object(j, NULL);
		json_u64(j, "at_ns", c[i].at_ns);
		json_u64(j, "value", c[i].field[0]);
		json_end_object(j);
	}
	json_end_array(j);
	json_u64(j, "marker_count", n_markers);
}

static void put_gap(struct json *j, const char *kind, uint64_t from_ns, uint64_t to_ns)
{
	json_object(j, NULL);
	json_text(j, "kind", kind);
	json_u64(j, "from_ns", from_ns);
	json_u64(j, "to_ns", to_ns);
	json_end_object(j);
}

/* The times for which there is no data: recording was switched off, events are missing. */
static void put_gaps(struct json *j, const struct store *s)
{
	uint64_t off_ns = UINT64_MAX, n_off = 0;
	size_t n_calls, n_gaps;
	const struct store_call *c = store_table(s, STORE_CALLS, &n_calls);
	const struct store_gap *g = store_table(s, STORE_GAPS, &n_gaps);

	json_array(j, "gaps");
	for (size_t i = 0; i < n_calls && n_off < MAX_PAUSES; i++) {
		if (c[i].kind != STORE_CALL_SWITCH)
			continue;
		if (c[i].field[0] && off_ns != UINT64_MAX) {
			put_gap(j, "off", off_ns, c[i].at_ns);
			off_ns = UINT64_MAX;
			n_off++;
		} else if (!c[i].field[0] && off_ns == UINT64_MAX) {
			off_ns = c[i].at_ns;
		}
	}
	if (off_ns != UINT64_MAX && n_off < MAX_PAUSES)
		put_gap(j, "off", off_ns, store_facts(s)->duration_ns);
	for (size_t i = 0; i < n_gaps; i++)
		put_gap(j, "missing", g[i].from_ns, g[i].to_ns);
	json_end_array(j);
}

/* The leaks that do not count, by which rule. */
static void put_suppressions(struct json *j, const struct store *s)
{
	size_t n;
	const struct store_suppression *by = store_suppressions(s, &n);

	json_array(j, "suppressions");
	for (size_t i = 0; i < n; i++) {
		json_object(j, NULL);
		json_text(j, "pattern", by[i].pattern);
		json_u64(j, "call_sites", by[i].n_stacks);
		json_u64(j, "leaked_count", by[i].n_leaked);
		json_u64(j, "leaked_bytes", by[i].leaked_bytes);
		json_end_object(j);
	}
	json_end_array(j);
}

/* The allocators inside the program, as an array of the object that is open. */
static void put_allocators(struct json *j, const struct store *s)
{
	size_t n;
	const struct store_allocator *a = store_table(s, STORE_ALLOCATORS, &n);

	json_array(j, "allocators");
	for (size_t i = 0; i < n; i++) {
		json_object(j, NULL);
		json_u64(j, "number", a[i].number);
		put_string(j, "name", s, a[i].name);
		put_string(j, "prefix", s, a[i].prefix);
		put_string(j, "module", s, a[i].module);
		json_u64(j, "functions", a[i].n_functions);
		json_end_object(j);
	}
	json_end_array(j);
}

static void put_counts(struct json *j, const struct store *s)
{
	const struct store_facts *f = store_facts(s);
	uint64_t n_sites = 0;
	size_t n_modules;

	store_table(s, STORE_MODULES, &n_modules);
	for (size_t i = 0; i < store_n_stacks(s); i++)
		n_sites += store_stack(s, (uint32_t)i)->n_allocs > 0;
	json_u64(j, "events", f->n_events);
	json_u64(j, "allocations", f->n_allocations);
	json_u64(j, "reallocations", f->n_reallocations);
	json_u64(j, "frees", f->n_frees);
	json_u64(j, "rows", f->n_rows);
	json_u64(j, "culled_count", f->n_culled);
	json_u64(j, "culled_bytes", f->culled_bytes);
	json_u64(j, "bytes", f->n_bytes);
	json_u64(j, "temporary_count", f->n_temporary);
	json_u64(j, "temporary_bytes", f->temporary_bytes);
	json_u64(j, "leaked_count", f->live_count);
	json_u64(j, "leaked_bytes", f->live_bytes);
	json_u64(j, "peak_bytes", f->peak_bytes);
	json_u64(j, "peak_count", f->peak_count);
	json_u64(j, "peak_ns", f->peak_ns);
	json_u64(j, "rss_peak_bytes", f->rss_peak_bytes);
	json_u64(j, "call_sites", n_sites);
	json_u64(j, "stacks", f->n_stacks);
	json_u64(j, "deepest_stack", f->deepest_stack);
	json_u64(j, "threads", store_count_threads(s));
	json_u64(j, "modules", n_modules);
	json_u64(j, "lost_events", f->lost_events);
	json_u64(j, "lost_blocks", f->lost_blocks);
	json_u64(j, "damaged_bytes", f->damaged_bytes);
	json_u64(j, "unknown_frees", f->unknown_frees);
	json_u64(j, "untracked_frees", f->untracked_frees);
	json_u64(j, "duplicate_allocations", f->duplicate_allocations);
	json_u64(j, "crossed_blocks", f->crossed);
	put_allocators(j, s);
	put_markers(j, s);
	put_gaps(j, s);
	put_suppressions(j, s);
	json_u64(j, "truncated_stacks", f->truncated_stacks);
	json_u64(j, "file_bytes", f->recording_bytes);
}

/* What matches in both recordings, as fields of the object that is open. */
static int put_comparison(struct request *rq, struct err *err)
{
	const struct store_facts *f = store_facts(rq->base.context.store);
	struct query_group total[COMPARE_N_SIDES];
	struct query *q[COMPARE_N_SIDES];
	struct json *j = &rq->json;
	int r = comparison_query(rq, QUERY_WANT_PEAK, q, err);

	for (unsigned s = 0; s < COMPARE_N_SIDES && r == 0; s++)
		r = query_total(q[s], &total[s], err);
	if (r < 0)
		return r;
	comparison_put_costs(j, "matched", &total[COMPARE_BEFORE], &total[COMPARE_AFTER]);
	v1_json_cost(j, "before", &total[COMPARE_BEFORE]);
	v1_json_cost(j, "after", &total[COMPARE_AFTER]);
	json_text(j, "base_id", rq->base.id);
	json_text(j, "base_file", rq->base.file_name);
	json_u64(j, "base_duration_ns", f->duration_ns);
	json_u64(j, "base_rss_peak_bytes", f->rss_peak_bytes);
	return 0;
}

/* Totals of the recording; with a filter also those of what matches. */
int v1_summary(struct request *rq, struct err *err)
{
	struct query_group total = {0};
	struct json *j = &rq->json;
	bool has_filter = rq->url.n_pairs > 0 && !request_is_comparison(rq);
	int r = has_filter ? request_query(rq, err) : 0;

	if (r == 0 && has_filter) {
		query_want(rq->query, QUERY_WANT_PEAK);
		r = query_total(rq->query, &total, err);
	}
	if (r < 0)
		return r;
	json_object(j, NULL);
	json_text(j, "id", rq->id);
	json_text(j, "file", rq->file_name);
	put_process(j, rq->store);
	put_counts(j, rq->store);
	if (has_filter)
		v1_json_cost(j, "matched", &total);
	if (request_is_comparison(rq))
		r = put_comparison(rq, err);
	json_end_object(j);
	return r;
}

int v1_threads(struct request *rq, struct err *err)
{
	struct json *j = &rq->json;
	size_t n;
	const struct store_thread *t = store_table(rq->store, STORE_THREADS, &n);

	(void)err;
	json_object(j, NULL);
	json_array(j, "threads");
	for (size_t i = 0; i < n; i++) {
		if (!store_is_thread(&t[i]))
			continue;
		json_object(j, NULL);
		json_u64(j, "index", i);
		json_u64(j, "tid", t[i].tid);
		put_string(j, "name", rq->store, t[i].name);
		json_u64(j, "start_ns", t[i].start_ns);
		if (t[i].end_ns == UINT64_MAX)
			json_null(j, "end_ns");
		else
			json_u64(j, "end_ns", t[i].end_ns);
		json_u64(j, "allocations", t[i].n_allocs);
		json_u64(j, "bytes", t[i].n_bytes);
		json_u64(j, "frees", t[i].n_frees);
		json_u64(j, "temporary_count", t[i].n_temporary);
		json_end_object(j);
	}
	json_end_array(j);
	json_end_object(j);
	return 0;
}

int v1_modules(struct request *rq, struct err *err)
{
	struct json *j = &rq->json;
	size_t n;
	const struct store_module *m = store_table(rq->store, STORE_MODULES, &n);

	(void)err;
	json_object(j, NULL);
	json_array(j, "modules");
	for (size_t i = 0; i < n; i++) {
		json_object(j, NULL);
		json_u64(j, "index", i);
		put_string(j, "path", rq->store, m[i].path);
		put_string(j, "build_id", rq->store, m[i].build_id);
		json_hex(j, "base", m[i].base);
		json_hex(j, "start", m[i].start);
		json_hex(j, "end", m[i].end);
		json_u64(j, "loaded_ns", m[i].loaded_ns);
		json_bool(j, "is_embedded", m[i].file_id != 0);
		json_end_object(j);
	}
	json_end_array(j);
	json_end_object(j);
	return 0;
}

static uint64_t sample_value(const struct store_sample *s, unsigned column)
{
	const uint64_t value[] = {s->at_ns, s->rss_bytes, s->virtual_bytes, s->shared_bytes,
				  s->cpu_ns};

	return value[column];
}

int v1_samples(struct request *rq, struct err *err)
{
	static const char *const name[] = {"at_ns", "rss_bytes", "virtual_bytes", "shared_bytes",
					   "cpu_ns"};
	struct json *j = &rq->json;
	size_t n;
	const struct store_sample *s = store_table(rq->store, STORE_SAMPLES, &n);

	(void)err;
	json_object(j, NULL);
	for (unsigned c = 0; c < ARRAY_LEN(name); c++) {
		json_array(j, name[c]);
		for (size_t i = 0; i < n; i++)
			json_u64(j, NULL, sample_value(&s[i], c));
		json_end_array(j);
	}
	json_end_object(j);
	return 0;
}

int v1_notes(struct request *rq, struct err *err)
{
	static const char *const level[] = {"error", "warning", "information"};
	const struct store_facts *f = store_facts(rq->store);
	struct json *j = &rq->json;
	size_t n;
	const struct store_note *note = store_table(rq->store, STORE_NOTES, &n);

	(void)err;
	json_object(j, NULL);
	json_array(j, "notes");
	for (size_t i = 0; i < n; i++) {
		uint32_t l = note[i].level - 1;

		json_object(j, NULL);
		json_u64(j, "at_ns", note[i].at_ns);
		json_text(j, "level", level[l < ARRAY_LEN(level) ? l : ARRAY_LEN(level) - 1]);
		put_string(j, "text", rq->store, note[i].text);
		json_end_object(j);
	}
	json_end_array(j);
	json_u64(j, "lost_events", f->lost_events);
	json_u64(j, "damaged_bytes", f->damaged_bytes);
	json_u64(j, "truncated_stacks", f->truncated_stacks);
	json_end_object(j);
	return 0;
}

/* The table of filters, for programs that show a form. */
int v1_filters(struct request *rq, struct err *err)
{
	struct json *j = &rq->json;
	size_t n;
	const struct filter_parameter *p = filter_parameters(&n);

	(void)err;
	json_object(j, NULL);
	json_array(j, "parameters");
	for (size_t i = 0; i < n; i++) {
		json_object(j, NULL);
		json_text(j, "name", p[i].name);
		json_text(j, "type", p[i].type);
		json_text(j, "choices", p[i].choices);
		json_text(j, "help", p[i].help);
		json_text(j, "valid", filter_type_help(p[i].type));
		json_end_object(j);
	}
	json_end_array(j);
	json_end_object(j);
	return 0;
}
