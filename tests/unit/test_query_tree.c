/* Trees with folding, hiding, recursion that collapses, subtrees, depths and shares: every node, every sum
 * and every number of children is what a naive evaluation of the rules in query_fold.h finds. */
#include "harness/test.h"

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/query.h"
#include "query_naive.h"

#if CONFIG_CHECKS > 1 /* builds with sanitizers */
#define N_TREES 150u
#else
#define N_TREES 500u
#endif

#define MAX_FRAMES 200u
#define TOKIO "tokio::runtime::scheduler::multi_thread::worker::run"

static struct world world;
static struct store *store;
static struct frames *frames;
static struct filter filter;
static struct query *q;

/* ---- a world with long stacks of few names ---- */

static const char *const functions[] = {
	"main",
	"parse",
	"eval",
	"operator new(unsigned long)",
	"std::vector<int>::push_back",
	"malloc",
	"start_thread",
	TOKIO,
	"uv_run",
	"worker",
	"clone_item",
};
static const char *const sources[] = {NULL, "/src/main.c", "/usr/include/c++/12/vector"};

static void open_world(uint64_t seed)
{
	struct query_context c;
	struct err err = {0};

	world_make(&world, seed, 600);
	for (uint32_t code = 1; code < world.n_codes; code++) {
		for (unsigned i = 0; i < world.n_code_frames[code]; i++) {
			struct world_frame *f = &world.code_frame[code][i];

			f->function = world.n_code_frames[code] == 1 && world_below(&world, 12) == 0
					      ? NULL
					      : functions[world_below(&world, 11)];
			f->source = f->function ? sources[world_below(&world, 3)] : NULL;
			f->line = f->source ? 7 : 0;
		}
	}
	for (uint32_t n = 1; n < world.n_nodes; n++) {
		uint32_t back = 1 + (uint32_t)world_below(&world, 8);

		world.node_parent[n] = back < n ? n - back : 0;
		/* cycles of calls */
		if (world.node_parent[n] > 2 && world_below(&world, 2))
			world.node_code[n] =
				world.node_code[world.node_parent[world.node_parent[n]]];
	}
	CHECK_OK(world_open(&world, &store, &frames, &err));
	c = (struct query_context){.store = store, .frames = frames, .n_threads = 2};
	filter_init(&filter);
	CHECK_OK(query_create(&c, &filter, &q, &err));
}

static void close_world(void)
{
	query_destroy(q);
	filter_fini(&filter);
	frames_close(frames);
	store_close(store);
	world_free(&world);
}

/* ---- the naive way ---- */

struct item {
	uint64_t label; /* hash of what the user takes for one name */
	uint64_t n_folded;
	bool is_folded, is_allocator, is_chosen;
	unsigned title; /* rank; 0: none */
};

static uint64_t hash(uint64_t h, const char *text)
{
	for (; text && *text; text++)
		h = (h ^ (unsigned char)*text) * 1099511628211ull;
	return (h ^ 0xff) * 1099511628211ull;
}

static uint64_t label_of(const char *function, const char *source, const char *module,
			 unsigned long long addr)
{
	char nameless[40] = "";

	if (!function)
		snprintf(nameless, sizeof(nameless), "%llx", addr);
	return hash(hash(hash(hash(1, function), source), module), nameless);
}

static const char *const naive_titles[] = {NULL, "tokio worker", "libuv loop", "thread start"};

static bool is_match(const char *pattern, const char *text)
{
	regex_t x;
	bool found;

	if (!pattern || !text)
		return false;
	CHECK_EQ(regcomp(&x, pattern, REG_EXTENDED | REG_NOSUB), 0);
	found = regexec(&x, text, 0, NULL, 0) == 0;
	regfree(&x);
	return found;
}

static void judge(struct item *i, const struct world_frame *f, const struct query_tree_options *o)
{
	const struct frame frame = {
		.function = f->function, .source = f->source, .module = f->module};
	enum frame_class class = frame_class_of(&frame, "");
	const char *function = f->function ? f->function : "";
	unsigned title = strcmp(function, TOKIO) == 0            ? 1
			 : strcmp(function, "uv_run") == 0       ? 2
			 : strcmp(function, "start_thread") == 0 ? 3
								 : 0;

	if (o->fold == QUERY_FOLD_RUNTIME) {
		i->is_allocator = class == FRAME_CLASS_ALLOCATOR;
		i->is_folded = i->is_allocator || class == FRAME_CLASS_RUNTIME ||
			       (title && (class != FRAME_CLASS_OWN || !f->source));
		i->title = i->is_folded ? title : 0;
	}
	if (is_match(o->fold_regex, f->function)) {
		i->is_folded = i->is_chosen = true;
		i->is_allocator = false;
	}
}

/* The frames that are not hidden, outermost first. */
static unsigned visible(uint32_t stack, const struct query_tree_options *o, struct item *ret)
{
	const struct world_frame *frame[1000];
	uint32_t code[1000];
	unsigned n_frames = naive_frames(&world, stack, frame, code), n = 0;

	CHECK(n_frames < MAX_FRAMES);
	for (unsigned k = n_frames; k-- > 0;) {
		const struct world_frame *f = frame[k];

		if (is_match(o->hide_regex, f->function))
			continue;
		ret[n] = (struct item){.label = label_of(f->function, f->source, f->module,
							 world.code_addr[code[k]])};
		judge(&ret[n++], f, o);
	}
	return n;
}

/* Does the run at the inner end go, where a tree bottom up begins? */
static bool is_dropped(const struct item *item, unsigned n, const struct query_tree_options *o)
{
	bool is_chosen = false;

	for (unsigned i = 0; i < n; i++)
		is_chosen |= item[i].is_chosen;
	return o->fold == QUERY_FOLD_RUNTIME && o->kind == QUERY_BOTTOM_UP && !is_chosen;
}

static unsigned fold_runs(struct item *item, unsigned n, const struct query_tree_options *o,
			  struct item *ret)
{
	unsigned n_ret = 0;

	for (unsigned i = 0; i < n;) {
		unsigned end = i, best = 0, length;

		if (!item[i].is_folded) {
			ret[n_ret++] = item[i++];
			continue;
		}
		while (end < n && item[end].is_folded)
			end++;
		length = end - i;
		for (unsigned k = i; end == n && k < end; k++) {
			if (item[k].is_allocator) {
				length = k - i;
				break;
			}
		}
		if (end == n && n_ret && is_dropped(item + i, length, o))
			length = 0;
		for (unsigned k = i; k < i + length; k++) {
			if (item[k].title && (!best || item[k].title < best))
				best = item[k].title;
		}
		if (length) {
			ret[n_ret] = item[i];
			ret[n_ret].n_folded = length;
			if (best)
				ret[n_ret].label = hash(2, naive_titles[best]);
			n_ret++;
		}
		i = end;
	}
	return n_ret;
}

static unsigned collapse(struct item *item, unsigned n)
{
	unsigned n_ret = 0;

	for (unsigned i = 0; i < n; i++) {
		item[n_ret++] = item[i];
		for (unsigned k = 1; k <= 16 && 2 * k <= n_ret; k++) {
			unsigned same = 0;

			while (same < k &&
			       item[n_ret - 1 - same].label == item[n_ret - 1 - same - k].label)
				same++;
			if (same == k) {
				n_ret -= k;
				break;
			}
		}
	}
	return n_ret;
}

/* The names of a stack from the root of the tree on. */
static unsigned names_of(uint32_t stack, const struct query_tree_options *o, struct item *ret)
{
	struct item all[MAX_FRAMES];
	unsigned n = fold_runs(all, visible(stack, o, all), o, ret);

	if (o->collapses_recursion)
		n = collapse(ret, n);
	for (unsigned i = 0; o->kind == QUERY_BOTTOM_UP && i < n / 2; i++) {
		struct item swap = ret[i];

		ret[i] = ret[n - 1 - i];
		ret[n - 1 - i] = swap;
	}
	return n;
}

struct naive_node {
	uint64_t path, parent; /* hashes */
	unsigned depth;
	uint64_t cost[QUERY_N_MAIN_COSTS], self[QUERY_N_MAIN_COSTS];
	uint64_t n_folded, n_children;
};

static struct naive_node *node;
static size_t n_nodes;

static int compare_nodes(const void *a, const void *b)
{
	const struct naive_node *x = a, *y = b;

	return x->path < y->path ? -1 : x->path > y->path;
}

static struct naive_node *find(uint64_t path)
{
	struct naive_node key = {.path = path};

	return bsearch(&key, node, n_nodes, sizeof(*node), compare_nodes);
}

static void add_stack(const struct item *item, unsigned n, unsigned skip, const uint64_t *cost)
{
	uint64_t path = 1, parent = 0;

	for (unsigned depth = 0; depth <= n - skip; depth++) {
		struct naive_node *now = &node[n_nodes++];

		if (depth) {
			parent = path;
			path = path * 1099511628211ull + item[skip + depth - 1].label;
		}
		*now = (struct naive_node){.path = path, .parent = parent, .depth = depth};
		if (depth + skip)
			now->n_folded = item[skip + depth - 1].n_folded;
		memcpy(now->cost, cost, sizeof(now->cost));
		if (depth == n - skip)
			memcpy(now->self, cost, sizeof(now->self));
	}
}

/* One of each path, with the sums. */
static void merge_nodes(void)
{
	size_t n = 0;

	qsort(node, n_nodes, sizeof(*node), compare_nodes);
	for (size_t i = 0; i < n_nodes; i++) {
		struct naive_node *to = n ? &node[n - 1] : NULL;

		if (!to || to->path != node[i].path) {
			node[n++] = node[i];
			continue;
		}
		for (unsigned c = 0; c < QUERY_N_MAIN_COSTS; c++) {
			to->cost[c] += node[i].cost[c];
			to->self[c] += node[i].self[c];
		}
		if (node[i].n_folded > to->n_folded)
			to->n_folded = node[i].n_folded;
	}
	n_nodes = n;
	for (size_t i = 0; i < n; i++) {
		if (node[i].depth)
			find(node[i].parent)->n_children++;
	}
}

/* All nodes below the one that the labels in `under` lead to. Returns the number of stacks. */
static size_t naive_tree(const struct query_tree_options *o, const uint64_t *under,
			 unsigned n_under, bool *is_under)
{
	size_t n_stacks = 0;

	n_nodes = 0;
	for (uint32_t s = 0; s < world.n_stacks; s++) {
		const struct store_stack *f = &world.figures[s];
		const uint64_t cost[QUERY_N_MAIN_COSTS] = {
			f->n_bytes, f->leaked_bytes, f->peak_bytes, f->n_allocs, f->n_temporary};
		struct item item[MAX_FRAMES];
		unsigned n = names_of(s, o, item), level = 0;

		while (level < n_under && level < n && item[level].label == under[level])
			level++;
		is_under[s] = f->n_allocs && level == n_under;
		if (!is_under[s])
			continue;
		add_stack(item, n, n_under, cost);
		n_stacks++;
	}
	merge_nodes();
	return n_stacks;
}

/* ---- comparing ---- */

static uint64_t label_of_name(const struct query_tree_name *n)
{
	return n->title ? hash(2, n->title)
			: label_of(n->frame->function, n->frame->source, n->frame->module,
				   n->frame->addr);
}

static uint64_t path_of(const struct query_tree *t, uint32_t i)
{
	if (!i)
		return 1;
	return path_of(t, t->node[i].parent) * 1099511628211ull +
	       label_of_name(&t->name[t->node[i].name]);
}

static bool is_large(const struct naive_node *n, const struct naive_node *top, uint32_t ppm)
{
	for (unsigned c = 0; c < QUERY_N_MAIN_COSTS; c++) {
		if (n->cost[c] && n->cost[c] >= top->cost[c] * ppm / 1000000)
			return true;
	}
	return false;
}

static void compare_tree(const struct query_tree *t, const struct query_tree_options *o)
{
	const struct naive_node *top = find(1);
	size_t n_wanted = 0;

	for (size_t i = 0; i < n_nodes; i++)
		n_wanted += node[i].depth == 0 || (node[i].depth <= o->max_depth &&
						   is_large(&node[i], top, o->min_share_ppm));
	CHECK_EQ(t->n, n_wanted);
	for (uint32_t i = 0; i < t->n; i++) {
		const struct query_tree_node *have = &t->node[i];
		const struct naive_node *want = find(path_of(t, i));

		CHECK_NOT_NULL(want);
		CHECK_EQ(have->depth, want->depth);
		CHECK_EQ(have->n_children, want->n_children);
		CHECK_EQ(!have->n_folded, !want->n_folded);
		/* Else it is a bound: see query.h. */
		if (o->kind == QUERY_TOP_DOWN && !o->collapses_recursion)
			CHECK_EQ(have->n_folded, want->n_folded);
		else
			CHECK(have->n_folded >= want->n_folded);
		CHECK(i == 0 || have->parent < i);
		for (unsigned c = 0; c < QUERY_N_MAIN_COSTS; c++) {
			CHECK_EQ(query_main_cost_of(&have->cost, c), want->cost[c]);
			CHECK_EQ(have->self[c], want->self[c]);
		}
	}
}

static size_t check_order(const struct query_tree *t, uint32_t at)
{
	size_t n = 1;

	for (uint32_t c = t->node[at].first_child; c; c = t->node[c].next_sibling) {
		uint32_t next = t->node[c].next_sibling;

		CHECK_EQ(t->node[c].parent, at);
		CHECK(!next || t->node[c].cost.n_bytes >= t->node[next].cost.n_bytes);
		n += check_order(t, c);
	}
	return n;
}

/* With most_nodes every node that is there has the figures that it has without, and a rest has those
 * of the children that are missing. The root has at least two nodes. */
static void check_most_nodes(struct query_tree_options o, size_t n_all)
{
	struct query_tree t;
	struct err err = {0};
	size_t n_rests = 0;

	o.most_nodes = 2 + world_below(&world, 40);
	CHECK_OK(query_tree_with(q, &o, &t, &err));
	CHECK(t.n <= o.most_nodes);
	for (uint32_t i = 0; i < t.n; i++) {
		const struct query_tree_node *have = &t.node[i];
		uint64_t below[QUERY_N_MAIN_COSTS] = {0}, n_children = 0;
		const struct naive_node *want;

		n_rests += query_is_rest(have);
		if (query_is_rest(have))
			continue;
		want = find(path_of(&t, i));
		CHECK_NOT_NULL(want);
		for (uint32_t k = have->first_child; k; k = t.node[k].next_sibling) {
			bool is_rest = query_is_rest(&t.node[k]);

			n_children += is_rest ? t.node[k].n_children : 1;
			CHECK(!is_rest || !t.node[k].next_sibling); /* the last one */
			for (unsigned c = 0; c < QUERY_N_MAIN_COSTS; c++)
				below[c] += query_main_cost_of(&t.node[k].cost, c);
		}
		CHECK(n_all <= o.most_nodes || n_children == want->n_children);
		for (unsigned c = 0; c < QUERY_N_MAIN_COSTS && n_all > o.most_nodes; c++) {
			CHECK_EQ(query_main_cost_of(&have->cost, c), want->cost[c]);
			CHECK_EQ(have->self[c], want->self[c]);
			CHECK_EQ(below[c] + have->self[c], want->cost[c]);
		}
	}
	CHECK_EQ(n_rests > 0, n_all > o.most_nodes);
	query_tree_fini(&t);
}

/* The way to a random node, as keys and as labels. */
static unsigned choose_under(const struct query_tree_options *o, uint64_t *key, uint64_t *label)
{
	struct query_tree t;
	struct err err = {0};
	uint32_t at;
	unsigned n;

	CHECK_OK(query_tree_with(q, o, &t, &err));
	at = (uint32_t)world_below(&world, t.n);
	n = t.node[at].depth;
	for (unsigned i = n; i-- > 0; at = t.node[at].parent) {
		const struct query_tree_name *name = &t.name[t.node[at].name];

		CHECK(name->key < 1ull << 53);
		key[i] = name->key;
		label[i] = label_of_name(name);
	}
	query_tree_fini(&t);
	return n;
}

static void check_groups(const struct query_tree_options *o, const bool *is_under)
{
	struct query_groups g;
	struct err err = {0};
	uint64_t n_bytes = 0;
	size_t at = 0;

	CHECK_OK(query_groups(q, QUERY_BY_STACK, &g, &err));
	CHECK_OK(query_tree_keep_under(q, o, &g, &err));
	for (uint32_t s = 0; s < world.n_stacks; s++) {
		if (!is_under[s])
			continue;
		CHECK(at < g.n && g.group[at].key == s);
		n_bytes += g.group[at++].n_bytes;
	}
	CHECK_EQ(at, g.n);
	CHECK_EQ(n_bytes, g.total.n_bytes);
	query_groups_fini(&g);
}

static void check_random_tree(void)
{
	static const char *const regexes[] = {"parse", "^(eval|main)$", "o", "worker|clone"};
	uint64_t key[MAX_FRAMES], label[MAX_FRAMES], n_bytes = 0;
	struct query_tree_options o = QUERY_TREE_ALL;
	bool *is_under = calloc(world.n_stacks, sizeof(*is_under));
	struct query_tree t;
	struct err err = {0};
	unsigned n_under = 0;
	size_t n_stacks;

	o.kind = world_below(&world, 2) ? QUERY_TOP_DOWN : QUERY_BOTTOM_UP;
	o.fold = world_below(&world, 3) ? QUERY_FOLD_RUNTIME : QUERY_FOLD_NONE;
	if (world_below(&world, 3) == 0)
		o.fold_regex = regexes[world_below(&world, 4)];
	if (world_below(&world, 3) == 0)
		o.hide_regex = regexes[world_below(&world, 4)];
	o.collapses_recursion = world_below(&world, 2);
	if (world_below(&world, 3) == 0) {
		n_under = choose_under(&o, key, label);
		o.under = key;
		o.n_under = n_under;
	}
	if (world_below(&world, 3) == 0)
		o.max_depth = (uint32_t)world_below(&world, 6);
	if (world_below(&world, 2))
		o.min_share_ppm = (uint32_t)world_below(&world, 100000);
	n_stacks = naive_tree(&o, label, n_under, is_under);
	CHECK_OK(query_tree_with(q, &o, &t, &err));
	CHECK_EQ(t.n_stacks, n_stacks);
	compare_tree(&t, &o);
	CHECK_EQ(check_order(&t, 0), t.n);
	check_most_nodes(o, t.n);
	for (uint32_t s = 0; s < world.n_stacks; s++)
		n_bytes += world.figures[s].n_bytes;
	CHECK_EQ(t.total.n_bytes, n_bytes);
	query_tree_fini(&t);
	check_groups(&o, is_under);
	free(is_under);
}

TEST(random_trees_are_what_the_rules_say)
{
	node = calloc((size_t)200 * MAX_FRAMES, sizeof(*node));
	for (uint64_t seed = 1; seed <= 5; seed++) {
		open_world(seed);
		for (unsigned i = 0; i < N_TREES / 5; i++)
			check_random_tree();
		close_world();
	}
	free(node);
}

/* ---- what is refused ---- */

TEST(bad_expressions_and_keys_are_named)
{
	struct query_tree_options o = QUERY_TREE_ALL;
	const uint64_t nowhere = 5;
	struct query_tree t = {0};
	struct err err = {0};

	open_world(9);
	o.fold_regex = "(";
	CHECK_ERR(query_tree_with(q, &o, &t, &err), ERR_USAGE);
	CHECK(strncmp(err.text, "fold_regex:", 11) == 0);
	o.fold_regex = NULL;
	o.hide_regex = "[";
	CHECK_ERR(query_tree_with(q, &o, &t, &err), ERR_USAGE);
	CHECK(strncmp(err.text, "hide_regex:", 11) == 0);
	o.hide_regex = NULL;
	o.under = &nowhere;
	o.n_under = 1;
	CHECK_ERR(query_tree_with(q, &o, &t, &err), ERR_USAGE);
	CHECK(strncmp(err.text, "under:", 6) == 0);
	close_world();
}

TEST(too_many_nodes_are_an_error_that_says_what_helps)
{
	struct query_tree_options o = QUERY_TREE_ALL;
	struct query_tree t = {0};
	struct err err = {0};

	open_world(9);
	o.max_nodes = 10;
	for (unsigned kind = 0; kind < 2; kind++) {
		o.kind = kind ? QUERY_BOTTOM_UP : QUERY_TOP_DOWN;
		CHECK_ERR(query_tree_with(q, &o, &t, &err), ERR_LIMIT);
		CHECK(strstr(err.text, "min_share"));
	}
	close_world();
}

/* Keys of the recording that are no way in this tree: a row that has nothing left. */
TEST(a_way_that_leads_nowhere_is_empty)
{
	struct query_tree_options o = QUERY_TREE_ALL;
	uint64_t key[MAX_FRAMES] = {0};
	struct query_tree t = {0};
	struct err err = {0};

	open_world(9);
	CHECK_OK(query_tree_with(q, &o, &t, &err));
	for (unsigned i = 0; i < MAX_FRAMES; i++)
		key[i] = t.name[0].key;
	query_tree_fini(&t);
	o.under = key;
	o.n_under = MAX_FRAMES;
	for (unsigned kind = 0; kind < 2; kind++) {
		o.kind = kind ? QUERY_BOTTOM_UP : QUERY_TOP_DOWN;
		CHECK_OK(query_tree_with(q, &o, &t, &err));
		CHECK_EQ(t.n, 1);
		CHECK_EQ(t.n_stacks, 0);
		CHECK_EQ(t.node[0].cost.n_allocs, 0);
		CHECK_EQ(t.name[t.node[0].name].key, key[0]);
		query_tree_fini(&t);
	}
	close_world();
}
