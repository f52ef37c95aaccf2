/* bench_query - what questions to a store cost.
 *
 * usage: bench_query make FILE ROWS	makes a store as a busy server would leave it
 *	  bench_query ask FILE [RUNS]	asks, each question RUNS times (3), and prints the best time
 *
 * The made-up program: 20 000 stacks of up to 40 frames, 8 threads, most blocks small and short-lived, some that
 * stay, 1 % leaked, 3 % grown by realloc. Names of functions are made up as well. Output: one line per
 * question with milliseconds (the best run, the least CPU time, the first run), and the peak resident memory of this process (it holds no more than one
 * question at a time).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/hash.h"
#include "base/units.h"
#include "query/by_function.h"
#include "query/fragmentation.h"
#include "query/group_series.h"
#include "query/query_growth.h"
#include "store/store_write.h"

#define N_STACKS 20000u
#define N_NODES 60000u
#define N_CODES 8000u
#define N_THREADS 8u
#define NS_PER_ROW 200u /* 5 million allocations per second */

static struct err err;

static void die(const char *what)
{
	fprintf(stderr, "bench_query: %s: %s\n", what, err.text);
	exit(1);
}

/* ---- making a store ---- */

struct row {
	uint64_t alloc_ns, life, size, extra, addr, stack, thread, flags, free_stack;
};

static struct row make_row(uint64_t i, uint64_t n_rows)
{
	uint64_t h = hash_mix64(i + 1), g = hash_mix64(h), skewed = h % N_STACKS;
	struct row r = {.alloc_ns = i * NS_PER_ROW + g % NS_PER_ROW};

	/* a hundred stacks make half of the allocations */
	r.stack = 1 + (g >> 20 & 1 ? skewed % 100 : skewed % (N_STACKS - 1));
	r.thread = h >> 40 & (N_THREADS - 1);
	r.size = 16 + 8 * (h >> 32 & 31);
	if ((g >> 24) % 200 == 0)
		r.size = 4096 + (h >> 16) % 1000000;
	r.extra = 8 * (g & 1);
	r.addr = 0x55550000000ull + 16 * (h % (1u << 26));
	r.free_stack = 1 + (g >> 8) % N_STACKS % (N_STACKS - 1);
	r.life = 1 + 50 + (g >> 32) % 20000;
	if (g % 10 == 0)
		r.life = 1 + (g >> 16) % (n_rows * NS_PER_ROW / 4);
	if (g % 100 == 7) {
		r.life = 0;
		r.free_stack = 0;
	}
	r.flags = STORE_FLAG_MAIN_ARENA | (g % 5 == 1 && r.life ? STORE_FLAG_TEMPORARY : 0);
	return r;
}

/* What ingest would know of each stack; peaks are left out, and the most that was alive is only a bound. */
static void count_row(struct store_stack *s, const struct row *r)
{
	if (s->n_allocs++ == 0) {
		s->first_ns = r->alloc_ns;
		s->min_size_bytes = r->size;
	}
	s->last_ns = r->alloc_ns;
	s->n_bytes += r->size;
	s->max_bytes = s->n_bytes;
	s->extra_bytes += r->extra;
	s->min_size_bytes = r->size < s->min_size_bytes ? r->size : s->min_size_bytes;
	s->max_size_bytes = r->size > s->max_size_bytes ? r->size : s->max_size_bytes;
	if (r->life == 0) {
		s->n_leaked++;
		s->leaked_bytes += r->size;
		s->leaked_extra_bytes += r->extra;
	} else {
		s->lifetime_sum_ns += r->life - 1;
	}
	if (r->flags & STORE_FLAG_TEMPORARY) {
		s->n_temporary++;
		s->temporary_bytes += r->size;
	}
}

static void put_rows(struct store_writer *w, uint64_t n_rows, struct store_stack *stack)
{
	static uint64_t column[STORE_N_COLUMNS][STORE_BLOCK_ROWS];

	for (uint64_t first = 0; first < n_rows; first += STORE_BLOCK_ROWS) {
		uint64_t left = n_rows - first;
		uint32_t n = left < STORE_BLOCK_ROWS ? (uint32_t)left : STORE_BLOCK_ROWS;

		for (uint32_t i = 0; i < n; i++) {
			struct row r = make_row(first + i, n_rows);

			if (r.life && r.alloc_ns + r.life - 1 > n_rows * NS_PER_ROW)
				r.life = r.free_stack = 0;
			column[STORE_ALLOC_NS][i] = r.alloc_ns;
			column[STORE_LIFETIME_NS][i] = r.life;
			column[STORE_SIZE_BYTES][i] = r.size;
			column[STORE_EXTRA_BYTES][i] = r.extra;
			column[STORE_ADDR][i] = r.addr;
			column[STORE_STACK][i] = r.stack;
			column[STORE_THREAD][i] = r.thread;
			column[STORE_FLAGS][i] = r.flags;
			column[STORE_FREE_STACK][i] = r.free_stack;
			column[STORE_FREE_THREAD][i] = r.life ? r.thread : 0;
			count_row(&stack[r.stack], &r);
		}
		for (unsigned c = 0; c < STORE_N_COLUMNS; c++) {
			if (store_writer_put_block(w, c, first / STORE_BLOCK_ROWS, column[c], n,
						   &err) < 0)
				die("block");
		}
	}
}

static void put_table(struct store_writer *w, enum store_table t, const void *item, size_t n)
{
	if (store_writer_put_table(w, t, item, n, &err) < 0)
		die("table");
}

static void put_code(struct store_writer *w)
{
	static struct store_node node[N_NODES];
	static struct store_code code[N_CODES];
	const struct store_module module = {.base = 0x400000, .path = 1};
	const uint64_t ends[] = {0, 16};

	for (uint32_t i = 1; i < N_CODES; i++)
		code[i].addr = 0x400000 + 64 * i;
	for (uint32_t i = 1; i < N_NODES; i++) {
		/* long branches: the parent is near */
		uint32_t parent = i < 40 ? i - 1 : i - 1 - (uint32_t)(hash_mix64(i) % 2 * 37);

		if (node[parent].n_frames > 38)
			parent = (uint32_t)(hash_mix64(i) % 30);
		node[i] = (struct store_node){.parent = parent,
					      .code = 1 +
						      (uint32_t)(hash_mix64(i * 3) % (N_CODES - 1)),
					      .n_frames = node[parent].n_frames + 1,
					      .kind = STORE_NODE_FRAME};
	}
	put_table(w, STORE_STRING_BYTES, "\0/opt/bin/server", 17);
	put_table(w, STORE_STRING_ENDS, ends, 2);
	put_table(w, STORE_MODULES, &module, 1);
	put_table(w, STORE_CODES, code, N_CODES);
	put_table(w, STORE_NODES, node, N_NODES);
}

static void make(const char *path, uint64_t n_rows)
{
	static struct store_stack stack[N_STACKS];
	const struct store_identity identity = {.size_bytes = n_rows};
	struct store_facts facts = {.n_rows = n_rows, .page_bytes = 4096};
	struct store_thread thread[N_THREADS] = {0};
	struct store_writer *w = NULL;

	facts.duration_ns = n_rows * NS_PER_ROW;
	facts.start_realtime_ns = 1600000000 * NS_PER_S;
	for (uint32_t i = 1; i < N_STACKS; i++)
		stack[i].node = N_NODES - 2 * i;
	for (unsigned i = 0; i < N_THREADS; i++)
		thread[i].tid = 1000 + i;
	if (store_writer_create(path, &identity, &w, &err) < 0)
		die(path);
	put_rows(w, n_rows, stack);
	put_code(w);
	put_table(w, STORE_STACKS, stack, N_STACKS);
	put_table(w, STORE_THREADS, thread, N_THREADS);
	put_table(w, STORE_FACTS, &facts, 1);
	if (store_writer_commit(w, n_rows, &err) < 0)
		die(path);
	store_writer_destroy(w);
}

/* ---- asking ---- */

static int resolve(void *user, struct frames *f, const uint32_t *code, size_t n, struct err *e)
{
	(void)user;
	for (size_t i = 0; i < n; i++) {
		char function[64], source[64];
		struct frame_names names = {.function = function, .source = source, .line = 1};
		int r;

		snprintf(function, sizeof(function), "app::module%u::Class::method_%u",
			 code[i] % 97, code[i] / 2);
		snprintf(source, sizeof(source), "/src/module%u/file%u.cpp", code[i] % 97,
			 code[i] % 500);
		r = frames_put(f, code[i], &names, 1, e);
		if (r < 0)
			return r;
	}
	return 0;
}

enum answer {
	ANSWER_GROUPS, /* by stack */
	ANSWER_SUMS, /* by stack, without peaks and extremes */
	ANSWER_TREE, /* all of it */
	ANSWER_FLAME, /* what a flame graph shows of it */
	ANSWER_FLAME_FOLDED, /* just my code */
	ANSWER_CALLERS, /* the same bottom-up */
	ANSWER_FUNCTIONS,
	ANSWER_PAGE, /* 100 rows and the number of all */
	ANSWER_LARGEST, /* 100 rows by size, descending */
	ANSWER_PEAK,
	ANSWER_TIMELINE, /* 1000 points */
	ANSWER_BY_SIZE,
	ANSWER_FRAGMENTATION, /* in the middle */
	ANSWER_BY_PACKAGE, /* bytes of the 8 greatest, 240 points */
	ANSWER_BY_BLAME,
	ANSWER_TEMPORARY, /* 2048 points */
	ANSWER_GROWTH, /* from a quarter to three, by function to blame */
};

static const struct {
	const char *what;
	enum answer answer;
	const char *filter; /* "name=value&name=value" */
} questions[] = {
	{"groups, no filter", ANSWER_GROUPS, ""},
	{"tree, no filter", ANSWER_TREE, ""},
	{"flame graph, no filter", ANSWER_FLAME, ""},
	{"flame graph, just my code", ANSWER_FLAME_FOLDED, ""},
	{"flame graph, bottom-up", ANSWER_CALLERS, ""},
	{"functions, no filter", ANSWER_FUNCTIONS, ""},
	{"page, no filter", ANSWER_PAGE, ""},
	{"sums of leaks", ANSWER_SUMS, "lifetime=only_leaked"},
	{"sums by function", ANSWER_SUMS, "function_regex=module1.*method_7"},
	{"groups of leaks", ANSWER_GROUPS, "lifetime=only_leaked"},
	{"groups by size", ANSWER_GROUPS, "size_min=4k"},
	{"groups by function", ANSWER_GROUPS, "function_regex=module1.*method_7"},
	{"groups, four conditions", ANSWER_GROUPS,
	 "from=20%&to=80%&lifetime_min=1ms&function_regex=module1"},
	{"flame graph of leaks", ANSWER_FLAME, "lifetime=only_leaked"},
	{"page by size", ANSWER_PAGE, "size_min=100000"},
	{"page by function", ANSWER_PAGE, "function_regex=method_77"},
	{"page by function and size", ANSWER_PAGE, "function_regex=method_77&size_max=100"},
	{"page, alive at", ANSWER_PAGE, "alive_at=50%"},
	{"page, four conditions", ANSWER_PAGE,
	 "from=20%&to=80%&lifetime_min=1ms&function_regex=module1"},
	{"page, 100 largest", ANSWER_LARGEST, "size_min=1"},
	{"peak by function", ANSWER_PEAK, "function_regex=module1"},
	{"peak of all rows", ANSWER_PEAK, "size_min=1"},
	{"timeline of all rows", ANSWER_TIMELINE, ""},
	{"timeline by function", ANSWER_TIMELINE, "function_regex=module1"},
	{"groups by exact size", ANSWER_BY_SIZE, "size_max=4k"},
	{"fragmentation", ANSWER_FRAGMENTATION, ""},
	{"series by package", ANSWER_BY_PACKAGE, ""},
	{"series by blame", ANSWER_BY_BLAME, ""},
	{"series by blame, filter", ANSWER_BY_BLAME, "size_min=100"},
	{"temporary over time", ANSWER_TEMPORARY, ""},
	{"growth by blame", ANSWER_GROWTH, ""},
};

static void set_filter(struct filter *f, const char *text)
{
	char copy[200], *save = NULL;

	snprintf(copy, sizeof(copy), "%s", text);
	for (char *at = strtok_r(copy, "&", &save); at; at = strtok_r(NULL, "&", &save)) {
		char *value = strchr(at, '=');

		*value++ = 0;
		if (filter_set(f, at, value, &err) != 1)
			die(at);
	}
}

static bool count_row_asked(void *user, const struct query_row *row)
{
	*(uint64_t *)user += row->size_bytes;
	return true;
}

static int answer_by_owner(struct query *q, enum answer a, uint64_t duration_ns, uint64_t *ret)
{
	static uint64_t value[2048];
	struct group_series s = {
		.by = a == ANSWER_BY_PACKAGE ? QUERY_BY_PACKAGE : QUERY_BY_BLAME,
		.to_ns = duration_ns + 1,
		.n_buckets = 240,
	};
	struct group_series_top top = {0};
	struct query_growths g = {0};
	int r;

	if (a == ANSWER_GROWTH) {
		r = query_growth(q, s.by, duration_ns / 4, duration_ns / 4 * 3, &g, &err);
		*ret = g.total.to_bytes - g.total.from_bytes;
		query_growths_fini(&g);
		return r;
	}
	if (a == ANSWER_TEMPORARY) {
		s.kind = GROUP_SERIES_TEMPORARY;
		s.n_buckets = ARRAY_LEN(value);
		r = group_series_total(q, &s, value, &err);
		*ret = value[1000];
		return r;
	}
	r = group_series_top(q, &s, 8, &top, &err);
	*ret = r >= 0 && top.n ? top.group[0].value[120] : 0;
	group_series_top_fini(&top);
	return r;
}

static int answer_by_name(struct query *q, enum answer a, uint64_t *ret)
{
	struct query_tree_options o = QUERY_TREE_ALL;
	struct query_functions f = {0};
	struct query_tree t = {0};
	int r;

	query_want(q, 0);
	if (a == ANSWER_FUNCTIONS) {
		r = query_functions(q, NULL, &f, &err);
		*ret = f.n;
		query_functions_fini(&f);
		return r;
	}
	o.kind = a == ANSWER_CALLERS ? QUERY_BOTTOM_UP : QUERY_TOP_DOWN;
	o.fold = a == ANSWER_FLAME_FOLDED ? QUERY_FOLD_RUNTIME : QUERY_FOLD_NONE;
	o.min_share_ppm = a == ANSWER_TREE ? 0 : 500;
	r = query_tree_with(q, &o, &t, &err);
	*ret = t.n;
	query_tree_fini(&t);
	return r;
}

/* A number that tells whether two runs said the same. */
static int answer(struct query *q, enum answer a, uint64_t duration_ns, uint64_t *ret)
{
	static struct store_bucket bucket[1000];
	struct query_page page = {.count = 100};
	struct query_groups g;
	struct query_peak p;
	struct fragmentation f;
	int r;

	switch (a) {
	case ANSWER_SUMS:
	case ANSWER_GROUPS:
	case ANSWER_BY_SIZE:
		query_want(q, a == ANSWER_GROUPS ? QUERY_WANT_SPAN : 0);
		r = query_groups(q, a == ANSWER_BY_SIZE ? QUERY_BY_SIZE_CLASS : QUERY_BY_STACK, &g,
				 &err);
		if (r >= 0) {
			*ret = g.total.n_bytes;
			query_groups_fini(&g);
		}
		return r;
	case ANSWER_TREE:
	case ANSWER_FLAME:
	case ANSWER_FLAME_FOLDED:
	case ANSWER_CALLERS:
	case ANSWER_FUNCTIONS:
		return answer_by_name(q, a, ret);
	case ANSWER_PAGE:
	case ANSWER_LARGEST:
		page.sort = a == ANSWER_PAGE ? QUERY_BY_TIME : QUERY_BY_SIZE;
		page.is_descending = a == ANSWER_LARGEST;
		return query_rows(q, &page, count_row_asked, &(uint64_t){0}, ret, &err);
	case ANSWER_PEAK:
		r = query_peak(q, &p, &err);
		*ret = p.n_bytes;
		return r;
	case ANSWER_TIMELINE:
		r = query_timeline(q, 0, duration_ns, 1000, bucket, &err);
		*ret = bucket[500].max_bytes;
		return r;
	case ANSWER_FRAGMENTATION:
		r = fragmentation_at(q, duration_ns / 2, &f, &err);
		if (r >= 0) {
			*ret = f.n_sparse_pages;
			fragmentation_fini(&f);
		}
		return r;
	case ANSWER_BY_PACKAGE:
	case ANSWER_BY_BLAME:
	case ANSWER_TEMPORARY:
	case ANSWER_GROWTH:
		return answer_by_owner(q, a, duration_ns, ret);
	}
	return 0;
}

static double now_ms(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static uint64_t peak_rss_kib(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (uint64_t)u.ru_maxrss;
}

static void ask(const char *path, unsigned n_runs)
{
	struct store *store = NULL;
	struct frames *frames = NULL;
	double start = now_ms(CLOCK_MONOTONIC);

	if (store_open(path, &store, &err) < 0 || frames_open(store, NULL, &frames, &err) < 0)
		die(path);
	frames_set_resolver(frames, resolve, NULL);
	printf("%-28s %9.1f ms  %" PRIu64 " rows\n", "open", now_ms(CLOCK_MONOTONIC) - start,
	       store_n_rows(store));
	if (frames_need_all(frames, &err) < 0)
		die("names");
	for (size_t i = 0; i < ARRAY_LEN(questions); i++) {
		const struct query_context c = {.store = store, .frames = frames};
		double best = 0, first = 0, best_cpu = 0;
		uint64_t result = 0;

		for (unsigned run = 0; run < n_runs; run++) {
			struct query *q = NULL;
			struct filter f;
			double ms, cpu;

			filter_init(&f);
			set_filter(&f, questions[i].filter);
			start = now_ms(CLOCK_MONOTONIC);
			cpu = now_ms(CLOCK_PROCESS_CPUTIME_ID);
			if (query_create(&c, &f, &q, &err) < 0 ||
			    answer(q, questions[i].answer, store_facts(store)->duration_ns,
				   &result) < 0)
				die(questions[i].what);
			query_destroy(q);
			ms = now_ms(CLOCK_MONOTONIC) - start;
			cpu = now_ms(CLOCK_PROCESS_CPUTIME_ID) - cpu;
			first = run ? first : ms;
			best = !run || ms < best ? ms : best;
			best_cpu = !run || cpu < best_cpu ? cpu : best_cpu;
			filter_fini(&f);
		}
		printf("%-28s %9.1f ms  cpu %9.1f ms  first %9.1f ms  rss %4" PRIu64
		       " MiB  = %" PRIu64 "\n",
		       questions[i].what, best, best_cpu, first, peak_rss_kib() / 1024, result);
		fflush(stdout);
	}
	frames_close(frames);
	store_close(store);
}

int main(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], "make") == 0) {
		make(argv[2], strtoull(argv[3], NULL, 10));
		return 0;
	}
	if (argc >= 3 && strcmp(argv[1], "ask") == 0) {
		ask(argv[2], argc > 3 ? (unsigned)atoi(argv[3]) : 3);
		return 0;
	}
	fprintf(stderr, "usage: bench_query make FILE ROWS | bench_query ask FILE [RUNS]\n");
	return 2;
}
