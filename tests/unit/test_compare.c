/* Two recordings merged by names: every node, function and group has what a naive count over the rows of both
 * finds; a recording compared with itself does not change; swapped sides give swapped figures. */
#include "harness/test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "query/compare.h"
#include "query_naive.h"

#if CONFIG_CHECKS > 1 /* builds with sanitizers */
#define N_PAIRS 6u
#else
#define N_PAIRS 15u
#endif
#define N_ROWS 200u
#define MAX_FRAMES 1000u
#define MAX_MOVED 4096u

static struct world world[COMPARE_N_SIDES];
static struct store *store[COMPARE_N_SIDES];
static struct frames *frames[COMPARE_N_SIDES];
static struct query_context context[COMPARE_N_SIDES];
static struct filter filter;
static struct query *q[COMPARE_N_SIDES];
static char *moved[MAX_MOVED];
static size_t n_moved;

/* ---- two worlds ---- */

/* The same file in another folder. */
static const char *move(const char *path)
{
	if (!path || n_moved == MAX_MOVED ||
	    asprintf(&moved[n_moved], "/before/%s", text_basename(path)) < 0)
		return path;
	return moved[n_moved++];
}

static void open_worlds(uint64_t seed_before, uint64_t seed_after)
{
	struct err err = {0};

	filter_init(&filter);
	for (unsigned s = 0; s < COMPARE_N_SIDES; s++) {
		struct world *w = &world[s];

		world_make(w, s == COMPARE_BEFORE ? seed_before : seed_after, N_ROWS);
		for (uint32_t c = 1; s == COMPARE_BEFORE && c < w->n_codes; c++) {
			for (unsigned i = 0; i < w->n_code_frames[c]; i++)
				w->code_frame[c][i].source = move(w->code_frame[c][i].source);
		}
		CHECK_OK(world_open(w, &store[s], &frames[s], &err));
		context[s] = (struct query_context){
			.store = store[s], .frames = frames[s], .n_threads = 2};
		CHECK_OK(query_create(&context[s], &filter, &q[s], &err));
	}
}

static void close_worlds(void)
{
	for (unsigned s = 0; s < COMPARE_N_SIDES; s++) {
		query_destroy(q[s]);
		frames_close(frames[s]);
		store_close(store[s]);
		world_free(&world[s]);
	}
	filter_fini(&filter);
	while (n_moved)
		free(moved[--n_moved]);
}

/* ---- naive sums by text ---- */

struct sum {
	char *text;
	uint64_t cost[COMPARE_N_SIDES][QUERY_N_MAIN_COSTS];
	uint64_t self[COMPARE_N_SIDES][QUERY_N_MAIN_COSTS];
	size_t last_row; /* 1 + row that was added last; a stack counts once */
	unsigned last_side;
	bool was_seen;
};
static struct sum *sum;
static size_t n_sums, cap_sums;

static struct sum *sum_of(const char *text, bool adds)
{
	for (size_t i = 0; i < n_sums; i++) {
		if (strcmp(sum[i].text, text) == 0)
			return &sum[i];
	}
	if (!adds)
		return NULL;
	if (n_sums == cap_sums) {
		cap_sums = cap_sums ? 2 * cap_sums : 1024;
		sum = realloc(sum, cap_sums * sizeof(*sum));
	}
	sum[n_sums] = (struct sum){.text = strdup(text)};
	return &sum[n_sums++];
}

static void forget_sums(void)
{
	for (size_t i = 0; i < n_sums; i++)
		free(sum[i].text);
	free(sum);
	sum = NULL;
	n_sums = cap_sums = 0;
}

static void add_row(uint64_t to[QUERY_N_MAIN_COSTS], const struct world_row *r, uint64_t peak_ns)
{
	to[QUERY_MAIN_BYTES] += r->size;
	to[QUERY_MAIN_ALLOCS]++;
	to[QUERY_MAIN_LEAKED] += r->free_ns == WORLD_NEVER ? r->size : 0;
	to[QUERY_MAIN_PEAK] += world_is_alive(r, peak_ns) ? r->size : 0;
	to[QUERY_MAIN_TEMPORARY] += !!(r->flags & STORE_FLAG_TEMPORARY);
}

/* How people name the code of a frame. */
static void code_name(const struct world *w, const struct world_frame *f, uint32_t code, char *ret,
		      size_t size)
{
	if (f->function)
		snprintf(ret, size, "%s", f->function);
	else if (w->code_module[code])
		snprintf(ret, size, "%s+0x%" PRIx64, text_basename(w->code_module[code]),
			 w->code_offset[code]);
	else
		snprintf(ret, size, "[no image]");
}

static const char *last_part(const char *path)
{
	return path ? text_basename(path) : "";
}

/* Adds the paths of all rows, or their functions alone. */
static void count_rows(unsigned side, bool is_bottom_up, bool is_by_function)
{
	static char path[MAX_FRAMES * 64];
	const struct world *w = &world[side];
	bool *all = malloc(w->n_rows * sizeof(*all));
	uint64_t peak_ns, n_bytes, count;

	memset(all, 1, w->n_rows * sizeof(*all));
	world_peak(w, all, &peak_ns, &n_bytes, &count);
	for (size_t row = 0; row < w->n_rows; row++) {
		const struct world_frame *f[MAX_FRAMES];
		uint32_t code[MAX_FRAMES];
		unsigned n = naive_frames(w, w->row[row].stack, f, code);
		size_t len = 0;

		path[0] = '\0';
		for (unsigned k = 0; k < n; k++) {
			unsigned i = is_bottom_up || is_by_function ? k : n - 1 - k;
			struct sum *to;
			char name[256], buf[NAIVE_NAME_BYTES];

			code_name(w, f[i], code[i], name, sizeof(name));
			if (is_by_function)
				snprintf(path, sizeof(path), "%s",
					 naive_name(w, f[i], code[i], buf));
			else
				len += (size_t)snprintf(path + len, sizeof(path) - len, "|%s/%s/%s",
							name, last_part(f[i]->source),
							last_part(w->code_module[code[i]]));
			to = sum_of(path, true);
			if (!is_by_function || to->last_row != row + 1 || to->last_side != side)
				add_row(to->cost[side], &w->row[row], peak_ns);
			if (k == (is_by_function ? 0 : n - 1))
				add_row(to->self[side], &w->row[row], peak_ns);
			to->last_row = row + 1;
			to->last_side = side;
		}
	}
	free(all);
}

/* ---- trees ---- */

static size_t node_path(const struct compare_tree *t, uint32_t node, char *ret, size_t size)
{
	const struct compare_name *n;
	const struct frame *f;
	size_t len;
	char *made;

	if (node == 0) {
		ret[0] = '\0';
		return 0;
	}
	len = node_path(t, t->node[node].parent, ret, size);
	n = &t->name[t->node[node].name];
	f = n->frame;
	len += (size_t)snprintf(ret + len, size - len, "|%s/%s/%s", compare_code_name(f, &made),
				last_part(f->source), last_part(f->module));
	free(made);
	return len;
}

static void check_tree(bool is_bottom_up)
{
	static char path[MAX_FRAMES * 64];
	struct query_tree_options o = QUERY_TREE_ALL;
	struct compare_tree t;
	struct err err = {0};

	o.kind = is_bottom_up ? QUERY_BOTTOM_UP : QUERY_TOP_DOWN;
	for (unsigned s = 0; s < COMPARE_N_SIDES; s++)
		count_rows(s, is_bottom_up, false);
	CHECK_OK(compare_trees(q, &o, &t, &err));
	CHECK_EQ(t.n, n_sums + 1);
	for (uint32_t i = 1; i < t.n; i++) {
		struct sum *want;

		CHECK(t.node[i].parent < i);
		node_path(&t, i, path, sizeof(path));
		want = sum_of(path, false);
		CHECK_NOT_NULL(want);
		if (!want)
			continue;
		CHECK(!want->was_seen);
		want->was_seen = true;
		CHECK(memcmp(want->cost, t.node[i].cost, sizeof(want->cost)) == 0);
		/* Bottom-up all that is its own is at the outer end. */
		CHECK(memcmp(want->self, t.node[i].self, sizeof(want->self)) == 0);
	}
	compare_tree_fini(&t);
	forget_sums();
}

TEST(every_node_of_a_tree_has_the_costs_of_both_recordings)
{
	for (unsigned i = 0; i < N_PAIRS; i++) {
		open_worlds(100 + i, 200 + i);
		check_tree(false);
		check_tree(true);
		close_worlds();
	}
}

TEST(a_part_of_a_tree_is_the_same_as_in_the_whole)
{
	struct query_tree_options o = QUERY_TREE_ALL;
	struct compare_tree whole, part;
	struct err err = {0};
	uint64_t key[2];

	open_worlds(31, 32);
	CHECK_OK(compare_trees(q, &o, &whole, &err));
	CHECK(whole.n > 3 && whole.node[2].parent == 1);
	key[0] = whole.name[whole.node[1].name].key;
	key[1] = whole.name[whole.node[2].name].key;
	o.under = key;
	o.n_under = 2;
	CHECK_OK(compare_trees(q, &o, &part, &err));
	for (size_t i = 0; i < part.n; i++)
		CHECK(memcmp(part.node[i].cost, whole.node[i + 2].cost,
			     sizeof(part.node[i].cost)) == 0);
	compare_tree_fini(&part);
	o.max_depth = 1;
	CHECK_OK(compare_trees(q, &o, &part, &err));
	for (size_t i = 1; i < part.n; i++)
		CHECK_EQ(part.node[i].parent, 0u);
	compare_tree_fini(&part);
	key[1] = 12345;
	CHECK_ERR(compare_trees(q, &o, &part, &err), ERR_USAGE);
	CHECK(strncmp(err.text, "under:", 6) == 0);
	o = QUERY_TREE_ALL;
	o.max_nodes = 5;
	CHECK_ERR(compare_trees(q, &o, &part, &err), ERR_LIMIT);
	compare_tree_fini(&whole);
	close_worlds();
}

TEST(small_nodes_are_left_out_by_what_both_have_together)
{
	struct query_tree_options o = QUERY_TREE_ALL;
	struct compare_tree t;
	struct err err = {0};
	size_t n_left_out = 0;

	open_worlds(41, 42);
	o.min_share_ppm = 100000;
	CHECK_OK(compare_trees(q, &o, &t, &err));
	for (size_t i = 1; i < t.n; i++) {
		bool is_large = false;

		for (unsigned c = 0; c < QUERY_N_MAIN_COSTS; c++) {
			uint64_t have = t.node[i].cost[0][c] + t.node[i].cost[1][c];
			uint64_t all = t.node[0].cost[0][c] + t.node[0].cost[1][c];

			is_large |= have > 0 && have >= all / 10;
		}
		CHECK(is_large);
		n_left_out += t.node[i].n_left_out;
	}
	CHECK(n_left_out + t.node[0].n_left_out > 0);
	compare_tree_fini(&t);
	close_worlds();
}

/* ---- functions and groups ---- */

TEST(every_function_has_the_costs_of_both_recordings)
{
	for (unsigned i = 0; i < N_PAIRS; i++) {
		struct compare_rows c;
		struct err err = {0};

		open_worlds(300 + i, 400 + i);
		for (unsigned s = 0; s < COMPARE_N_SIDES; s++)
			count_rows(s, true, true);
		CHECK_OK(compare_functions(q, NULL, &c, &err));
		CHECK_EQ(c.n, n_sums);
		for (size_t k = 0; k < c.n; k++) {
			const struct compare_row *row = &c.row[k];
			const struct sum *want = sum_of(row->name ? row->name : "", false);

			CHECK_NOT_NULL(want);
			for (unsigned n = 0; want && n < COMPARE_N_SIDES * QUERY_N_MAIN_COSTS;
			     n++) {
				unsigned s = n / QUERY_N_MAIN_COSTS, m = n % QUERY_N_MAIN_COSTS;

				CHECK_EQ(query_main_cost_of(&row->cost[s], m), want->cost[s][m]);
				CHECK_EQ(row->self[s][m], want->self[s][m]);
			}
		}
		compare_rows_fini(&c);
		forget_sums();
		close_worlds();
	}
}

static const enum query_group_by kinds[] = {QUERY_BY_BLAME, QUERY_BY_PACKAGE, QUERY_BY_FUNCTION,
					    QUERY_BY_LINE,  QUERY_BY_MODULE,  QUERY_BY_THREAD};

/* What the groups of one recording have that are shown by this name. */
static uint64_t bytes_of_name(unsigned side, enum query_group_by by, const char *name)
{
	struct query_groups g;
	struct err err = {0};
	uint64_t n_bytes = 0;

	CHECK_OK(query_groups(q[side], by, &g, &err));
	for (size_t i = 0; i < g.n; i++) {
		const char *have = query_group_name(q[side], by, g.group[i].key);

		if (have && (by == QUERY_BY_MODULE || by == QUERY_BY_LINE))
			have = text_basename(have);
		if (have && strncmp(have, "0x", 2) == 0)
			have = "[no image]";
		if (strcmp(have ? have : "", name ? name : "") == 0)
			n_bytes += g.group[i].n_bytes;
	}
	query_groups_fini(&g);
	return n_bytes;
}

TEST(every_group_has_the_costs_of_both_recordings)
{
	struct query_group total[COMPARE_N_SIDES];
	struct err err = {0};

	open_worlds(51, 52);
	for (unsigned s = 0; s < COMPARE_N_SIDES; s++)
		CHECK_OK(query_total(q[s], &total[s], &err));
	for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
		uint64_t n_bytes[COMPARE_N_SIDES] = {0};
		struct compare_rows c;

		CHECK(compare_knows(kinds[k]));
		CHECK_OK(compare_groups(q, kinds[k], &c, &err));
		for (size_t i = 0; i < c.n; i++) {
			for (unsigned s = 0; s < COMPARE_N_SIDES; s++) {
				n_bytes[s] += c.row[i].cost[s].n_bytes;
				if (kinds[k] != QUERY_BY_THREAD)
					CHECK_EQ(c.row[i].cost[s].n_bytes,
						 bytes_of_name(s, kinds[k], c.row[i].name));
			}
			for (size_t m = 0; m < i; m++)
				CHECK(strcmp(c.row[i].name ? c.row[i].name : "",
					     c.row[m].name ? c.row[m].name : "") != 0);
		}
		for (unsigned s = 0; s < COMPARE_N_SIDES; s++)
			CHECK_EQ(n_bytes[s], total[s].n_bytes);
		compare_rows_fini(&c);
	}
	CHECK(!compare_knows(QUERY_BY_STACK));
	close_worlds();
}

TEST(callers_of_a_function_that_one_recording_lacks_are_there)
{
	struct compare_callers c;
	struct compare_rows all;
	struct err err = {0};
	bool has_both = false;

	open_worlds(61, 62);
	CHECK_OK(compare_functions(q, NULL, &all, &err));
	for (size_t i = 0; i < all.n; i++) {
		const struct compare_row *row = &all.row[i], *have;

		if (!row->name)
			continue;
		CHECK_OK(compare_callers(q, row->name, &c, &err));
		have = &c.function.row[0];
		CHECK_EQ(c.function.n, 1u);
		CHECK(memcmp(have->self, row->self, sizeof(have->self)) == 0);
		for (unsigned s = 0; s < COMPARE_N_SIDES; s++)
			CHECK_EQ(have->cost[s].n_bytes, row->cost[s].n_bytes);
		has_both |= c.callers.n > 0 && c.callees.n > 0 && c.lines.n > 0;
		compare_callers_fini(&c);
	}
	CHECK(has_both);
	CHECK_ERR(compare_callers(q, "no such function", &c, &err), ERR_USAGE);
	compare_rows_fini(&all);
	close_worlds();
}

/* ---- laws ---- */

TEST(a_recording_compared_with_itself_does_not_change)
{
	struct query_tree_options o = QUERY_TREE_ALL;
	struct query *same[COMPARE_N_SIDES];
	struct compare_rows c;
	struct compare_tree t;
	struct query_tree alone;
	struct err err = {0};

	open_worlds(71, 72);
	same[COMPARE_BEFORE] = same[COMPARE_AFTER] = q[COMPARE_AFTER];
	CHECK_OK(compare_trees(same, &o, &t, &err));
	CHECK_OK(query_tree(q[COMPARE_AFTER], QUERY_TOP_DOWN, &alone, &err));
	CHECK_EQ(t.n_stacks[COMPARE_AFTER], alone.n_stacks);
	CHECK(t.n <= alone.n && t.n > 1);
	for (size_t i = 0; i < t.n; i++) {
		CHECK(memcmp(t.node[i].cost[0], t.node[i].cost[1], sizeof(t.node[i].cost[0])) == 0);
		CHECK(memcmp(t.node[i].self[0], t.node[i].self[1], sizeof(t.node[i].self[0])) == 0);
	}
	query_tree_fini(&alone);
	compare_tree_fini(&t);
	for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
		CHECK_OK(compare_groups(same, kinds[k], &c, &err));
		for (size_t i = 0; i < c.n; i++)
			CHECK(memcmp(&c.row[i].cost[0], &c.row[i].cost[1],
				     sizeof(c.row[i].cost[0])) == 0);
		compare_rows_fini(&c);
	}
	close_worlds();
}

TEST(swapped_recordings_have_swapped_figures)
{
	struct query *swapped[COMPARE_N_SIDES];
	struct compare_rows c, d;
	struct err err = {0};

	open_worlds(81, 82);
	swapped[COMPARE_BEFORE] = q[COMPARE_AFTER];
	swapped[COMPARE_AFTER] = q[COMPARE_BEFORE];
	CHECK_OK(compare_functions(q, NULL, &c, &err));
	CHECK_OK(compare_functions(swapped, NULL, &d, &err));
	CHECK_EQ(c.n, d.n);
	for (size_t i = 0; i < c.n; i++) {
		size_t k = 0;

		while (k < d.n && d.row[k].key != c.row[i].key)
			k++;
		CHECK(k < d.n);
		for (unsigned s = 0; s < COMPARE_N_SIDES && k < d.n; s++) {
			CHECK(memcmp(&c.row[i].cost[s], &d.row[k].cost[1 - s],
				     sizeof(c.row[i].cost[s])) == 0);
			CHECK(memcmp(c.row[i].self[s], d.row[k].self[1 - s],
				     sizeof(c.row[i].self[s])) == 0);
		}
	}
	compare_rows_fini(&c);
	compare_rows_fini(&d);
	close_worlds();
}

TEST(a_cancelled_comparison_ends)
{
	struct query_tree_options o = QUERY_TREE_ALL;
	atomic_bool cancel = true;
	struct compare_tree t;
	struct compare_rows c;
	struct err err = {0};

	open_worlds(91, 92);
	for (unsigned s = 0; s < COMPARE_N_SIDES; s++) {
		query_destroy(q[s]);
		context[s].cancel = &cancel;
		CHECK_OK(query_create(&context[s], &filter, &q[s], &err));
	}
	CHECK_ERR(compare_trees(q, &o, &t, &err), ERR_CANCELLED);
	CHECK_ERR(compare_groups(q, QUERY_BY_BLAME, &c, &err), ERR_CANCELLED);
	close_worlds();
}
