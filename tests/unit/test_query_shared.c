/* What queries share (kept peaks) and pairs of threads: hundreds of random filters, each answer compared
 * with that of a query which keeps nothing, or with a naive count. */
#include "harness/test.h"

#include <stdlib.h>

#include "query/peak_cache.h"
#include "query/thread_pairs.h"
#include "query_fixture.h"

#if CONFIG_CHECKS > 1 /* builds with sanitizers */
#define N_FILTERS 60u
#else
#define N_FILTERS 300u
#endif

static struct query_peak peak_with(struct peak_cache *cache)
{
	struct query_context c = {.store = store, .frames = frames, .n_threads = 1, .peaks = cache};
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

/* More filters than the cache has entries: some peaks are kept, some were dropped. */
TEST(kept_peaks_are_those_of_their_filter)
{
	struct peak_cache *cache;

	world_make(&world, 41, 500);
	fixture_open();
	cache = peak_cache_create(store);
	CHECK(cache != NULL);
	for (unsigned i = 0; i < N_FILTERS; i++) {
		struct naive n = {.n = 0};
		struct query_peak right;

		naive_random(&world, &n);
		fixture_ask(&n);
		right = peak_with(NULL);
		check_same(peak_with(cache), right);
		check_same(peak_with(cache), right);
		fixture_end();
	}
	peak_cache_destroy(cache);
	fixture_close();
}

static int n_found;

static int find_nothing(struct query *one, struct query_peak *ret, struct err *err)
{
	(void)one;
	(void)ret;
	n_found++;
	return err_set(err, ERR_FORMAT, "no peak");
}

static int find_seven(struct query *one, struct query_peak *ret, struct err *err)
{
	(void)one;
	(void)err;
	n_found++;
	*ret = (struct query_peak){.n_bytes = 7};
	return 0;
}

TEST(a_peak_is_looked_for_once_unless_that_fails)
{
	const struct world_row row = {.size = 64};
	struct query_peak peak = {0};
	struct peak_cache *cache, *other;
	struct err err = {0};

	fixture_rows(&row, 1, false);
	cache = peak_cache_create(store);
	n_found = 0;
	CHECK_ERR(peak_cache_get(cache, q, find_nothing, &peak, &err), ERR_FORMAT);
	CHECK_OK(peak_cache_get(cache, q, find_seven, &peak, &err));
	CHECK_OK(peak_cache_get(cache, q, find_seven, &peak, &err));
	CHECK_EQ(n_found, 2);
	CHECK_EQ(peak.n_bytes, 7);
	/* a cache of another store keeps nothing of this one */
	other = peak_cache_create(NULL);
	CHECK_OK(peak_cache_get(other, q, find_seven, &peak, &err));
	CHECK_OK(peak_cache_get(other, q, find_seven, &peak, &err));
	CHECK_EQ(n_found, 4);
	peak_cache_destroy(other);
	peak_cache_destroy(cache);
	fixture_end();
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
