/* Groups over time and growth: limits, errors, and what the random filters do not reach. */
#include "harness/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/frame_class.h"
#include "query/group_series.h"
#include "query/query_growth.h"
#include "query_synth.h"

static struct world world;
static struct store *store;
static struct frames *frames;
static struct filter filter;
static struct query *q;
static atomic_bool cancel;

static void open_world(void)
{
	static struct query_context context;
	struct err err = {0};

	CHECK_OK(world_open(&world, &store, &frames, &err));
	context = (struct query_context){
		.store = store, .frames = frames, .n_threads = 2, .cancel = &cancel};
	atomic_store(&cancel, false);
	filter_init(&filter);
	CHECK_OK(query_create(&context, &filter, &q, &err));
}

static void open_query(size_t n_rows)
{
	world_make(&world, 5, n_rows);
	open_world();
}

static void close_query(void)
{
	query_destroy(q);
	filter_fini(&filter);
	frames_close(frames);
	store_close(store);
	world_free(&world);
}

static uint64_t greatest(const uint64_t *value, size_t n)
{
	uint64_t most = 0;

	for (size_t i = 0; i < n; i++)
		most = value[i] > most ? value[i] : most;
	return most;
}

/* The rank among all groups, from their values one by one. */
static void check_rank(const struct group_series *s, const struct query_groups *g, uint64_t key,
		       size_t rank)
{
	uint64_t *value = calloc(s->n_buckets, sizeof(*value)), most;
	struct err err = {0};
	size_t n_greater = 0;

	CHECK_OK(group_series_of(q, s, &key, 1, value, &err));
	most = greatest(value, s->n_buckets);
	for (size_t i = 0; i < g->n; i++) {
		uint64_t other;

		CHECK_OK(group_series_of(q, s, &g->group[i].key, 1, value, &err));
		other = greatest(value, s->n_buckets);
		n_greater += other > most || (other == most && g->group[i].key < key);
	}
	CHECK_EQ(n_greater, rank);
	free(value);
}

/* 40 000 buckets leave room for 51 groups at a time; there are more than a hundred stacks. */
TEST(more_groups_than_fit_into_a_pass_are_all_looked_at)
{
	static const enum group_series_kind kinds[] = {GROUP_SERIES_BYTES, GROUP_SERIES_TEMPORARY,
						       GROUP_SERIES_ALLOCATIONS};
	struct group_series s = {.by = QUERY_BY_STACK, .n_buckets = 40000};
	struct query_groups g = {0};
	struct err err = {0};

	open_query(3000);
	CHECK_OK(query_groups(q, QUERY_BY_STACK, &g, &err));
	CHECK(g.n > GROUP_SERIES_CELLS / s.n_buckets);
	s.to_ns = world.duration + 1;
	for (unsigned k = 0; k < ARRAY_LEN(kinds); k++) {
		struct group_series_top top = {0};

		s.kind = kinds[k];
		CHECK_OK(group_series_top(q, &s, 20, &top, &err));
		CHECK_EQ(top.n, 20);
		for (size_t i = 0; i < top.n; i += 3)
			check_rank(&s, &g, top.group[i].key, i);
		group_series_top_fini(&top);
	}
	query_groups_fini(&g);
	close_query();
}

TEST(as_many_groups_as_there_are_leave_nothing_for_the_rest)
{
	struct group_series s = {
		.by = QUERY_BY_PACKAGE, .kind = GROUP_SERIES_BYTES, .n_buckets = 7};
	struct store_bucket bucket[7];
	struct group_series_top top = {0};
	struct err err = {0};

	open_query(5000);
	s.to_ns = world.duration + 1;
	CHECK_OK(group_series_top(q, &s, 1000, &top, &err));
	CHECK_OK(query_timeline(q, 0, s.to_ns, 7, bucket, &err));
	CHECK(top.n > 2);
	for (size_t b = 0; b < 7; b++) {
		uint64_t sum = 0;

		CHECK_EQ(top.other[b], 0);
		for (size_t i = 0; i < top.n; i++)
			sum += top.group[i].value[b];
		CHECK_EQ(sum, bucket[b].last_bytes);
	}
	group_series_top_fini(&top);
	close_query();
}

TEST(nobody_wanted_leaves_all_for_the_rest)
{
	struct group_series s = {
		.by = QUERY_BY_BLAME, .kind = GROUP_SERIES_ALLOCATIONS, .n_buckets = 3};
	struct store_bucket bucket[3];
	struct group_series_top top = {0};
	struct err err = {0};

	open_query(5000);
	s.to_ns = world.duration + 1;
	CHECK_OK(group_series_top(q, &s, 0, &top, &err));
	CHECK_OK(query_timeline(q, 0, s.to_ns, 3, bucket, &err));
	CHECK_EQ(top.n, 0);
	for (size_t b = 0; b < 3; b++)
		CHECK_EQ(top.other[b], bucket[b].n_allocs);
	group_series_top_fini(&top);
	close_query();
}

TEST(a_query_keeps_what_it_wanted)
{
	struct group_series s = {.by = QUERY_BY_BLAME, .n_buckets = 3};
	struct query_groups g = {0};
	struct group_series_top top = {0};
	struct err err = {0};

	open_query(500);
	s.to_ns = world.duration + 1;
	CHECK_OK(group_series_top(q, &s, 3, &top, &err));
	CHECK_OK(query_groups(q, QUERY_BY_THREAD, &g, &err));
	CHECK(g.total.peak_bytes > 0);
	query_groups_fini(&g);
	group_series_top_fini(&top);
	close_query();
}

TEST(an_empty_recording_has_empty_series)
{
	struct group_series s = {.by = QUERY_BY_PACKAGE, .to_ns = 100, .n_buckets = 4};
	struct group_series_top top = {0};
	struct query_growths growth = {0};
	struct err err = {0};

	open_query(0);
	CHECK_OK(group_series_top(q, &s, 8, &top, &err));
	CHECK_EQ(top.n, 0);
	CHECK_EQ(greatest(top.other, 4), 0);
	CHECK_OK(query_growth(q, QUERY_BY_PACKAGE, 0, 0, &growth, &err));
	CHECK_EQ(growth.n, 0);
	query_growths_fini(&growth);
	group_series_top_fini(&top);
	close_query();
}

TEST(what_is_too_much_or_makes_no_sense_is_refused)
{
	struct group_series s = {.by = QUERY_BY_STACK, .to_ns = 100};
	struct group_series_top top = {0};
	struct query_growths growth = {0};
	uint64_t value[8] = {7}, *key;
	struct err err = {0};

	open_query(500);
	CHECK_ERR(group_series_total(q, &s, value, &err), ERR_USAGE);
	s.n_buckets = 65537;
	CHECK_ERR(group_series_top(q, &s, 1, &top, &err), ERR_USAGE);
	s.n_buckets = 65536;
	key = calloc(100, sizeof(*key));
	CHECK_ERR(group_series_of(q, &s, key, 100, value, &err), ERR_LIMIT);
	s.n_buckets = 4;
	s.to_ns = UINT64_MAX;
	CHECK_ERR(group_series_of(q, &s, key, 1, value, &err), ERR_USAGE);
	CHECK_ERR(query_growth(q, QUERY_BY_STACK, 5, 4, &growth, &err), ERR_USAGE);
	CHECK_EQ(value[0], 7);
	CHECK(!top.group && !growth.group);
	free(key);
	close_query();
}

TEST(series_and_growth_can_be_cancelled)
{
	struct group_series s = {.by = QUERY_BY_PACKAGE, .to_ns = 100, .n_buckets = 4};
	struct group_series_top top = {0};
	struct query_growths growth = {0};
	uint64_t value[4], key = 1;
	struct err err = {0};

	open_query(500);
	atomic_store(&cancel, true);
	CHECK_ERR(group_series_total(q, &s, value, &err), ERR_CANCELLED);
	CHECK_ERR(group_series_of(q, &s, &key, 1, value, &err), ERR_CANCELLED);
	CHECK_ERR(group_series_top(q, &s, 2, &top, &err), ERR_CANCELLED);
	CHECK_ERR(query_growth(q, QUERY_BY_THREAD, 0, 4, &growth, &err), ERR_CANCELLED);
	close_query();
}

/* The tree of frames gives what a walk over each stack gives. */
TEST(the_frame_to_blame_is_that_of_frame_class)
{
	struct frame_rules rules = {0};
	struct query_groups g = {0};
	struct err err = {0};

	open_query(500);
	rules.executable = store_string(store, store_facts(store)->executable, NULL);
	CHECK(query_blame(q, 1) == NULL); /* not asked for yet */
	CHECK_OK(query_groups(q, QUERY_BY_BLAME, &g, &err));
	for (uint32_t s = 0; s < world.n_stacks; s++)
		CHECK(query_blame(q, s) == frame_class_blame(&rules, frames, s, &err));
	CHECK(query_blame(q, world.n_stacks) == NULL);
	query_groups_fini(&g);
	close_query();
}

TEST(functions_to_blame_without_a_name_are_called_by_their_address)
{
	struct query_groups g = {0};
	struct err err = {0};
	size_t n_nameless = 0, n_jit = 0;

	open_query(5000);
	CHECK_OK(query_groups(q, QUERY_BY_BLAME, &g, &err));
	for (size_t i = 0; i < g.n; i++) {
		const struct frame *f = query_blame(q, g.stack[i]);
		const char *name = query_group_name(q, QUERY_BY_BLAME, g.group[i].key);
		char want[100];

		if (!f || f->function) {
			CHECK_STR_EQ(name ? name : "", f ? f->function : "");
			continue;
		}
		n_nameless++;
		n_jit += f->module == NULL;
		if (f->module)
			snprintf(want, sizeof(want), "%s+0x%llx", strrchr(f->module, '/') + 1,
				 (unsigned long long)f->module_offset);
		else
			snprintf(want, sizeof(want), "0x%llx", (unsigned long long)f->addr);
		CHECK_STR_EQ(name, want);
	}
	CHECK(n_nameless > n_jit && n_jit > 0);
	CHECK(query_group_name(q, QUERY_BY_BLAME, UINT64_MAX) == NULL);
	query_groups_fini(&g);
	close_query();
}

TEST(the_stack_of_a_group_goes_by_the_cost_that_is_asked_for)
{
	struct query_groups by_bytes = {0}, by_leaks = {0};
	struct err err = {0};
	size_t n_other = 0;

	open_query(5000);
	CHECK_OK(query_groups(q, QUERY_BY_PACKAGE, &by_bytes, &err));
	query_represent_by(q, QUERY_COST_LEAKED_COUNT);
	CHECK_OK(query_groups(q, QUERY_BY_PACKAGE, &by_leaks, &err));
	for (size_t i = 0; i < by_bytes.n; i++) {
		CHECK(world.figures[by_leaks.stack[i]].n_leaked >=
		      world.figures[by_bytes.stack[i]].n_leaked);
		n_other += by_leaks.stack[i] != by_bytes.stack[i];
	}
	CHECK(n_other > 0);
	query_groups_fini(&by_leaks);
	query_groups_fini(&by_bytes);
	close_query();
}

/* Times are indices here: those of a damaged store must not lead out of the arrays. */
TEST(times_that_make_no_sense_do_no_harm)
{
	struct group_series s = {.by = QUERY_BY_PACKAGE, .from_ns = 1000, .n_buckets = 50};
	struct query_growths growth = {0};
	struct err err = {0};

	world_make(&world, 5, STORE_BLOCK_ROWS); /* of blocks the order is checked */
	s.to_ns = world.duration;
	for (size_t i = 0; i < world.n_rows; i++) {
		struct world_row *r = &world.row[i];

		if (world_below(&world, 3) == 0)
			r->alloc_ns = world_random(&world) >> world_below(&world, 64);
		if (world_below(&world, 3) == 0)
			r->free_ns = world_random(&world) >> world_below(&world, 64);
	}
	open_world();
	for (unsigned kind = 0; kind <= GROUP_SERIES_LEAKED_BYTES; kind++) {
		struct group_series_top top = {0};

		s.kind = (enum group_series_kind)kind;
		CHECK_OK(group_series_top(q, &s, 3, &top, &err));
		group_series_top_fini(&top);
	}
	CHECK_OK(query_growth(q, QUERY_BY_STACK, 1000, world.duration / 2, &growth, &err));
	query_growths_fini(&growth);
	close_query();
}
