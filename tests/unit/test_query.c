/* Trees, functions, errors, cancelling, and answers from tables. Rows, groups, peaks and timelines
 * are in test_query_random.c. */
#include "harness/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/by_function.h"
#include "query_naive.h"

static struct world world;
static struct store *store;
static struct frames *frames;
static struct filter filter;
static struct query *q;

static void open_query(const char *name, const char *value)
{
	const struct query_context context = {.store = store, .frames = frames, .n_threads = 2};
	struct err err = {0};

	filter_init(&filter);
	if (name)
		CHECK_EQ(filter_set(&filter, name, value, &err), 1);
	CHECK_OK(query_create(&context, &filter, &q, &err));
}

static void close_query(void)
{
	query_destroy(q);
	q = NULL;
	filter_fini(&filter);
}

static void open_world(uint64_t seed, size_t n_rows)
{
	struct err err = {0};

	world_make(&world, seed, n_rows);
	CHECK_OK(world_open(&world, &store, &frames, &err));
}

static void close_world(void)
{
	frames_close(frames);
	store_close(store);
	world_free(&world);
}

/* ---- trees ---- */

#define PATH_BYTES 8000u

/* Frames that are one to the user have the same text. */
static void put_frame(char *path, const char *function, const char *source, const char *module,
		      unsigned long long addr)
{
	size_t len = strlen(path);

	if (function)
		snprintf(path + len, PATH_BYTES - len, "%s|%s|%s\n", function, source ? source : "",
			 module ? module : "");
	else
		snprintf(path + len, PATH_BYTES - len, "%llx\n", addr);
}

/* The first n frames of a stack, from the outside or from the inside. */
static void stack_path(uint32_t stack, unsigned n, enum query_tree_kind kind, char *path)
{
	const struct world_frame *frame[1000];
	uint32_t code[1000];
	unsigned n_frames = naive_frames(&world, stack, frame, code);

	path[0] = 0;
	for (unsigned i = 0; i < n; i++) {
		unsigned at = kind == QUERY_TOP_DOWN ? n_frames - 1 - i : i;

		put_frame(path, frame[at]->function, frame[at]->source, frame[at]->module,
			  world.code_addr[code[at]]);
	}
}

static void node_path(const struct query_tree *t, uint32_t node, char *path)
{
	const struct frame *f = t->node[node].frame;

	if (!node) {
		path[0] = 0;
		return;
	}
	node_path(t, t->node[node].parent, path);
	put_frame(path, f->function, f->source, f->module, f->addr);
}

static void check_node(const struct query_tree *t, uint32_t node, enum query_tree_kind kind)
{
	const struct query_tree_node *n = &t->node[node];
	uint64_t n_allocs = 0, n_bytes = 0, self_allocs = 0, self_bytes = 0;
	char want[PATH_BYTES], path[PATH_BYTES];

	node_path(t, node, want);
	for (uint32_t s = 0; s < world.n_stacks; s++) {
		const struct world_frame *frame[1000];
		unsigned n_frames = naive_frames(&world, s, frame, NULL);

		if (n_frames < n->depth)
			continue;
		stack_path(s, n->depth, kind, path);
		if (strcmp(path, want) != 0)
			continue;
		n_allocs += world.figures[s].n_allocs;
		n_bytes += world.figures[s].n_bytes;
		self_allocs += n_frames == n->depth ? world.figures[s].n_allocs : 0;
		self_bytes += n_frames == n->depth ? world.figures[s].n_bytes : 0;
	}
	CHECK_EQ(n->cost.n_allocs, n_allocs);
	CHECK_EQ(n->cost.n_bytes, n_bytes);
	CHECK_EQ(n->self[QUERY_MAIN_ALLOCS], self_allocs);
	CHECK_EQ(n->self[QUERY_MAIN_BYTES], self_bytes);
	CHECK(n_allocs > 0);
}

/* Every node is reached once, children in order. */
static size_t check_order(const struct query_tree *t, uint32_t node)
{
	size_t n = 1;

	for (uint32_t c = t->node[node].first_child; c; c = t->node[c].next_sibling) {
		uint32_t next = t->node[c].next_sibling;

		CHECK_EQ(t->node[c].parent, node);
		CHECK(!next || t->node[c].cost.n_bytes >= t->node[next].cost.n_bytes);
		n += check_order(t, c);
	}
	return n;
}

static size_t n_different_paths(enum query_tree_kind kind)
{
	static char(*path)[PATH_BYTES];
	size_t n = 0;

	path = malloc(4000 * sizeof(*path));
	for (uint32_t s = 0; s < world.n_stacks; s++) {
		const struct world_frame *frame[1000];
		unsigned n_frames =
			world.figures[s].n_allocs ? naive_frames(&world, s, frame, NULL) : 0;

		for (unsigned depth = 1; depth <= n_frames; depth++) {
			size_t k = 0;

			CHECK(n < 4000);
			stack_path(s, depth, kind, path[n]);
			while (strcmp(path[k], path[n]) != 0)
				k++;
			n += k == n;
		}
	}
	free(path);
	return n;
}

static void check_tree(enum query_tree_kind kind)
{
	struct query_tree t;
	struct err err = {0};

	open_world(31, 2000);
	open_query(NULL, NULL);
	CHECK_OK(query_tree(q, kind, &t, &err));
	CHECK_EQ(t.n, n_different_paths(kind) + 1);
	CHECK_EQ(check_order(&t, 0), t.n);
	for (uint32_t i = 0; i < t.n; i++)
		check_node(&t, i, kind);
	query_tree_fini(&t);
	close_query();
	close_world();
}

TEST(tree_top_down_sums_up_stacks_with_the_same_outer_frames)
{
	check_tree(QUERY_TOP_DOWN);
}

TEST(tree_bottom_up_sums_up_stacks_with_the_same_inner_frames)
{
	check_tree(QUERY_BOTTOM_UP);
}

TEST(tree_of_nothing_is_a_root)
{
	struct query_tree t;
	struct err err = {0};

	open_world(32, 300);
	open_query("size_min", "1T");
	CHECK_OK(query_tree(q, QUERY_TOP_DOWN, &t, &err));
	CHECK_EQ(t.n, 1);
	CHECK_EQ(t.node[0].cost.n_allocs, 0);
	query_tree_fini(&t);
	close_query();
	close_world();
}

/* ---- functions ---- */

static bool is_named(const struct world_frame *f, const char *name)
{
	return strcmp(f->function, name) == 0;
}

static void check_function(const struct query_function *f)
{
	uint64_t n_allocs = 0, self_allocs = 0, n_bytes = 0;

	for (uint32_t s = 0; s < world.n_stacks; s++) {
		const struct world_frame *frame[1000];
		unsigned n = naive_named_frames(&world, s, frame), i = 0;

		while (i < n && !is_named(frame[i], f->name))
			i++;
		if (i < n) {
			n_allocs += world.figures[s].n_allocs;
			n_bytes += world.figures[s].n_bytes;
		}
		if (n && i == 0)
			self_allocs += world.figures[s].n_allocs;
	}
	CHECK_EQ(f->cost.n_allocs, n_allocs);
	CHECK_EQ(f->cost.n_bytes, n_bytes);
	CHECK_EQ(f->self[QUERY_MAIN_ALLOCS], self_allocs);
}

TEST(functions_cost_what_passes_through_them)
{
	struct query_functions f;
	struct err err = {0};

	open_world(33, 2000);
	open_query(NULL, NULL);
	CHECK_OK(query_functions(q, NULL, &f, &err));
	CHECK(f.n > 5);
	for (size_t i = 0; i < f.n; i++) {
		check_function(&f.function[i]);
		CHECK(i == 0 || f.function[i - 1].cost.n_bytes >= f.function[i].cost.n_bytes);
	}
	query_functions_fini(&f);
	close_query();
	close_world();
}

/* Allocations of stacks in which `caller` is right outside of `callee`. */
static uint64_t n_calls(const char *caller, const char *callee)
{
	uint64_t n = 0;

	for (uint32_t s = 0; s < world.n_stacks; s++) {
		const struct world_frame *frame[1000];
		unsigned n_frames = naive_named_frames(&world, s, frame);
		bool found = false;

		for (unsigned i = 0; i + 1 < n_frames; i++)
			found |= is_named(frame[i], callee) && is_named(frame[i + 1], caller);
		n += found ? world.figures[s].n_allocs : 0;
	}
	return n;
}

TEST(callers_and_callees_are_the_neighbours_in_stacks)
{
	struct query_callers c;
	struct err err = {0};

	open_world(34, 2000);
	open_query(NULL, NULL);
	CHECK_OK(query_callers(q, "worker", &c, &err));
	check_function(&c.function);
	CHECK(c.callers.n > 1 && c.callees.n > 1);
	for (size_t i = 0; i < c.callers.n; i++)
		CHECK_EQ(c.callers.function[i].cost.n_allocs,
			 n_calls(c.callers.function[i].name, "worker"));
	for (size_t i = 0; i < c.callees.n; i++)
		CHECK_EQ(c.callees.function[i].cost.n_allocs,
			 n_calls("worker", c.callees.function[i].name));
	query_callers_fini(&c);
	CHECK_ERR(query_callers(q, "no_such_function", &c, &err), ERR_USAGE);
	close_query();
	close_world();
}

/* ---- tables instead of rows ---- */

/* What is asked from rows (something is wanted that no table has) and what tables say. */
static void check_table(const char *name, const char *value)
{
	struct query_groups rows, table;
	struct err err = {0};

	open_query(name, value);
	CHECK_OK(query_groups(q, QUERY_BY_STACK, &rows, &err));
	query_want(q, 0);
	CHECK_OK(query_groups(q, QUERY_BY_STACK, &table, &err));
	CHECK_EQ(rows.n, table.n);
	for (size_t i = 0; i < rows.n; i++) {
		const struct query_group *a = &rows.group[i], *b = &table.group[i];

		CHECK_EQ(a->key, b->key);
		CHECK_EQ(a->n_allocs, b->n_allocs);
		CHECK_EQ(a->n_bytes, b->n_bytes);
		CHECK_EQ(a->n_leaked, b->n_leaked);
		CHECK_EQ(a->leaked_bytes, b->leaked_bytes);
		CHECK_EQ(a->n_temporary, b->n_temporary);
		CHECK_EQ(a->temporary_bytes, b->temporary_bytes);
		CHECK_EQ(a->extra_bytes, b->extra_bytes);
		CHECK_EQ(a->lifetime_sum_ns, b->lifetime_sum_ns);
	}
	query_groups_fini(&rows);
	query_groups_fini(&table);
	close_query();
}

TEST(table_and_rows_say_the_same)
{
	open_world(35, 6000);
	check_table(NULL, NULL);
	check_table("lifetime", "only_leaked");
	check_table("lifetime", "only_temporary");
	check_table("lifetime", "only_whole_group_leaked");
	check_table("function_regex", "Cache");
	check_table("frame_regex", "Cache|[.]cpp$");
	check_table("negative_backtraces", "1,2,3");
	check_table("group_leaked_allocations_min", "10%");
	close_world();
}

/* ---- what goes wrong ---- */

static void check_error(const char *name, const char *value, const char *part)
{
	const struct query_context context = {.store = store, .frames = frames};
	struct err err = {0};

	filter_init(&filter);
	CHECK_EQ(filter_set(&filter, name, value, &err), 1);
	CHECK_ERR(query_create(&context, &filter, &q, &err), ERR_USAGE);
	CHECK(strstr(err.text, name) != NULL);
	CHECK(strstr(err.text, part) != NULL);
	filter_fini(&filter);
}

TEST(error_names_parameter_and_place)
{
	open_world(36, 100);
	check_error("function_regex", "abc(", "offset 4");
	check_error("negative_source_regex", "[z-a]", "offset 3");
	check_error("backtraces", "3,120", "backtrace 120");
	check_error("negative_backtraces", "3,120", "backtrace 120");
	check_error("frame_regex", "(", "offset 1");
	check_error("deallocation_backtraces", "4000000000", "backtrace 4000000000");
	check_error("from_map", "3", "map 3");
	close_world();
}

TEST(costly_regex_is_given_up)
{
	struct err err = {0};

	open_world(36, 100);
	filter_init(&filter);
	CHECK_EQ(filter_set(&filter, "function_regex", "((a*)*)*(.+)+(.+)+(.+)+(.+)+(.+)+\\d$",
			    &err),
		 1);
	CHECK_ERR(query_create(&(struct query_context){.store = store, .frames = frames}, &filter,
			       &q, &err),
		  ERR_LIMIT);
	CHECK(strstr(err.text, "function_regex") != NULL);
	filter_fini(&filter);
	close_world();
}

static bool count_rows(void *user, const struct query_row *row)
{
	uint64_t *n = user;

	(void)row;
	return ++*n < 10;
}

TEST(rows_end_when_the_reader_has_enough)
{
	const struct query_page by_time = {.count = UINT64_MAX};
	const struct query_page by_size = {.count = UINT64_MAX, .sort = QUERY_BY_SIZE};
	struct err err = {0};
	uint64_t n = 0, n_matching = 77;

	open_world(37, 5000);
	open_query(NULL, NULL);
	CHECK_OK(query_rows(q, &by_time, count_rows, &n, &n_matching, &err));
	CHECK_EQ(n, 10);
	n = 0;
	CHECK_OK(query_rows(q, &by_size, count_rows, &n, &n_matching, &err));
	CHECK_EQ(n, 10);
	CHECK_EQ(n_matching, 77);
	close_query();
	close_world();
}

TEST(cancelled_query_says_so)
{
	const atomic_bool yes = true;
	struct store_bucket bucket[4];
	struct query_groups g;
	struct query_peak peak;
	struct query_tree t;
	struct err err = {0};
	uint64_t n = 0, n_matching;

	open_world(38, 5000);
	filter_init(&filter);
	CHECK_EQ(filter_set(&filter, "size_min", "1", &err), 1);
	CHECK_OK(query_create(
		&(struct query_context){.store = store, .frames = frames, .cancel = &yes}, &filter,
		&q, &err));
	CHECK_ERR(query_groups(q, QUERY_BY_STACK, &g, &err), ERR_CANCELLED);
	CHECK_ERR(query_groups(q, QUERY_BY_THREAD, &g, &err), ERR_CANCELLED);
	CHECK_ERR(query_peak(q, &peak, &err), ERR_CANCELLED);
	CHECK_ERR(query_timeline(q, 0, world.duration, 4, bucket, &err), ERR_CANCELLED);
	CHECK_ERR(query_tree(q, QUERY_TOP_DOWN, &t, &err), ERR_CANCELLED);
	for (unsigned sort = 0; sort < 4; sort++)
		CHECK_ERR(query_rows(q, &(struct query_page){.sort = sort, .count = 5}, count_rows,
				     &n, &n_matching, &err),
			  ERR_CANCELLED);
	close_query();
	close_world();
}

TEST(impossible_timelines_are_refused)
{
	struct store_bucket bucket[4];
	struct err err = {0};

	open_world(39, 100);
	open_query(NULL, NULL);
	CHECK_ERR(query_timeline(q, 0, 1000, 0, bucket, &err), ERR_USAGE);
	CHECK_ERR(query_timeline(q, 0, 1000, 1000000, bucket, &err), ERR_USAGE);
	CHECK_ERR(query_timeline(q, 0, UINT64_MAX, 4, bucket, &err), ERR_USAGE);
	CHECK_OK(query_timeline(q, 5, 5, 4, bucket, &err));
	close_query();
	close_world();
}
