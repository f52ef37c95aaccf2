/* findings_fixture.c - see findings_fixture.h. */
#include "findings_fixture.h"

#include "harness/test.h"

struct synth synth;
struct report report;
struct findings found;
struct filter filter;

void begin(void)
{
	synth_init(&synth, RUN_NS);
	filter_init(&filter);
}

void ask(size_t n_points)
{
	struct err err = {0};

	synth_open(&synth);
	report = (struct report){.context = {.store = synth.store, .frames = synth.frames},
				 .filter = &filter};
	CHECK_OK(report_make(&report, &err));
	CHECK_OK(findings_make(&report, n_points, &found, &err));
}

void end(void)
{
	findings_fini(&found);
	report_fini(&report);
	filter_fini(&filter);
	synth_fini(&synth);
}

/* The nth finding of a kind, or NULL. */
const struct finding *find(enum finding_kind kind, size_t nth)
{
	for (size_t i = 0; i < found.n; i++) {
		if (found.finding[i].kind == kind && nth-- == 0)
			return &found.finding[i];
	}
	return NULL;
}

/* What the cost is under the finding's conditions alone. */
uint64_t value_by_conditions(const struct finding *f)
{
	const struct query_context context = {.store = synth.store, .frames = synth.frames};
	struct query_group total;
	struct query *q = NULL;
	struct filter narrow;
	struct err err = {0};

	filter_init(&narrow);
	for (size_t i = 0; i < f->n_conditions; i++)
		CHECK_EQ(filter_set(&narrow, f->condition[i].name, f->condition[i].value, &err), 1);
	CHECK_OK(query_create(&context, &narrow, &q, &err));
	CHECK_OK(query_total(q, &total, &err));
	query_destroy(q);
	filter_fini(&narrow);
	return report_weight(f->cost, &total);
}

/* A base that is there all the time, so that shares of the peak are not all of it. */
void add_base(uint64_t n_bytes)
{
	synth_add(&synth, STACK(&synth, "load_tables", "main"), 0, RUN_NS - 1, n_bytes);
}

/* n blocks of a size, evenly between two moments, never freed. */
void keep_evenly(uint32_t stack, uint64_t n, uint64_t size, uint64_t from, uint64_t to)
{
	for (uint64_t i = 0; i < n; i++)
		synth_keep(&synth, stack, from + (to - from) / n * i, size);
}
