/* Many threads: the answers do not depend on their number, and queries of several threads do not
 * disturb each other. */
#include "harness/test.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/fragmentation.h"
#include "query/group_series.h"
#include "query/query.h"
#include "query/query_growth.h"
#include "query_synth.h"

#define N_ROWS (40 * STORE_BLOCK_ROWS + 123)

static struct world world;
static struct store *store;
static struct frames *frames;

/* A sum over all that a query says. */
struct sum {
	uint64_t value;
	int result;
	unsigned n_threads;
	const char *name, *text;
};

static void add(struct sum *s, const void *bytes, size_t len)
{
	const uint8_t *b = bytes;

	for (size_t i = 0; i < len; i++)
		s->value = (s->value ^ b[i]) * 1099511628211ull;
}

static bool add_row(void *user, const struct query_row *row)
{
	add(user, row, offsetof(struct query_row, flags) + sizeof(row->flags));
	return true;
}

static void ask(struct sum *s, struct query *q, struct err *err)
{
	static const enum query_group_by by[] = {QUERY_BY_STACK, QUERY_BY_THREAD,
						 QUERY_BY_SIZE_CLASS, QUERY_BY_FUNCTION};
	struct store_bucket bucket[50];
	struct fragmentation_point point[50];
	struct query_groups g;
	struct query_peak peak;
	uint64_t n_matching;

	for (unsigned sort = 0; sort < 4 && s->result >= 0; sort++) {
		s->result =
			query_rows(q, &(struct query_page){.sort = sort, .skip = 5, .count = 300},
				   add_row, s, &n_matching, err);
		add(s, &n_matching, sizeof(n_matching));
	}
	for (size_t i = 0; i < 4 && s->result >= 0; i++) {
		s->result = query_groups(q, by[i], &g, err);
		if (s->result >= 0) {
			add(s, g.group, g.n * sizeof(*g.group));
			query_groups_fini(&g);
		}
	}
	if (s->result >= 0)
		s->result = query_peak(q, &peak, err);
	add(s, &peak, sizeof(peak));
	if (s->result >= 0)
		s->result = query_timeline(q, 0, world.duration, 50, bucket, err);
	add(s, bucket, sizeof(bucket));
	if (s->result >= 0)
		s->result = fragmentation_timeline(q, 0, world.duration / 50, 50, point, err);
	add(s, point, sizeof(point));
}

static void ask_over_time(struct sum *s, struct query *q, struct err *err)
{
	struct group_series series = {
		.by = QUERY_BY_BLAME, .to_ns = world.duration, .n_buckets = 30};
	struct query_growths g = {0};

	for (unsigned kind = 0; kind <= GROUP_SERIES_LEAKED_BYTES && s->result >= 0; kind++) {
		struct group_series_top top = {0};

		series.kind = (enum group_series_kind)kind;
		s->result = group_series_top(q, &series, 5, &top, err);
		for (size_t i = 0; i < top.n; i++)
			add(s, top.group[i].value, 30 * sizeof(uint64_t));
		add(s, top.other, s->result < 0 ? 0 : 30 * sizeof(uint64_t));
		group_series_top_fini(&top);
	}
	if (s->result >= 0)
		s->result = query_growth(q, QUERY_BY_PACKAGE, world.duration / 3,
					 world.duration / 2, &g, err);
	for (size_t i = 0; i < g.n; i++)
		add(s, &g.group[i], offsetof(struct query_growth, stack));
	query_growths_fini(&g);
}

static void *ask_main(void *arg)
{
	struct sum *s = arg;
	const struct query_context c = {
		.store = store, .frames = frames, .n_threads = s->n_threads};
	struct query *q = NULL;
	struct filter f;
	struct err err = {0};

	s->value = 1469598103934665603ull;
	filter_init(&f);
	s->result = filter_set(&f, s->name, s->text, &err);
	if (s->result >= 0)
		s->result = query_create(&c, &f, &q, &err);
	if (s->result >= 0)
		ask(s, q, &err);
	if (s->result >= 0)
		ask_over_time(s, q, &err);
	query_destroy(q);
	filter_fini(&f);
	return NULL;
}

TEST(answers_do_not_depend_on_threads)
{
	static const char *const filters[][2] = {{"size_min", "0"},
						 {"function_regex", "Cache"},
						 {"lifetime", "only_leaked"},
						 {"lifetime_min", "100us"}};
	struct err err = {0};

	world_make(&world, 51, N_ROWS);
	CHECK_OK(world_open(&world, &store, &frames, &err));
	for (size_t i = 0; i < 4; i++) {
		struct sum s[3] = {{.n_threads = 1}, {.n_threads = 3}, {.n_threads = 4}};
		pthread_t thread[3];

		/* The first alone, the others at the same time. */
		for (unsigned k = 0; k < 3; k++) {
			s[k].name = filters[i][0];
			s[k].text = filters[i][1];
			CHECK_EQ(pthread_create(&thread[k], NULL, ask_main, &s[k]), 0);
			if (k == 0)
				pthread_join(thread[0], NULL);
		}
		pthread_join(thread[1], NULL);
		pthread_join(thread[2], NULL);
		for (unsigned k = 0; k < 3; k++) {
			CHECK(s[k].result >= 0);
			CHECK_EQ(s[k].value, s[0].value);
		}
	}
	frames_close(frames);
	store_close(store);
	world_free(&world);
}
