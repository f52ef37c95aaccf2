/* Ranges that do not overlap: random changes beside an array that holds the range of each number. */
#include "harness/test.h"

#include <stdlib.h>
#include <string.h>

#include "harness/random.h"
#include "util/range_map.h"

#define N 20000u /* numbers; enough ranges for many chunks */
#define N_CHANGES 60000u

static uint64_t value_at[N]; /* 0: nothing */
static uint64_t seed;

static uint64_t below(uint64_t n)
{
	return random_next(&seed) % n;
}

static void check_piece(void *user, const struct range *piece)
{
	uint64_t *n = user;

	CHECK(piece->start < piece->end && piece->end <= N);
	for (uint64_t i = piece->start; i < piece->end; i++)
		CHECK_EQ(value_at[i], piece->value);
	*n += piece->end - piece->start;
}

static void cut(struct range_map *m, uint64_t start, uint64_t end)
{
	uint64_t n = 0, want = 0;
	struct err err = {0};

	CHECK_OK(range_map_cut(m, start, end, check_piece, &n, &err));
	for (uint64_t i = start; i < end; i++) {
		want += value_at[i] != 0;
		value_at[i] = 0;
	}
	CHECK_EQ(n, want);
}

struct listing {
	uint64_t end; /* of the one before */
	size_t n;
	uint64_t n_numbers;
};

static bool list(void *user, const struct range *r)
{
	struct listing *l = user;

	CHECK(l->n == 0 || r->start >= l->end);
	check_piece(&l->n_numbers, r);
	l->end = r->end;
	l->n++;
	return true;
}

static void check_all(const struct range_map *m)
{
	struct listing l = {0};
	uint64_t want = 0;

	range_map_each(m, list, &l);
	for (size_t i = 0; i < N; i++)
		want += value_at[i] != 0;
	CHECK_EQ(l.n, m->n);
	CHECK_EQ(l.n_numbers, want);
}

TEST(random_changes_leave_what_an_array_says)
{
	struct range_map m = {0};
	struct err err = {0};

	for (seed = 1; seed < 4; seed++) {
		memset(value_at, 0, sizeof(value_at));
		for (unsigned i = 1; i < N_CHANGES; i++) {
			uint64_t start = below(N), most = below(500) ? 8 : 3000;
			uint64_t end = start + 1 + below(N - start < most ? N - start : most);
			const struct range *r = range_map_next(&m, start);

			CHECK(!r || r->end > start);
			CHECK_EQ(r && r->start <= start, value_at[start] != 0);
			if (below(8) == 0) {
				CHECK_OK(range_map_split(&m, start, &err)); /* changes nothing */
				continue;
			}
			cut(&m, start, end);
			if (below(3)) {
				CHECK_OK(range_map_put(&m, &(struct range){start, end, i}, &err));
				for (uint64_t k = start; k < end; k++)
					value_at[k] = i;
			}
			if (i % 4096 == 0)
				check_all(&m);
		}
		CHECK(m.n > 1000); /* or chunks were never cut in two */
		check_all(&m);
		cut(&m, 0, N);
		CHECK_EQ(m.n, 0);
		CHECK_EQ(m.n_chunks, 0);
	}
	range_map_fini(&m);
}

TEST(the_ends_of_the_numbers_are_allowed)
{
	struct range_map m = {0};
	struct err err = {0};

	CHECK_NULL(range_map_next(&m, 0));
	CHECK_OK(range_map_put(&m, &(struct range){0, UINT64_MAX, 7}, &err));
	CHECK_OK(range_map_cut(&m, 1, UINT64_MAX - 1, NULL, NULL, &err));
	CHECK_EQ(m.n, 2);
	CHECK_EQ(range_map_next(&m, 5)->start, UINT64_MAX - 1);
	CHECK_OK(range_map_cut(&m, 9, 9, NULL, NULL, &err));
	CHECK_EQ(m.n, 2);
	range_map_fini(&m);
}
