/* Mappings and the calls that made them: random calls beside a naive account of single pages, and cases made
 * by hand. */
#include "harness/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "query/calls.h"
#include "query/mappings.h"
#include "query_synth.h"

#define PAGE 4096u
#define N_PAGES 48u
#define BASE 0x7f0000000000ull
#define N_CALLS 120u
#define MAX_LIVES 4096u

static struct world world;
static struct store *store;
static struct frames *frames;
static struct filter filter;
static struct query *q;

static void open_calls(const struct store_call *call, size_t n)
{
	struct query_context c = {.n_threads = 1};
	struct err err = {0};

	world.call = call;
	world.n_calls = n;
	if (world_open(&world, &store, &frames, &err) < 0)
		fprintf(stderr, "%s\n", err.text);
	CHECK_EQ(err.code, ERR_NONE);
	c.store = store;
	c.frames = frames;
	filter_init(&filter);
	CHECK_OK(query_create(&c, &filter, &q, &err));
}

static void close_calls(void)
{
	query_destroy(q);
	filter_fini(&filter);
	frames_close(frames);
	store_close(store);
}

/* ---- single pages ---- */

/* What becomes of one page, from its mapping to its removal. */
struct life {
	uint64_t page, made_ns, removed_ns;
	uint32_t stack, prot;
	bool is_removed, is_seen, is_shared, has_rights;
};

struct lives {
	struct life life[MAX_LIVES];
	size_t n;
};

static struct lives got, want;

static int add_mapping(void *user, const struct mapping *m, struct err *err)
{
	struct lives *l = user;

	(void)err;
	CHECK(m->start < m->end && m->start % PAGE == 0 && m->end % PAGE == 0);
	for (uint64_t at = m->start; at < m->end; at += PAGE) {
		CHECK(l->n < MAX_LIVES);
		memset(&l->life[l->n], 0, sizeof(l->life[0]));
		l->life[l->n].page = at;
		l->life[l->n].made_ns = m->made_ns;
		l->life[l->n].removed_ns = m->removed_ns;
		l->life[l->n].stack = m->stack;
		l->life[l->n].prot = m->prot;
		l->life[l->n].is_removed = m->is_removed;
		l->life[l->n].is_seen = m->is_seen;
		l->life[l->n].is_shared = m->is_shared;
		l->life[l->n++].has_rights = m->has_rights;
	}
	return 0;
}

static int compare_lives(const void *a, const void *b)
{
	const struct life *x = a, *y = b;

	if (x->page != y->page)
		return x->page < y->page ? -1 : 1;
	if (x->made_ns != y->made_ns)
		return x->made_ns < y->made_ns ? -1 : 1;
	return x->removed_ns < y->removed_ns ? -1 : x->removed_ns > y->removed_ns;
}

static struct life mapped[N_PAGES]; /* pages that are mapped now */
static bool is_mapped[N_PAGES];

static size_t number_of(uint64_t addr)
{
	return (size_t)((addr - BASE) / PAGE);
}

static void unmap(size_t i, uint64_t at_ns)
{
	if (!is_mapped[i])
		return;
	is_mapped[i] = false;
	mapped[i].is_removed = true;
	mapped[i].removed_ns = at_ns;
	CHECK(want.n < MAX_LIVES);
	want.life[want.n++] = mapped[i];
}

static void map(size_t i, const struct store_call *c, const struct life *rights)
{
	memset(&mapped[i], 0, sizeof(mapped[i]));
	mapped[i].page = BASE + i * PAGE;
	mapped[i].made_ns = c ? c->at_ns : MAPPINGS_UNKNOWN;
	mapped[i].removed_ns = MAPPINGS_UNKNOWN;
	mapped[i].stack = c ? c->stack : MAPPINGS_NO_STACK;
	if (rights) {
		mapped[i].has_rights = rights->has_rights;
		mapped[i].prot = rights->prot;
		mapped[i].is_shared = rights->is_shared;
	}
	is_mapped[i] = true;
}

static void apply(const struct store_call *c)
{
	size_t at = number_of(c->field[0]), n = (size_t)(c->field[1] + PAGE - 1) / PAGE;
	struct life rights = {0};

	if (c->kind == STORE_CALL_MUNMAP) {
		for (size_t i = at; i < at + n; i++)
			unmap(i, c->at_ns);
	} else if (c->kind == STORE_CALL_MMAP) {
		rights.has_rights = true;
		rights.prot = (uint32_t)c->field[2];
		rights.is_shared = (c->field[3] & MAP_TYPE) == MAP_SHARED;
		for (size_t i = at; i < at + n; i++) {
			unmap(i, c->field[3] & MAP_FIXED ? c->at_ns : MAPPINGS_UNKNOWN);
			map(i, c, &rights);
		}
	} else {
		size_t to = number_of(c->field[2]), n_new = (size_t)c->field[3] / PAGE;

		if (is_mapped[at])
			rights = mapped[at];
		for (size_t i = at; i < at + n; i++) {
			if (to != at || i >= to + n_new)
				unmap(i, c->at_ns);
		}
		for (size_t i = to; i < to + n_new; i++) {
			if (to == at && i < at + n)
				continue; /* stays as it was */
			/* A block that grows where it is replaces nothing. */
			unmap(i,
			      to != at && c->field[4] & MREMAP_FIXED ? c->at_ns : MAPPINGS_UNKNOWN);
			map(i, c, &rights);
		}
	}
}

static void look(void)
{
	for (unsigned r = 0; r < world.n_regions; r++) {
		for (uint64_t at = world.region_start[r]; at < world.region_end[r]; at += PAGE) {
			size_t i = number_of(at);

			if (!is_mapped[i])
				map(i, NULL, NULL);
			mapped[i].is_seen = true;
			mapped[i].has_rights = true; /* the world's regions have none set */
			mapped[i].prot = 0;
			mapped[i].is_shared = false;
		}
	}
}

/* ---- random calls ---- */

static void make_call(struct store_call *c, uint64_t at_ns)
{
	uint64_t at = world_below(&world, N_PAGES), most = N_PAGES - at;
	uint64_t n = 1 + world_below(&world, most < 9 ? most : 9);

	*c = (struct store_call){
		.at_ns = at_ns,
		.stack = 1 + (uint32_t)world_below(&world, 9),
		.kind = STORE_CALL_MMAP + (uint32_t)world_below(&world, 3),
		.field = {BASE + at * PAGE, n * PAGE},
	};
	if (c->kind == STORE_CALL_MREMAP) {
		uint64_t to = world_below(&world, 3) ? world_below(&world, N_PAGES) : at;
		uint64_t left = N_PAGES - to;

		c->field[2] = BASE + to * PAGE;
		c->field[3] = PAGE * (1 + world_below(&world, left < 9 ? left : 9));
		c->field[4] = world_below(&world, 2) ? MREMAP_FIXED | MREMAP_MAYMOVE : 1;
		return;
	}
	c->field[1] -= world_below(&world, 2) * 100; /* whole pages are meant all the same */
	c->field[2] = world_below(&world, 8);
	c->field[3] = (world_below(&world, 2) ? MAP_SHARED : MAP_PRIVATE) |
		      (world_below(&world, 2) ? MAP_FIXED : 0);
}

TEST(random_calls_leave_the_pages_that_a_naive_account_has)
{
	struct store_call call[N_CALLS];
	struct err err = {0};

	for (uint64_t seed = 1; seed < 60; seed++) {
		bool has_looked = false;

		world_make(&world, seed, 10);
		want.n = got.n = 0;
		memset(is_mapped, 0, sizeof(is_mapped));
		world.maps_ns = world_below(&world, 2 * N_CALLS);
		for (unsigned r = 0; r < world.n_regions; r++) {
			world.region_start[r] = BASE + PAGE * (r * 16 + world_below(&world, 8));
			world.region_end[r] =
				world.region_start[r] + PAGE * (1 + world_below(&world, 8));
		}
		for (size_t i = 0; i < N_CALLS; i++) {
			make_call(&call[i], i + 1);
			if (call[i].at_ns > world.maps_ns && !has_looked) {
				has_looked = true;
				look();
			}
			apply(&call[i]);
		}
		if (!has_looked)
			look();
		for (size_t i = 0; i < N_PAGES; i++) {
			if (is_mapped[i])
				want.life[want.n++] = mapped[i];
		}
		open_calls(call, N_CALLS);
		CHECK_OK(mappings_each(q, add_mapping, &got, &err));
		CHECK_EQ(got.n, want.n);
		qsort(got.life, got.n, sizeof(got.life[0]), compare_lives);
		qsort(want.life, want.n, sizeof(want.life[0]), compare_lives);
		CHECK_MEM_EQ(got.life, want.life, want.n * sizeof(want.life[0]));
		close_calls();
		world_free(&world);
	}
}

/* ---- by hand ---- */

struct list {
	struct mapping m[16];
	size_t n;
};

static int list_mapping(void *user, const struct mapping *m, struct err *err)
{
	struct list *l = user;

	(void)err;
	CHECK(l->n < 16);
	l->m[l->n++] = *m;
	return 0;
}

TEST(the_heap_grows_and_shrinks_by_whole_pages)
{
	static const struct store_call call[] = {
		{.at_ns = 1, .kind = STORE_CALL_BRK, .stack = 4, .field = {0x5000, 0x7010}},
		{.at_ns = 2, .kind = STORE_CALL_BRK, .stack = 5, .field = {0x7010, 0x7f00}},
		{.at_ns = 3, .kind = STORE_CALL_BRK, .stack = 6, .field = {0x7f00, 0x6800}},
	};
	struct list l = {.n = 0};
	struct err err = {0};

	world_make(&world, 1, 10);
	world.n_regions = 0;
	world.maps_ns = UINT64_MAX;
	open_calls(call, 3);
	CHECK_OK(mappings_each(q, list_mapping, &l, &err));
	CHECK_EQ(l.n, 2);
	CHECK_EQ(l.m[0].start, 0x7000);
	CHECK_EQ(l.m[0].end, 0x8000);
	CHECK_EQ(l.m[0].removed_ns, 3);
	CHECK_EQ(l.m[0].stack, 4); /* the second call stayed in the page */
	CHECK_EQ(l.m[1].start, 0x5000);
	CHECK_EQ(l.m[1].end, 0x7000);
	CHECK(!l.m[1].is_removed && !l.m[1].is_seen && l.m[1].prot == (PROT_READ | PROT_WRITE));
	close_calls();
	world_free(&world);
}

TEST(calls_that_make_no_sense_change_nothing)
{
	static const struct store_call call[] = {
		{.at_ns = 1, .kind = STORE_CALL_MMAP, .field = {0x5000, 0x3000, 3, MAP_PRIVATE}},
		{.at_ns = 2, .kind = STORE_CALL_MUNMAP, .field = {0x5001, 0x1000}},
		{.at_ns = 3, .kind = STORE_CALL_MUNMAP, .field = {0x5000, 0}},
		{.at_ns = 4, .kind = STORE_CALL_MUNMAP, .field = {0x5000, UINT64_MAX}},
		{.at_ns = 5, .kind = STORE_CALL_MUNMAP, .field = {UINT64_MAX - 4095, 8192}},
		{.at_ns = 6, .kind = STORE_CALL_MMAP, .field = {0x6000, UINT64_MAX - 5}},
		{.at_ns = 7, .kind = STORE_CALL_MREMAP, .field = {0x5000, 0x1000, 0x9000, 0}},
		{.at_ns = 8, .kind = STORE_CALL_BRK, .field = {UINT64_MAX, 5}},
		{.at_ns = 9, .kind = 77, .field = {0x5000, 0x1000}},
	};
	struct list l = {.n = 0};
	struct err err = {0};

	world_make(&world, 1, 10);
	world.n_regions = 0;
	open_calls(call, 9);
	CHECK_OK(mappings_each(q, list_mapping, &l, &err));
	CHECK_EQ(l.n, 1);
	CHECK_EQ(l.m[0].start, 0x5000);
	CHECK_EQ(l.m[0].end, 0x8000);
	CHECK(!l.m[0].is_removed);
	close_calls();
	world_free(&world);
}

/* ---- lists of calls ---- */

struct times {
	uint64_t at_ns[16];
	size_t n;
};

static bool add_time(void *user, const struct store_call *c)
{
	struct times *t = user;

	t->at_ns[t->n++] = c->at_ns;
	return t->n < 16;
}

static void check_list(const struct calls_page *page, uint64_t n_matching, const char *times)
{
	struct times t = {.n = 0};
	char text[100] = "";
	struct err err = {0};
	uint64_t n;

	CHECK_OK(calls_list(q, page, add_time, &t, &n, &err));
	CHECK_EQ(n, n_matching);
	for (size_t i = 0; i < t.n; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%d", i ? " " : "",
			 (int)t.at_ns[i]);
	CHECK_STR_EQ(text, times);
}

static const struct store_call some_calls[] = {
	{.at_ns = 1, .kind = STORE_CALL_MMAP, .thread = 1, .field = {0x5000, 300}},
	{.at_ns = 2, .kind = STORE_CALL_MALLOPT, .thread = 2, .field = {1, 64, 1}},
	{.at_ns = 3, .kind = STORE_CALL_MUNMAP, .thread = 1, .field = {0x6000, 100}},
	{.at_ns = 4, .kind = STORE_CALL_MREMAP, .thread = 2, .field = {0x5000, 9, 0x9000, 200}},
	{.at_ns = 5, .kind = STORE_CALL_BRK, .thread = 2, .field = {0x5000, 0x4f00}},
	{.at_ns = 6, .kind = STORE_CALL_MARKER, .field = {3}},
	{.at_ns = 7, .kind = STORE_CALL_MALLOC_TRIM, .thread = 1, .field = {0, 1}},
	{.at_ns = 8, .kind = STORE_CALL_MUNMAP, .thread = 1, .field = {0x7000, 100}},
};

TEST(calls_come_by_time_or_size_page_by_page)
{
	struct calls_page page = {.kinds = CALLS_ALL, .count = 100};

	world_make(&world, 1, 10);
	open_calls(some_calls, 8);
	check_list(&page, 7, "1 2 3 4 5 7 8"); /* markers are no calls */
	page.is_descending = true;
	check_list(&page, 7, "8 7 5 4 3 2 1");
	page.is_by_size = true;
	check_list(&page, 7, "1 5 4 8 3 7 2"); /* those without a size come first when ascending */
	page.is_descending = false;
	check_list(&page, 7, "2 7 3 8 4 5 1");
	page.skip = 2;
	page.count = 3;
	check_list(&page, 7, "3 8 4");
	page.is_by_size = false;
	check_list(&page, 7, "3 4 5");
	page = (struct calls_page){.kinds = CALLS_KIND(STORE_CALL_MUNMAP), .count = 1};
	check_list(&page, 2, "3");
	page = (struct calls_page){.kinds = CALLS_MAPPING,
				   .skip = UINT64_MAX,
				   .count = UINT64_MAX,
				   .is_by_size = true};
	check_list(&page, 5, "");
	close_calls();
	world_free(&world);
}

static void check_condition(const char *name, const char *value, uint64_t n, const char *times)
{
	struct query_context c = {.store = store, .frames = frames, .n_threads = 1};
	const struct calls_page page = {.kinds = CALLS_ALL, .count = 100};
	struct err err = {0};

	query_destroy(q);
	q = NULL;
	filter_fini(&filter);
	filter_init(&filter);
	CHECK_EQ(filter_set(&filter, name, value, &err), 1);
	CHECK_OK(query_create(&c, &filter, &q, &err));
	check_list(&page, n, times);
}

TEST(conditions_on_calls)
{
	world_make(&world, 1, 10);
	open_calls(some_calls, 8);
	check_condition("from", "4ns", 4, "4 5 7 8");
	check_condition("to", "4ns", 4, "1 2 3 4");
	check_condition("to", "1000", 0, ""); /* 1970: before the start */
	check_condition("from", "1000", 7, "1 2 3 4 5 7 8");
	check_condition("size_min", "200", 3,
			"1 4 5"); /* what has no size has not this one either */
	check_condition("size_max", "199", 2, "3 8");
	check_condition("address_min", "0x6000", 3, "3 4 8");
	check_condition("thread", "102", 3, "2 4 5");
	check_condition("backtraces", "0", 7, "1 2 3 4 5 7 8");
	check_condition("backtraces", "3", 0, "");
	close_calls();
	world_free(&world);
}

TEST(the_environment_tells_whether_calls_were_recorded)
{
	static const struct {
		const char *environment;
		size_t n_calls;
		enum calls_gathered want;
	} cases[] = {
		{NULL, 0, CALLS_NOT_KNOWN},
		{NULL, 1, CALLS_GATHERED}, /* an mmap */
		{"MEMORY_PROFILER_GATHER_MMAP_CALLS=1", 0, CALLS_GATHERED},
		{"MEMORY_PROFILER_GATHER_MMAP_CALLS=true", 0, CALLS_GATHERED},
		{"MEMORY_PROFILER_GATHER_MMAP_CALLS=0", 0, CALLS_NOT_GATHERED},
		{"XMEMORY_PROFILER_GATHER_MMAP_CALLS=1", 0, CALLS_NOT_GATHERED},
		{"HOME=/", 0, CALLS_NOT_GATHERED},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		world_make(&world, 1, 10);
		world.environment = cases[i].environment;
		open_calls(some_calls, cases[i].n_calls);
		CHECK_EQ(calls_gathered(store), cases[i].want);
		close_calls();
		world_free(&world);
	}
}
