/* Thousands of random filters on three stores: rows, orders, groups, peaks, timelines and growth are those
 * that a naive evaluation of the same conditions finds. */
#include "harness/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/query.h"
#include "query_naive.h"
#include "query_naive_time.h"

/* On each of three stores; where everything is ten times slower, not so many. */
#if CONFIG_CHECKS > 1 /* builds with sanitizers */
#define N_FILTERS 100u
#else
#define N_FILTERS 700u
#endif

static struct world world;
static struct store *store;
static struct frames *frames;
static bool *chosen; /* rows that match, as the naive evaluation says */
static size_t n_chosen;
static const struct naive *current; /* the filter; shown when a check fails */

static void open_world_with_pause(uint64_t seed, size_t n_rows, uint64_t pause_ns)
{
	struct err err = {0};

	world_make(&world, seed, n_rows);
	world_pause(&world, pause_ns);
	chosen = calloc(n_rows + 1, 1);
	if (world_open(&world, &store, &frames, &err) < 0)
		fprintf(stderr, "%s\n", err.text);
	CHECK_EQ(err.code, ERR_NONE);
}

static void open_world(uint64_t seed, size_t n_rows)
{
	open_world_with_pause(seed, n_rows, 0);
}

static void close_world(void)
{
	frames_close(frames);
	store_close(store);
	free(chosen);
	world_free(&world);
}

/* ---- rows ---- */

static enum query_sort sort_by;
static bool is_descending;

static uint64_t sort_key(const struct world_row *r)
{
	switch (sort_by) {
	case QUERY_BY_ADDRESS:
		return r->addr;
	case QUERY_BY_SIZE:
		return r->size;
	case QUERY_BY_LIFETIME:
		return (r->free_ns == WORLD_NEVER ? world.duration : r->free_ns) - r->alloc_ns;
	case QUERY_BY_USABLE_SIZE:
		return r->size + r->extra;
	case QUERY_BY_FREE_TIME:
		return r->free_ns;
	case QUERY_BY_KIND:
		return r->flags & STORE_KIND_MASK;
	case QUERY_BY_CHAIN_LENGTH:
		return r->chain == WORLD_NEVER ? 1 : world.chain[r->chain].length;
	case QUERY_BY_THREAD_INDEX:
		return r->thread;
	case QUERY_BY_STACK_NUMBER:
		return r->stack;
	default:
		return r->alloc_ns;
	}
}

static int compare_rows(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	uint64_t x_key = sort_key(&world.row[x]), y_key = sort_key(&world.row[y]);
	int order = x_key != y_key ? (x_key < y_key ? -1 : 1) : x < y ? -1 : x > y;

	return is_descending ? -order : order;
}

struct expected {
	const uint64_t *row;
	uint64_t n, at, n_wrong;
};

static bool check_row(void *user, const struct query_row *row)
{
	struct expected *e = user;
	const struct world_row *w;

	if (e->at >= e->n || row->row != e->row[e->at]) {
		e->n_wrong++;
		return false;
	}
	w = &world.row[e->row[e->at++]];
	e->n_wrong += row->alloc_ns != w->alloc_ns || row->free_ns != w->free_ns ||
		      row->size_bytes != w->size || row->extra_bytes != w->extra ||
		      row->addr != w->addr || row->marker != w->marker || row->chain != w->chain ||
		      row->chain_position != w->position || row->stack != w->stack ||
		      row->thread != w->thread || row->free_stack != w->free_stack ||
		      row->free_thread != w->free_thread || row->flags != w->flags;
	return true;
}

static void check_rows(struct query *q, const struct query_page *page)
{
	uint64_t *row = malloc((world.n_rows + 1) * sizeof(*row)), n = 0, n_matching = 12345;
	struct expected e;
	struct err err = {0};

	sort_by = page->sort;
	is_descending = page->is_descending;
	for (uint64_t i = 0; i < world.n_rows; i++) {
		if (chosen[i])
			row[n++] = i;
	}
	qsort(row, n, sizeof(*row), compare_rows);
	e = (struct expected){.row = row, .n = n};
	if (page->skip < n) {
		e.row = row + page->skip;
		e.n = n - page->skip < page->count ? n - page->skip : page->count;
	} else {
		e.n = 0;
	}
	CHECK_OK(query_rows(q, page, check_row, &e, &n_matching, &err));
	CHECK_EQ(e.n_wrong, 0);
	CHECK_EQ(e.at, e.n);
	CHECK_EQ(n_matching, n);
	free(row);
}

/* ---- groups ---- */

/* The time that the filter leaves for allocations, its end outside; never longer than the run. */
static void naive_span(long long *from, long long *end)
{
	const struct naive_condition *c = current ? naive_find(current, "from") : NULL;

	*from = c && c->number > 0 ? c->number : 0;
	*end = (long long)world.duration;
	c = current ? naive_find(current, "to") : NULL;
	if (c && c->number < *end)
		*end = c->number + 1;
}

static void add_row(struct query_group *g, const struct world_row *r, uint64_t peak_ns)
{
	long long from, end;

	naive_span(&from, &end);
	if (g->n_allocs++ == 0) {
		g->first_ns = g->last_ns = r->alloc_ns;
		g->min_size_bytes = g->max_size_bytes = r->size;
	}
	g->n_bytes += r->size;
	g->extra_bytes += r->extra;
	if (r->free_ns == WORLD_NEVER) {
		g->n_leaked++;
		g->leaked_bytes += r->size;
		if ((long long)r->alloc_ns < from + (end - from) / 20)
			g->leaked_early_bytes += r->size;
		if ((long long)r->alloc_ns >= end - (end - from) / 4)
			g->leaked_late_bytes += r->size;
	} else {
		g->lifetime_sum_ns += r->free_ns - r->alloc_ns;
	}
	if (r->flags & STORE_FLAG_TEMPORARY) {
		g->n_temporary++;
		g->temporary_bytes += r->size;
	}
	if (world_is_alive(r, peak_ns)) {
		g->peak_bytes += r->size;
		g->peak_count++;
	}
	g->first_ns = r->alloc_ns < g->first_ns ? r->alloc_ns : g->first_ns;
	g->last_ns = r->alloc_ns > g->last_ns ? r->alloc_ns : g->last_ns;
	g->min_size_bytes = r->size < g->min_size_bytes ? r->size : g->min_size_bytes;
	g->max_size_bytes = r->size > g->max_size_bytes ? r->size : g->max_size_bytes;
}

static int compare_groups(const void *a, const void *b)
{
	const struct query_group *x = a, *y = b;

	return x->key < y->key ? -1 : x->key > y->key;
}

static size_t naive_groups(enum query_group_by by, struct query_group *group, uint64_t peak_ns)
{
	uint64_t *key = naive_keys(&world, store, by);
	size_t n = 0;

	for (size_t i = 0; i < world.n_rows; i++) {
		size_t at = 0;

		if (!chosen[i])
			continue;
		while (at < n && group[at].key != key[i])
			at++;
		if (at == n)
			group[n++] = (struct query_group){.key = key[i]};
		add_row(&group[at], &world.row[i], peak_ns);
	}
	qsort(group, n, sizeof(*group), compare_groups);
	free(key);
	return n;
}

/* Each group is represented by its stack with most bytes, of equal ones the first. */
static void check_stacks(struct query *q, enum query_group_by by, const struct query_groups *g)
{
	uint64_t *key = naive_keys(&world, store, by), *n_bytes, *key_of_stack;

	n_bytes = calloc(world.n_stacks, sizeof(*n_bytes));
	key_of_stack = calloc(world.n_stacks, sizeof(*key_of_stack));
	for (size_t i = 0; i < world.n_rows; i++) {
		key_of_stack[world.row[i].stack] = key[i];
		n_bytes[world.row[i].stack] += chosen[i] ? world.row[i].size + (1ull << 40) : 0;
	}
	for (size_t i = 0; i < g->n; i++) {
		uint64_t want = naive_group_key(q, by, g->group[i].key, g->stack[i]);
		uint32_t best = UINT32_MAX;

		for (uint32_t s = 0; s < world.n_stacks; s++) {
			if (n_bytes[s] && key_of_stack[s] == want &&
			    (best == UINT32_MAX ||
			     n_bytes[s] % (1ull << 40) > n_bytes[best] % (1ull << 40)))
				best = s;
		}
		CHECK_EQ(g->stack[i], best);
	}
	free(key_of_stack);
	free(n_bytes);
	free(key);
}

static void check_groups(struct query *q, enum query_group_by by)
{
	struct query_group *group = malloc((world.n_rows + 1) * sizeof(*group)), total = {0};
	struct query_groups g;
	struct query_peak peak;
	struct err err = {0};
	size_t n;

	CHECK_OK(query_peak(q, &peak, &err));
	CHECK_OK(query_groups(q, by, &g, &err));
	for (size_t i = 1; i < g.n; i++)
		CHECK(g.group[i - 1].key < g.group[i].key);
	n = naive_groups(by, group, peak.at_ns);
	CHECK_EQ(g.n, n);
	CHECK_EQ(g.stack != NULL, by >= QUERY_BY_CODE);
	if (g.stack)
		check_stacks(q, by, &g);
	for (size_t i = 0; i < n; i++)
		g.group[i].key = naive_group_key(q, by, g.group[i].key, g.stack ? g.stack[i] : 0);
	if (n) {
		qsort(g.group, n, sizeof(*group), compare_groups);
		CHECK_MEM_EQ(g.group, group, n * sizeof(*group));
	}
	for (size_t i = 0; i < world.n_rows; i++) {
		if (chosen[i])
			add_row(&total, &world.row[i], peak.at_ns);
	}
	CHECK_MEM_EQ(&g.total, &total, sizeof(total));
	query_groups_fini(&g);
	free(group);
}

/* ---- over time ---- */

static void check_peak(struct query *q)
{
	uint64_t at, n_bytes, count;
	struct query_peak peak;
	struct err err = {0};

	world_peak(&world, chosen, &at, &n_bytes, &count);
	CHECK_OK(query_peak(q, &peak, &err));
	CHECK_EQ(peak.n_bytes, n_bytes);
	CHECK_EQ(peak.at_ns, at);
	CHECK_EQ(peak.n_alive, count);
}

static size_t make_events(struct world_event *e)
{
	size_t n = 0;

	for (size_t i = 0; i < world.n_rows; i++) {
		const struct world_row *r = &world.row[i];

		if (!chosen[i])
			continue;
		e[n++] = (struct world_event){r->alloc_ns, r->size, false};
		if (r->free_ns != WORLD_NEVER)
			e[n++] = (struct world_event){r->free_ns, r->size, true};
	}
	qsort(e, n, sizeof(*e), world_compare_events);
	return n;
}

/* Runs over the events from *at on that lie before end. */
static void naive_bucket(const struct world_event *e, size_t n, size_t *at, uint64_t end,
			 struct store_bucket *b)
{
	b->max_bytes = b->last_bytes;
	b->max_count = b->last_count;
	for (; *at < n && e[*at].at < end; ++*at) {
		const struct world_event *now = &e[*at];

		b->last_bytes += now->is_death ? -now->size : now->size;
		b->last_count += now->is_death ? UINT64_MAX : 1;
		if (now->is_death) {
			b->n_releases++;
			b->release_bytes += now->size;
		} else {
			b->n_allocs++;
			b->alloc_bytes += now->size;
		}
		if (*at + 1 < n && now[1].at == now->at)
			continue;
		b->max_bytes = b->last_bytes > b->max_bytes ? b->last_bytes : b->max_bytes;
		b->max_count = b->last_count > b->max_count ? b->last_count : b->max_count;
	}
}

static void check_timeline(struct query *q, uint64_t from, uint64_t to, size_t n_buckets)
{
	struct world_event *e = malloc((2 * world.n_rows + 1) * sizeof(*e));
	struct store_bucket *got = calloc(n_buckets, sizeof(*got)), want = {0};
	size_t n = make_events(e), at = 0;
	uint64_t width = (to - from) / n_buckets + !!((to - from) % n_buckets);
	struct err err = {0};

	CHECK_OK(query_timeline(q, from, to, n_buckets, got, &err));
	CHECK_EQ(query_timeline_width(from, to, n_buckets), width);
	naive_bucket(e, n, &at, from, &want); /* what was before */
	for (size_t i = 0; i < n_buckets; i++) {
		uint64_t start = from + i * width, end = start + width;
		struct store_bucket b = {.last_bytes = want.last_bytes,
					 .last_count = want.last_count};

		naive_bucket(e, n, &at, end, &b);
		for (size_t k = 0; k < world.n_rows; k++) {
			const struct world_row *r = &world.row[k];

			if (chosen[k] && r->alloc_ns >= start && r->alloc_ns < end &&
			    r->free_ns == WORLD_NEVER) {
				b.n_leaked++;
				b.leaked_bytes += r->size;
			}
		}
		CHECK_MEM_EQ(&got[i], &b, sizeof(b));
		want = b;
	}
	free(got);
	free(e);
}

/* ---- filters ---- */

static void choose_rows(const struct naive *n)
{
	n_chosen = naive_rows(&world, n, chosen);
}

static void show(const struct naive *n)
{
	for (unsigned i = 0; i < n->n; i++)
		fprintf(stderr, "%s%s=%s", i ? "&" : "filter: ", n->condition[i].name,
			n->condition[i].text);
	fputc('\n', stderr);
}

static void show_current(void)
{
	if (current)
		show(current);
}

static void check_filter(const struct naive *n)
{
	const struct query_context context = {.store = store, .frames = frames, .n_threads = 2};
	const struct query_page all = {.count = UINT64_MAX};
	struct query_page page = {
		.sort = (enum query_sort)world_below(&world, QUERY_N_SORTS),
		.is_descending = world_below(&world, 2),
		.skip = world_below(&world, 3) ? world_below(&world, 20)
					       : world_below(&world, world.n_rows),
		.count = world_below(&world, 3) ? world_below(&world, 50) : UINT64_MAX,
	};
	struct query *q = NULL;
	struct filter f;
	struct err err = {0};
	uint64_t from, to;

	current = n;
	choose_rows(n);
	CHECK_OK(naive_set_filter(n, &f, &err));
	CHECK_OK(query_create(&context, &f, &q, &err));
	check_rows(q, &all);
	check_rows(q, &page);
	check_peak(q);
	check_groups(q, (enum query_group_by)world_below(&world, 10));
	from = world_below(&world, 2) ? 0 : world_below(&world, world.duration);
	to = from + 1 + world_below(&world, 2 * (world.duration - from) + 1);
	check_timeline(q, from, to, 1 + world_below(&world, 20));
	naive_check_series(&world, store, chosen, q);
	naive_check_growth(&world, store, chosen, q);
	query_destroy(q);
	filter_fini(&f);
	current = NULL;
}

static void check_random_filters(void)
{
	static struct naive n; /* outlives the function: show_current() */
	size_t n_with_rows = 0;

	atexit(show_current);
	for (unsigned i = 0; i < N_FILTERS; i++) {
		n = (struct naive){0};
		naive_random(&world, &n);
		check_filter(&n);
		n_with_rows += n_chosen > 0;
	}
	CHECK(n_with_rows > N_FILTERS / 3); /* the test would be worth little otherwise */
}

static void check_each_parameter(void)
{
	size_t n_parameters;
	const struct filter_parameter *p = filter_parameters(&n_parameters);

	for (size_t i = 0; i < n_parameters; i++) {
		bool has_some = false, has_others = false;

		for (unsigned k = 0; k < 12; k++) {
			struct naive n = {0};

			naive_add(&world, &n, &p[i]);
			/* these mean nothing alone */
			if (strncmp(p[i].name, "window_", 7) == 0)
				naive_add(&world, &n,
					  &(struct filter_parameter){"allocated", "choice",
								     "inside|outside", ""});
			check_filter(&n);
			has_some |= n_chosen > 0;
			has_others |= n_chosen < world.n_rows;
		}
		if (!has_some || !has_others)
			fprintf(stderr, "parameter %s: always the same\n", p[i].name);
		CHECK(has_some && has_others);
	}
}

TEST(each_parameter_alone_selects_what_it_says)
{
	atexit(show_current);
	open_world(11, 3000);
	check_each_parameter();
	close_world();
}

/* Without a condition, parts of the answer come from the buckets that the store has. */
TEST(timelines_of_everything_are_exact_for_all_widths)
{
	struct query_context c = {.n_threads = 2};
	struct naive none = {0};
	struct query *q = NULL;
	struct filter f;
	struct err err = {0};
	uint64_t unit;

	open_world(31, 3000);
	c.store = store;
	c.frames = frames;
	unit = store_facts(store)->bucket_ns;
	choose_rows(&none);
	filter_init(&f);
	CHECK_OK(query_create(&c, &f, &q, &err));
	for (unsigned i = 0; i < N_FILTERS; i++) {
		uint64_t from = world_below(&world, 3) ? world_below(&world, world.duration)
						       : world_below(&world, 40) * unit;
		size_t n = 1 + world_below(&world, 60);
		uint64_t to = world_below(&world, 3)
				      ? from + 1 + world_below(&world, world.duration)
				      : from + n * unit * (1 + world_below(&world, 4));

		check_timeline(q, from, to, n);
	}
	query_destroy(q);
	filter_fini(&f);
	close_world();
}

/* Such a range matches all rows, but early and late count within the range: the sums of the whole
 * run are no answer. */
TEST(a_range_that_ends_after_the_last_allocation_is_not_the_run)
{
	static struct naive n = {.condition = {{.name = "to"}}, .n = 1};
	const uint64_t pause_ns = 1000000;

	atexit(show_current);
	open_world_with_pause(24, 500, pause_ns);
	n.condition[0].number = (long long)(world.duration - pause_ns);
	snprintf(n.condition[0].text, sizeof(n.condition[0].text), "%lldns", n.condition[0].number);
	for (unsigned i = 0; i < 20; i++) /* each time other groups */
		check_filter(&n);
	CHECK_EQ(n_chosen, world.n_rows);
	close_world();
}

TEST(random_filters_on_a_small_store)
{
	open_world(21, 500);
	check_random_filters();
	close_world();
}

TEST(random_filters_on_a_store_of_two_blocks)
{
	open_world(22, STORE_BLOCK_ROWS + 700);
	check_random_filters();
	close_world();
}

TEST(random_filters_on_a_store_of_three_blocks)
{
	open_world(23, 2 * STORE_BLOCK_ROWS + 1);
	check_random_filters();
	close_world();
}

/* tests/e2e/test_query_recordings.py gives some: stores that ingest made of recordings. */
TEST(random_filters_on_given_stores)
{
	const char *given = getenv("QUERY_STORES");
	char *paths = strdup(given ? given : ""), *save = NULL;
	struct err err = {0};

	for (char *path = strtok_r(paths, ":", &save); path; path = strtok_r(NULL, ":", &save)) {
		CHECK_OK(store_open(path, &store, &err));
		CHECK_OK(world_load(&world, 61, store, &frames, &err));
		chosen = calloc(world.n_rows + 1, 1);
		CHECK(world.n_rows > 0);
		check_random_filters();
		printf("%s: %zu rows, %u stacks\n", path, world.n_rows, world.n_stacks);
		close_world();
	}
	free(paths);
}
