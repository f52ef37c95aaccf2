/* Functions by a part of their name, callers with lines, lines of a file, searching: against figures that
 * are found frame by frame. */
#include "harness/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "query/by_function.h"
#include "query_naive.h"

static struct world world;
static struct store *store;
static struct frames *frames;
static struct filter filter;
static struct query *q;

static void open_world(uint64_t seed)
{
	struct query_context c;
	struct err err = {0};

	world_make(&world, seed, 2000);
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

struct cost {
	uint64_t value[QUERY_N_MAIN_COSTS], self[QUERY_N_MAIN_COSTS];
};

static void add(uint64_t *to, uint32_t stack)
{
	const struct store_stack *s = &world.figures[stack];

	to[QUERY_MAIN_BYTES] += s->n_bytes;
	to[QUERY_MAIN_LEAKED] += s->leaked_bytes;
	to[QUERY_MAIN_PEAK] += s->peak_bytes;
	to[QUERY_MAIN_ALLOCS] += s->n_allocs;
	to[QUERY_MAIN_TEMPORARY] += s->n_temporary;
}

/* Stacks in which fits() says yes of some frame; self: of the innermost frame. */
static struct cost cost_of(bool (*fits)(const struct world_frame *const *f, unsigned n, unsigned i,
					const void *what),
			   const void *what)
{
	struct cost c = {0};

	for (uint32_t s = 0; s < world.n_stacks; s++) {
		const struct world_frame *frame[1000];
		unsigned n = naive_named_frames(&world, s, frame);

		for (unsigned i = 0; i < n; i++) {
			if (!fits(frame, n, i, what))
				continue;
			add(c.value, s);
			if (i == 0)
				add(c.self, s);
			break;
		}
	}
	return c;
}

static bool same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool contains(const char *text, const char *part)
{
	return text && strcasestr(text, part);
}

static void check_cost(const struct query_group *g, const uint64_t *self, const struct cost *want)
{
	for (unsigned c = 0; c < QUERY_N_MAIN_COSTS; c++) {
		CHECK_EQ(query_main_cost_of(g, c), want->value[c]);
		if (self)
			CHECK_EQ(self[c], want->self[c]);
	}
}

static bool has_function(const struct world_frame *const *f, unsigned n, unsigned i,
			 const void *what)
{
	(void)n;
	return same(f[i]->function, what);
}

static bool has_source(const struct world_frame *const *f, unsigned n, unsigned i, const void *what)
{
	(void)n;
	return same(f[i]->source, what);
}

static bool has_module(const struct world_frame *const *f, unsigned n, unsigned i, const void *what)
{
	(void)n;
	return same(f[i]->module, what);
}

/* Is there such a frame in a stack that allocated? */
static bool exists(const char *name, const char *module, const char *source, const char *function)
{
	for (uint32_t s = 0; s < world.n_stacks; s++) {
		const struct world_frame *f[1000];
		unsigned n = world.figures[s].n_allocs ? naive_named_frames(&world, s, f) : 0;

		for (unsigned i = 0; i < n; i++) {
			if (same(f[i]->function, function) &&
			    (!name || contains(f[i]->function, name)) &&
			    (!module || contains(f[i]->module, module)) &&
			    (!source || contains(f[i]->source, source)))
				return true;
		}
	}
	return false;
}

/* ---- functions ---- */

static void check_match(const struct query_function_match *m)
{
	struct query_functions all, some;
	struct err err = {0};
	size_t at = 0;

	CHECK_OK(query_functions(q, NULL, &all, &err));
	CHECK_OK(query_functions(q, m, &some, &err));
	for (size_t i = 0; i < all.n; i++) {
		const struct query_function *f = &all.function[i], *have = &some.function[at];
		struct cost want = cost_of(has_function, f->name);

		check_cost(&f->cost, f->self, &want);
		if (!exists(m->name, m->module, m->source, f->name))
			continue;
		CHECK(at < some.n);
		at++;
		CHECK_EQ(have->key, f->key);
		check_cost(&have->cost, have->self, &want);
		CHECK(!have->frame->function || same(have->frame->function, f->name));
		CHECK(!m->module || contains(have->frame->module, m->module));
		CHECK(!m->source || contains(have->frame->source, m->source));
	}
	CHECK_EQ(at, some.n);
	CHECK(some.n < all.n);
	query_functions_fini(&all);
	query_functions_fini(&some);
}

TEST(functions_are_found_by_a_part_of_name_module_and_source)
{
	open_world(51);
	check_match(&(struct query_function_match){.name = "CACHE::"});
	check_match(&(struct query_function_match){.name = "e"});
	check_match(&(struct query_function_match){.name = "(unsigned LONG)"});
	check_match(&(struct query_function_match){.name = ".*"});
	check_match(&(struct query_function_match){.module = "LIBTLS", .source = ".C"});
	check_match(&(struct query_function_match){.name = "o", .module = "stdc++"});
	check_match(&(struct query_function_match){.name = "a", .source = "json/parse"});
	close_world();
}

TEST(texts_that_are_no_utf8_are_refused)
{
	struct query_function_match m = {.module = "\xff"};
	struct query_functions f;
	struct query_search s;
	struct err err = {0};

	open_world(51);
	CHECK_ERR(query_functions(q, &m, &f, &err), ERR_USAGE);
	CHECK(strncmp(err.text, "module_q:", 9) == 0);
	CHECK_ERR(query_search(q, "\xff", false, &s, &err), ERR_USAGE);
	CHECK(strncmp(err.text, "q:", 2) == 0);
	close_world();
}

/* ---- around one function ---- */

struct pair {
	const char *function, *neighbour;
};

/* The function right inside of the neighbour, or outside. */
static bool is_called_by(const struct world_frame *const *f, unsigned n, unsigned i,
			 const void *what)
{
	const struct pair *p = what;

	return i + 1 < n && same(f[i]->function, p->function) &&
	       same(f[i + 1]->function, p->neighbour);
}

static bool calls(const struct world_frame *const *f, unsigned n, unsigned i, const void *what)
{
	const struct pair *p = what;

	return i + 1 < n && same(f[i + 1]->function, p->function) &&
	       same(f[i]->function, p->neighbour);
}

struct place {
	const char *function; /* NULL: any */
	const char *source;
	uint32_t line;
};

static bool is_at(const struct world_frame *const *f, unsigned n, unsigned i, const void *what)
{
	const struct place *p = what;

	(void)n;
	return (!p->function || same(f[i]->function, p->function)) &&
	       same(f[i]->source, p->source) && f[i]->line == p->line;
}

/* How many different lines known frames have, of a function or of a source. */
static size_t n_lines(const char *function, const char *source)
{
	static struct place seen[1000];
	size_t n = 0;

	for (uint32_t s = 0; s < world.n_stacks; s++) {
		const struct world_frame *f[1000];
		unsigned n_frames =
			world.figures[s].n_allocs ? naive_named_frames(&world, s, f) : 0;

		for (unsigned i = 0; i < n_frames; i++) {
			size_t k = 0;

			if (!f[i]->source || !f[i]->line ||
			    (function && !same(f[i]->function, function)) ||
			    (source && !same(f[i]->source, source)))
				continue;
			while (k < n &&
			       !(same(seen[k].source, f[i]->source) && seen[k].line == f[i]->line))
				k++;
			seen[k] = (struct place){NULL, f[i]->source, f[i]->line};
			n += k == n;
		}
	}
	return n;
}

static void check_callers(const char *function)
{
	struct query_callers c;
	struct err err = {0};
	struct cost want;

	CHECK_OK(query_callers(q, function, &c, &err));
	want = cost_of(has_function, function);
	check_cost(&c.function.cost, c.function.self, &want);
	CHECK_STR_EQ(c.function.frame->function, function);
	for (size_t i = 0; i < c.callers.n; i++) {
		const struct query_function *f = &c.callers.function[i];

		want = cost_of(is_called_by, &(struct pair){function, f->name});
		check_cost(&f->cost, f->self, &want);
		CHECK(!f->frame->function || same(f->frame->function, f->name));
	}
	for (size_t i = 0; i < c.callees.n; i++) {
		const struct query_function *f = &c.callees.function[i];

		want = cost_of(calls, &(struct pair){function, f->name});
		check_cost(&f->cost, f->self, &want);
	}
	CHECK_EQ(c.lines.n, n_lines(function, NULL));
	for (size_t i = 0; i < c.lines.n; i++) {
		const struct query_line *l = &c.lines.line[i];

		want = cost_of(is_at, &(struct place){function, l->source, l->line});
		check_cost(&l->cost, l->self, &want);
		CHECK_STR_EQ(l->function, function);
		CHECK(i == 0 || c.lines.line[i - 1].cost.n_bytes >= l->cost.n_bytes);
	}
	query_callers_fini(&c);
}

TEST(callers_callees_and_lines_cost_what_the_stacks_say)
{
	struct query_callers c;
	struct err err = {0};

	for (uint64_t seed = 52; seed < 56; seed++) {
		open_world(seed);
		check_callers("worker");
		check_callers("Cache::fill");
		check_callers("main");
		/* the text is there, but not as a function */
		CHECK_ERR(query_callers(q, "/src/main.c", &c, &err), ERR_USAGE);
		close_world();
	}
}

/* ---- files ---- */

TEST(lines_of_a_file_cost_what_the_stacks_say)
{
	static const char *const source[] = {"/src/main.c", "/src/json/parse.c",
					     "/usr/include/c++/12/vector"};
	struct query_lines l;
	struct err err = {0};

	open_world(57);
	for (unsigned k = 0; k < ARRAY_LEN(source); k++) {
		CHECK_OK(query_lines_of_file(q, source[k], &l, &err));
		CHECK(l.n > 0);
		CHECK_EQ(l.n, n_lines(NULL, source[k]));
		for (size_t i = 0; i < l.n; i++) {
			struct cost want =
				cost_of(is_at, &(struct place){NULL, source[k], l.line[i].line});

			check_cost(&l.line[i].cost, l.line[i].self, &want);
			CHECK(i == 0 || l.line[i - 1].line < l.line[i].line);
		}
		query_lines_fini(&l);
	}
	CHECK_ERR(query_lines_of_file(q, "/etc/passwd", &l, &err), ERR_USAGE);
	CHECK_ERR(query_lines_of_file(q, "main", &l, &err), ERR_USAGE); /* a function's */
	CHECK_ERR(query_lines_of_file(q, "", &l, &err), ERR_USAGE);
	close_world();
}

/* ---- searching ---- */

static size_t check_found(const struct query_found_list *l, const char *text,
			  bool (*fits)(const struct world_frame *const *f, unsigned n, unsigned i,
				       const void *what))
{
	for (size_t i = 0; i < l->n; i++) {
		const struct query_found *f = &l->item[i];
		struct cost want = cost_of(fits, f->text);

		check_cost(&f->cost, NULL, &want);
		CHECK(contains(f->text, text));
		CHECK(i == 0 || f[-1].cost.leaked_bytes > f->cost.leaked_bytes ||
		      (f[-1].cost.leaked_bytes == f->cost.leaked_bytes &&
		       f[-1].cost.peak_bytes >= f->cost.peak_bytes));
		for (size_t k = 0; k < i; k++)
			CHECK(strcmp(l->item[k].text, f->text) != 0);
	}
	return l->n;
}

/* Different functions, sources or modules with the text that allocating stacks have. */
static size_t n_expected(const char *text, unsigned kind)
{
	const char *seen[100];
	size_t n = 0;

	for (uint32_t s = 0; s < world.n_stacks; s++) {
		const struct world_frame *f[1000];
		unsigned n_frames =
			world.figures[s].n_allocs ? naive_named_frames(&world, s, f) : 0;

		for (unsigned i = 0; i < n_frames; i++) {
			const char *name = kind == 0   ? f[i]->function
					   : kind == 1 ? f[i]->source
						       : f[i]->module;
			size_t k = 0;

			while (k < n && !same(seen[k], name))
				k++;
			if (k == n && contains(name, text))
				seen[n++] = name;
		}
	}
	return n;
}

TEST(search_finds_functions_files_and_modules)
{
	static const char *const text[] = {"TLS", "a", "/src/", "parse", "::", "nothing", ".*"};
	struct query_search s;
	struct err err = {0};
	size_t n = 0;

	open_world(58);
	for (unsigned i = 0; i < ARRAY_LEN(text); i++) {
		CHECK_OK(query_search(q, text[i], false, &s, &err));
		CHECK_EQ(check_found(&s.functions, text[i], has_function), n_expected(text[i], 0));
		CHECK_EQ(check_found(&s.files, text[i], has_source), n_expected(text[i], 1));
		CHECK_EQ(check_found(&s.modules, text[i], has_module), n_expected(text[i], 2));
		n += s.functions.n + s.files.n + s.modules.n;
		query_search_fini(&s);
	}
	CHECK(n > 10);
	close_world();
}

/* Of a function with frames of several classes an own one is enough. */
TEST(own_only_leaves_out_other_code)
{
	const struct query_function_match own = {.own_only = true};
	struct query_functions all, ours;
	struct query_search s;
	struct err err = {0};
	size_t n = 0;

	open_world(58);
	CHECK_OK(query_functions(q, NULL, &all, &err));
	CHECK_OK(query_functions(q, &own, &ours, &err));
	CHECK(ours.n > 0 && ours.n < all.n);
	for (size_t i = 0; i < ours.n; i++) {
		while (n < all.n && all.function[n].key != ours.function[i].key)
			n++;
		CHECK(n < all.n); /* the same order, and the same cost */
		CHECK_EQ(all.function[n].cost.n_bytes, ours.function[i].cost.n_bytes);
		CHECK_EQ(frame_class_by(query_rules(q), ours.function[i].frame), FRAME_CLASS_OWN);
	}
	CHECK_OK(query_search(q, "", true, &s, &err));
	CHECK_EQ(s.functions.n, ours.n);
	query_search_fini(&s);
	query_functions_fini(&ours);
	query_functions_fini(&all);
	close_world();
}
