/* What queries share (peaks, groups) and pairs of threads: hundreds of random filters, each answer compared
 * with that of a query which shares nothing, or with a naive count. */
#include "harness/test.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "query/chains.h"
#include "query/query_i.h"
#include "query/shared_results.h"
#include "query/sizes.h"
#include "query/thread_pairs.h"
#include "query_fixture.h"

#if CONFIG_CHECKS > 1 /* builds with sanitizers */
#define N_FILTERS 60u
#else
#define N_FILTERS 300u
#endif

static struct query_context context_with(struct shared_results *shared)
{
	return (struct query_context){
		.store = store, .frames = frames, .n_threads = 1, .shared = shared};
}

static struct query_peak peak_with(struct shared_results *shared)
{
	struct query_context c = context_with(shared);
	struct query_peak peak = {0};
	struct query *one = NULL;
	struct err err = {0};

	CHECK_OK(query_create(&c, &filter, &one, &err));
	CHECK_OK(query_peak(one, &peak, &err));
	query_destroy(one);
	return peak;
}

static void check_same(struct query_peak a, struct query_peak b)
{
	CHECK_EQ(a.at_ns, b.at_ns);
	CHECK_EQ(a.n_bytes, b.n_bytes);
	CHECK_EQ(a.n_alive, b.n_alive);
}

/* Groups by `by`, with figures as `wants` says. */
static struct query_groups groups_with(struct shared_results *shared, enum query_group_by by,
				       unsigned wants)
{
	struct query_context c = context_with(shared);
	struct query_groups g = {0};
	struct query_group total;
	struct query *one = NULL;
	struct err err = {0};

	CHECK_OK(query_create(&c, &filter, &one, &err));
	query_want(one, wants);
	CHECK_OK(query_total(one, &total, &err));
	CHECK_OK(query_groups(one, by, &g, &err));
	if (wants == QUERY_WANT_ALL) /* else the table of stacks may leave out what rows give */
		CHECK(memcmp(&total, &g.total, sizeof(total)) == 0);
	query_destroy(one);
	return g;
}

static void check_same_groups(struct query_groups got, const struct query_groups *right)
{
	CHECK_EQ(got.n, right->n);
	CHECK(memcmp(&got.total, &right->total, sizeof(got.total)) == 0);
	CHECK(memcmp(got.group, right->group, got.n * sizeof(*got.group)) == 0);
	query_groups_fini(&got);
}

/* Every kind of groups, with and without peaks, in an order in which one kind could pass for
 * another. */
static void check_groups(struct shared_results *shared)
{
	for (unsigned i = 0; i <= QUERY_BY_PACKAGE; i++) {
		enum query_group_by by = (enum query_group_by)i;

		for (unsigned wants = 0; wants <= QUERY_WANT_ALL; wants++) {
			struct query_groups right = groups_with(NULL, by, wants);

			check_same_groups(groups_with(shared, by, wants), &right);
			query_groups_fini(&right);
		}
	}
}

/* More filters than there are entries, and room for few groups: some results are kept, some were
 * dropped, some are never kept. */
TEST(shared_results_are_those_of_their_filter)
{
	static const size_t max_bytes[] = {0, 4000, 40000, (size_t)1 << 30};
	struct shared_results *shared[ARRAY_LEN(max_bytes)];

	world_make(&world, 41, 500);
	fixture_open();
	for (size_t k = 0; k < ARRAY_LEN(max_bytes); k++) {
		shared[k] = shared_results_create(store, max_bytes[k]);
		CHECK(shared[k] != NULL);
	}
	for (unsigned i = 0; i < N_FILTERS; i++) {
		struct shared_results *one = shared[i % ARRAY_LEN(max_bytes)];
		struct naive n = {.n = 0};
		struct query_peak right;

		naive_random(&world, &n);
		fixture_ask(&n);
		right = peak_with(NULL);
		check_same(peak_with(one), right);
		check_same(peak_with(one), right);
		check_groups(one);
		fixture_end();
	}
	for (size_t k = 0; k < ARRAY_LEN(max_bytes); k++)
		shared_results_destroy(shared[k]);
	fixture_close();
}

/* The same rows, but another time in which allocations count as early or late. */
TEST(filters_with_equal_rows_and_another_span_share_nothing)
{
	const struct world_row row[] = {{.alloc_ns = 40, .size = 64, .free_ns = WORLD_NEVER},
					{.alloc_ns = 60, .size = 32, .free_ns = WORLD_NEVER}};
	struct shared_results *shared;
	struct err err = {0};

	fixture_rows(row, ARRAY_LEN(row), false);
	shared = shared_results_create(store, (size_t)1 << 20);
	for (unsigned i = 0; i < 2; i++) {
		struct query_groups right;

		CHECK_EQ(filter_set(&filter, "size_min", "1", &err), 1);
		CHECK_EQ(filter_set(&filter, "from", i ? "30ns" : "0ns", &err), 1);
		right = groups_with(NULL, QUERY_BY_STACK, QUERY_WANT_ALL);
		check_same_groups(groups_with(shared, QUERY_BY_STACK, QUERY_WANT_ALL), &right);
		query_groups_fini(&right);
	}
	shared_results_destroy(shared);
	fixture_end();
	fixture_close();
}

/* ---- one computation for all ---- */

static atomic_int n_made;

static int make_nothing(struct query *one, unsigned kind, struct shared_result *ret,
			struct err *err)
{
	(void)one, (void)kind, (void)ret;
	atomic_fetch_add(&n_made, 1);
	return err_set(err, ERR_FORMAT, "no result");
}

static int make_seven(struct query *one, unsigned kind, struct shared_result *ret, struct err *err)
{
	int *seven = malloc(sizeof(*seven));

	(void)one, (void)kind, (void)err;
	CHECK(seven != NULL);
	atomic_fetch_add(&n_made, 1);
	*seven = 7;
	ret->data = seven;
	ret->n_bytes = sizeof(*seven);
	ret->destroy = free;
	return 0;
}

static void check_seven(struct shared_results *shared, unsigned kind)
{
	struct shared_result *result = NULL;
	struct err err = {0};

	CHECK_OK(shared_results_get(shared, q, kind, make_seven, &result, &err));
	CHECK_EQ(*(int *)result->data, 7);
	shared_result_release(result);
}

TEST(a_result_is_computed_once_unless_that_fails)
{
	const struct world_row row = {.size = 64};
	struct shared_results *shared, *other, *small;
	struct shared_result *result = NULL;
	struct err err = {0};

	fixture_rows(&row, 1, false);
	shared = shared_results_create(store, 4096);
	n_made = 0;
	CHECK_ERR(shared_results_get(shared, q, 0, make_nothing, &result, &err), ERR_FORMAT);
	check_seven(shared, 0);
	check_seven(shared, 0);
	CHECK_EQ(n_made, 2);
	check_seven(shared, 1); /* another kind */
	CHECK_EQ(n_made, 3);
	/* results of another store share nothing with this one */
	other = shared_results_create(NULL, 4096);
	check_seven(other, 0);
	check_seven(other, 0);
	CHECK_EQ(n_made, 5);
	small = shared_results_create(store, 1); /* nothing fits */
	check_seven(small, 0);
	check_seven(small, 0);
	CHECK_EQ(n_made, 7);
	shared_results_destroy(small);
	shared_results_destroy(other);
	shared_results_destroy(shared);
	fixture_end();
	fixture_close();
}

TEST(the_least_recently_used_result_is_dropped_first)
{
	const struct world_row row = {.size = 64};
	struct shared_results *shared;

	fixture_rows(&row, 1, false);
	shared = shared_results_create(store, (size_t)1 << 20);
	n_made = 0;
	for (unsigned kind = 0; kind < SHARED_RESULTS_MAX_ENTRIES; kind++)
		check_seven(shared, kind);
	check_seven(shared, 0); /* now kind 1 is the oldest */
	check_seven(shared, SHARED_RESULTS_MAX_ENTRIES);
	CHECK_EQ(n_made, (int)SHARED_RESULTS_MAX_ENTRIES + 1);
	check_seven(shared, 0);
	check_seven(shared, 2);
	CHECK_EQ(n_made, (int)SHARED_RESULTS_MAX_ENTRIES + 1);
	check_seven(shared, 1);
	CHECK_EQ(n_made, (int)SHARED_RESULTS_MAX_ENTRIES + 2);
	shared_results_destroy(shared);
	fixture_end();
	fixture_close();
}

/* A query of its own in a thread of its own; make_slowly() computes until `gate` opens. */
struct asker {
	pthread_t thread;
	struct shared_results *shared;
	atomic_bool cancel;
	int result, value;
	atomic_int n_given, n_taken; /* the turn */
	struct query_progress progress;
};
static atomic_bool gate;
static atomic_int n_cancelled;

static int make_slowly(struct query *one, unsigned kind, struct shared_result *ret, struct err *err)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	atomic_fetch_add(&n_made, 1);
	while (!atomic_load(&gate)) {
		if (query_check_cancel(one, err) < 0) {
			atomic_fetch_add(&n_cancelled, 1);
			return -ERR_CANCELLED;
		}
		nanosleep(&pause, NULL);
	}
	atomic_fetch_sub(&n_made, 1); /* make_seven() counts it again */
	return make_seven(one, kind, ret, err);
}

static void give(void *user)
{
	atomic_fetch_add(&((struct asker *)user)->n_given, 1);
}

static void take(void *user)
{
	atomic_fetch_add(&((struct asker *)user)->n_taken, 1);
}

static void *ask(void *user)
{
	struct asker *a = user;
	const struct query_turn turn = {.give = give, .take = take, .user = a};
	struct query_context c = context_with(a->shared);
	struct shared_result *result = NULL;
	struct query *one = NULL;
	struct err err = {0};

	c.cancel = &a->cancel;
	c.turn = &turn;
	c.progress = &a->progress;
	a->result = query_create(&c, &filter, &one, &err);
	if (a->result == 0)
		a->result = shared_results_get(a->shared, one, 0, make_slowly, &result, &err);
	if (a->result == 0)
		a->value = *(int *)result->data;
	shared_result_release(result);
	query_destroy(one);
	return NULL;
}

static void start(struct asker *a, struct shared_results *shared)
{
	*a = (struct asker){.shared = shared};
	CHECK_EQ(pthread_create(&a->thread, NULL, ask, a), 0);
}

static void wait_until_made(int n)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	while (atomic_load(&n_made) < n)
		nanosleep(&pause, NULL);
}

/* Long enough for a query to notice what changed. If the machine is slower, the test passes all
 * the same. */
static void wait_long(void)
{
	const struct timespec pause = {.tv_nsec = 120000000};

	nanosleep(&pause, NULL);
}

TEST(a_computation_is_cancelled_only_if_nobody_waits_for_it)
{
	const struct world_row row = {.size = 64};
	struct shared_results *shared;
	struct asker a[4];

	fixture_rows(&row, 1, false);
	for (unsigned all_leave = 0; all_leave < 2; all_leave++) {
		/* 0 bytes: nothing is kept, yet all who wait get the result */
		shared = shared_results_create(store, 0);
		n_made = n_cancelled = 0;
		gate = false;
		start(&a[0], shared);
		wait_until_made(1);
		for (unsigned i = 1; i < ARRAY_LEN(a); i++)
			start(&a[i], shared);
		wait_long();
		CHECK_EQ(atomic_load(&n_made), 1); /* the others wait */
		a[0].cancel = true;
		a[1].cancel = true;
		pthread_join(a[1].thread, NULL); /* at once, though the result is not there */
		CHECK_EQ(a[1].result, -ERR_CANCELLED);
		wait_long();
		CHECK_EQ(atomic_load(&n_cancelled), 0);
		if (all_leave)
			a[2].cancel = a[3].cancel = true;
		else
			gate = true;
		for (unsigned i = 0; i < ARRAY_LEN(a); i++) {
			if (i != 1)
				pthread_join(a[i].thread, NULL);
			if (i >= 2)
				CHECK_EQ(a[i].result, all_leave ? -ERR_CANCELLED : 0);
			if (i >= 2 && !all_leave)
				CHECK_EQ(a[i].value, 7);
		}
		CHECK_EQ(atomic_load(&n_made), 1);
		CHECK_EQ(atomic_load(&n_cancelled), (int)all_leave);
		shared_results_destroy(shared);
	}
	fixture_end();
	fixture_close();
}

/* Many queries with few filters and little room, of which some are cancelled: what they get is
 * right. Under TSan the test also finds races. */
#define N_ASKERS 8u
#define N_ROUNDS 40u

struct client {
	pthread_t thread;
	struct shared_results *shared;
	const struct filter *filter; /* N_CLIENT_FILTERS of them */
	const struct query_groups *right;
	unsigned seed, n_wrong, n_right;
};
#define N_CLIENT_FILTERS 3u

static void *ask_often(void *user)
{
	struct client *me = user;

	for (unsigned i = 0; i < N_ROUNDS; i++) {
		unsigned which = (me->seed + i) % N_CLIENT_FILTERS;
		struct query_context c = context_with(me->shared);
		struct query_groups g = {0};
		struct query *one = NULL;
		struct err err = {0};
		atomic_bool cancel = (me->seed + i) % 5 == 0;
		int r;

		c.cancel = &cancel;
		r = query_create(&c, &me->filter[which], &one, &err);
		if (r == 0)
			r = query_groups(one, QUERY_BY_STACK, &g, &err);
		if (r == 0 && (g.n != me->right[which].n || memcmp(g.group, me->right[which].group,
								   g.n * sizeof(*g.group)) != 0))
			me->n_wrong++;
		me->n_right += r == 0;
		me->n_wrong += r < 0 && !cancel;
		query_groups_fini(&g);
		query_destroy(one);
	}
	return NULL;
}

TEST(queries_in_many_threads_share_right_results)
{
	static const char *const size_min[N_CLIENT_FILTERS] = {"1", "16", "64"};
	struct filter own[N_CLIENT_FILTERS];
	struct query_groups right[N_CLIENT_FILTERS];
	struct client client[N_ASKERS];
	struct shared_results *shared;
	struct naive n = {.n = 0};
	struct err err = {0};

	world_make(&world, 43, 4 * STORE_BLOCK_ROWS);
	fixture_open();
	fixture_ask(&n);
	shared = shared_results_create(store, 6000); /* one or two results */
	for (unsigned i = 0; i < N_CLIENT_FILTERS; i++) {
		CHECK_EQ(filter_set(&filter, "size_min", size_min[i], &err), 1);
		right[i] = groups_with(NULL, QUERY_BY_STACK, QUERY_WANT_ALL);
		filter_init(&own[i]);
		CHECK_EQ(filter_set(&own[i], "size_min", size_min[i], &err), 1);
	}
	for (unsigned i = 0; i < N_ASKERS; i++) {
		client[i] =
			(struct client){.shared = shared, .filter = own, .right = right, .seed = i};
		CHECK_EQ(pthread_create(&client[i].thread, NULL, ask_often, &client[i]), 0);
	}
	for (unsigned i = 0; i < N_ASKERS; i++) {
		pthread_join(client[i].thread, NULL);
		CHECK_EQ(client[i].n_wrong, 0);
		CHECK(client[i].n_right > 0);
	}
	for (unsigned i = 0; i < N_CLIENT_FILTERS; i++) {
		query_groups_fini(&right[i]);
		filter_fini(&own[i]);
	}
	shared_results_destroy(shared);
	fixture_end();
	fixture_close();
}

/* Asks by a cost, and for the chains: *n_passes is how many passes over the rows that took. */
static void ask_blocks(struct shared_results *shared, enum query_cost cost, struct sizes *sizes,
		       struct chains *chains, unsigned *n_passes)
{
	struct query_context c = context_with(shared);
	struct query_progress progress = {0};
	struct query *one = NULL;
	struct err err = {0};

	c.progress = &progress;
	CHECK_OK(query_create(&c, &filter, &one, &err));
	CHECK_OK(sizes_count(one, cost, 5, sizes, &err));
	CHECK_OK(chains_by_site(one, CHAINS_WINDOW_ROWS, chains, &err));
	*n_passes = atomic_load(&progress.n_passes);
	query_destroy(one);
}

static void check_blocks(struct shared_results *shared, enum query_cost cost, unsigned *n_passes)
{
	static struct sizes got, right;
	struct chains got_chains = {0}, right_chains = {0};
	unsigned n;

	ask_blocks(NULL, cost, &right, &right_chains, &n);
	CHECK(n > 0);
	ask_blocks(shared, cost, &got, &got_chains, n_passes);
	CHECK_EQ(got.n_buckets, right.n_buckets);
	CHECK_EQ(got.n_parts, right.n_parts);
	for (size_t i = 0; i < got.n_buckets; i++) {
		CHECK_EQ(got.bucket[i].cost.n_bytes, right.bucket[i].cost.n_bytes);
		CHECK_EQ(got.bucket[i].cost.peak_bytes, right.bucket[i].cost.peak_bytes);
		for (size_t k = 0; k < got.n_parts; k++)
			CHECK_EQ(got.bucket[i].part[k], right.bucket[i].part[k]);
	}
	CHECK_EQ(got_chains.n_sites, right_chains.n_sites);
	for (size_t i = 0; i < got_chains.n_sites; i++) {
		CHECK_EQ(got_chains.site[i].stack, right_chains.site[i].stack);
		CHECK_EQ(got_chains.site[i].copied_bytes, right_chains.site[i].copied_bytes);
	}
	chains_fini(&got_chains);
	chains_fini(&right_chains);
}

TEST(sizes_by_another_cost_and_chains_in_another_order_need_no_pass)
{
	static const struct naive any;
	struct shared_results *shared;
	unsigned n_passes;

	world_make(&world, 7, 4 * STORE_BLOCK_ROWS);
	fixture_open();
	fixture_ask(&any);
	shared = shared_results_create(store, (size_t)32 << 20);
	CHECK(shared != NULL);
	check_blocks(shared, QUERY_COST_BYTES, &n_passes);
	CHECK(n_passes > 0);
	for (unsigned cost = 0; cost <= QUERY_COST_EXTRA_BYTES; cost++) {
		check_blocks(shared, (enum query_cost)cost, &n_passes);
		CHECK_EQ(n_passes, 0u);
	}
	shared_results_destroy(shared);
	fixture_end();
	fixture_close();
}

static unsigned passes_of_groups(struct shared_results *shared, unsigned wants)
{
	struct query_context c = context_with(shared);
	struct query_progress progress = {0};
	struct query_groups g = {0};
	struct query *one = NULL;
	struct err err = {0};

	c.progress = &progress;
	CHECK_OK(query_create(&c, &filter, &one, &err));
	query_want(one, wants);
	CHECK_OK(query_groups(one, QUERY_BY_STACK, &g, &err));
	CHECK_EQ(g.total.peak_bytes > 0, wants == QUERY_WANT_PEAK);
	query_groups_fini(&g);
	query_destroy(one);
	return atomic_load(&progress.n_passes);
}

TEST(groups_with_the_peak_do_for_those_who_do_not_want_it)
{
	struct shared_results *shared;
	struct err err = {0};

	world_make(&world, 11, 4 * STORE_BLOCK_ROWS);
	fixture_open();
	filter_init(&filter);
	CHECK_EQ(filter_set(&filter, "size_min", "20", &err), 1);
	shared = shared_results_create(store, (size_t)32 << 20);
	CHECK(shared != NULL);
	CHECK(passes_of_groups(shared, QUERY_WANT_PEAK) > 0);
	CHECK_EQ(passes_of_groups(shared, 0), 0u);
	shared_results_destroy(shared);
	filter_fini(&filter);
	fixture_close();
}

/* Passes over the rows for a timeline of these stacks. */
static unsigned passes_of_timeline(const char *stacks)
{
	struct query_context c = context_with(NULL);
	struct query_progress progress = {0};
	static struct store_bucket bucket[50];
	struct query *one = NULL;
	struct err err = {0};

	filter_init(&filter);
	if (stacks)
		CHECK_EQ(filter_set(&filter, "backtraces", stacks, &err), 1);
	else
		CHECK_EQ(filter_set(&filter, "size_min", "1", &err), 1);
	c.progress = &progress;
	CHECK_OK(query_create(&c, &filter, &one, &err));
	CHECK_OK(query_timeline(one, 0, query_span(one).span_ns, ARRAY_LEN(bucket), bucket, &err));
	query_destroy(one);
	filter_fini(&filter);
	return atomic_load(&progress.n_passes);
}

TEST(a_timeline_of_few_stacks_takes_one_pass)
{
	world_make(&world, 12, 8 * STORE_BLOCK_ROWS);
	fixture_open();
	CHECK(passes_of_timeline(NULL) > 1);
	CHECK_EQ(passes_of_timeline("3"), 1u);
	fixture_close();
}

static void check_pairs(size_t n)
{
	struct thread_pair *got = calloc(n * n + 1, sizeof(*got));
	struct thread_pair *right = calloc(n * n + 1, sizeof(*right));
	struct err err = {0};

	CHECK_OK(thread_pairs_count(q, n, got, &err));
	for (size_t i = 0; i < world.n_rows; i++) {
		const struct world_row *r = &world.row[i];

		if (!chosen[i] || r->free_ns == WORLD_NEVER || r->thread >= n ||
		    r->free_thread >= n)
			continue;
		right[r->thread * n + r->free_thread].count++;
		right[r->thread * n + r->free_thread].n_bytes += r->size;
	}
	for (size_t i = 0; i < n * n; i++) {
		CHECK_EQ(got[i].count, right[i].count);
		CHECK_EQ(got[i].n_bytes, right[i].n_bytes);
	}
	free(got);
	free(right);
}

TEST(pairs_of_threads_are_those_of_freed_matches)
{
	world_make(&world, 42, 16 * STORE_BLOCK_ROWS + 5); /* work for several threads */
	fixture_open();
	for (unsigned i = 0; i < 12; i++) {
		struct naive n = {.n = 0};

		if (i)
			naive_random(&world, &n);
		fixture_ask(&n);
		check_pairs(world.n_threads);
		check_pairs(2); /* threads from the third on are left out */
		fixture_end();
	}
	fixture_close();
}

/* In a server, turns are few: who waits for another query must not keep one. */
TEST(a_query_that_waits_gives_its_turn_back)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	const struct world_row row = {.size = 64};
	struct shared_results *shared;
	struct asker a[2];

	fixture_rows(&row, 1, false);
	shared = shared_results_create(store, (size_t)1 << 20);
	n_made = n_cancelled = 0;
	gate = false;
	start(&a[0], shared);
	wait_until_made(1);
	start(&a[1], shared);
	while (!atomic_load(&a[1].n_given))
		nanosleep(&pause, NULL);
	CHECK_EQ(atomic_load(&a[1].n_taken), 0);
	gate = true;
	for (unsigned i = 0; i < ARRAY_LEN(a); i++) {
		pthread_join(a[i].thread, NULL);
		CHECK_EQ(a[i].value, 7);
		CHECK_EQ(atomic_load(&a[i].n_given), (int)i);
		CHECK_EQ(atomic_load(&a[i].n_taken), (int)i);
		/* what it would have taken to compute the result counts for who waited for it */
		CHECK_EQ(atomic_load(&a[i].progress.others_cpu_ns) > 0, i > 0);
	}
	shared_results_destroy(shared);
	fixture_end();
	fixture_close();
}
