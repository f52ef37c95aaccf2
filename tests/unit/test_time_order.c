/* Allocations and frees in the order of time, in memory and through the temporary file. */
#include "harness/test.h"

#include <stdlib.h>
#include <string.h>

#include "export/time_order.h"
#include "query_synth.h"

#define N_ROWS 20000u

struct step {
	uint64_t at_ns;
	uint64_t row;
	bool is_free;
};

struct seen {
	struct step *step;
	size_t n;
	size_t stop_at; /* 0: never */
};

static int on_allocated(void *user, const struct query_row *row, struct time_order_tag *tag)
{
	struct seen *s = user;

	if (s->stop_at && s->n >= s->stop_at)
		return -ERR_REFUSED;
	s->step[s->n++] = (struct step){row->alloc_ns, row->row, false};
	tag->a = row->row;
	tag->b = ~row->row;
	return 0;
}

static int on_freed(void *user, uint64_t at_ns, const struct time_order_tag *tag)
{
	struct seen *s = user;

	CHECK_EQ(tag->b, ~tag->a);
	s->step[s->n++] = (struct step){at_ns, tag->a, true};
	return 0;
}

static int walk(const struct query_context *c, size_t max_waiting, struct seen *seen,
		uint64_t *n_rows)
{
	const struct time_order_calls calls = {"/tmp", on_allocated, on_freed, seen};
	struct filter filter;
	struct query *q = NULL;
	struct err err = {0};
	int r;

	filter_init(&filter);
	CHECK_OK(query_create(c, &filter, &q, &err));
	seen->n = 0;
	r = time_order_each(q, max_waiting, &calls, n_rows, &err);
	query_destroy(q);
	filter_fini(&filter);
	return r;
}

/* Every row is allocated once and freed at most once, no time goes back, and no row is freed before
 * it is allocated. */
static void check_order(const struct world *w, const struct seen *seen)
{
	uint8_t *state = calloc(w->n_rows, 1);
	size_t n_expected = w->n_rows;

	CHECK_NOT_NULL(state);
	for (size_t i = 0; i < w->n_rows; i++)
		n_expected += w->row[i].free_ns != WORLD_NEVER;
	CHECK_EQ(seen->n, n_expected);
	for (size_t i = 0; i < seen->n; i++) {
		const struct step *s = &seen->step[i];
		const struct world_row *row = &w->row[s->row];

		CHECK(i == 0 || s->at_ns >= s[-1].at_ns);
		CHECK_EQ(s->at_ns, s->is_free ? row->free_ns : row->alloc_ns);
		CHECK_EQ(state[s->row], s->is_free);
		state[s->row]++;
		/* at equal times frees come before allocations */
		if (i > 0 && s->is_free && !s[-1].is_free && s->at_ns == s[-1].at_ns)
			CHECK_EQ(s->row, s[-1].row);
	}
	free(state);
}

TEST(few_in_memory_give_the_same_as_all)
{
	static const size_t limits[] = {N_ROWS, 1, 2, 3, 64, 1000};
	struct world w;
	struct query_context c = {.n_threads = 1};
	struct store *store = NULL;
	struct frames *frames = NULL;
	struct seen all = {0}, few = {0};
	struct err err = {0};
	uint64_t n_rows = 0;

	world_make(&w, 77, N_ROWS);
	CHECK_OK(world_open(&w, &store, &frames, &err));
	c.store = store;
	c.frames = frames;
	all.step = malloc(2 * N_ROWS * sizeof(*all.step));
	few.step = malloc(2 * N_ROWS * sizeof(*few.step));
	CHECK(all.step && few.step);
	CHECK_OK(walk(&c, limits[0], &all, &n_rows));
	CHECK_EQ(n_rows, w.n_rows);
	check_order(&w, &all);
	for (size_t i = 1; i < ARRAY_LEN(limits); i++) {
		CHECK_OK(walk(&c, limits[i], &few, NULL));
		CHECK_EQ(few.n, all.n);
		for (size_t k = 0; k < all.n; k++) {
			CHECK_EQ(few.step[k].row, all.step[k].row);
			CHECK_EQ(few.step[k].is_free, all.step[k].is_free);
		}
	}
	few.stop_at = 500;
	CHECK_ERR(walk(&c, 8, &few, NULL), ERR_REFUSED);
	free(few.step);
	free(all.step);
	frames_close(frames);
	store_close(store);
	world_free(&w);
}
