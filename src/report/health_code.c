/* report/health_code.c - see health.h: stacks that were cut, and code without names.
 *
 * Stacks are weighted by the calls that name them. Names are counted over the code addresses in
 * stacks that allocate, each address once: otherwise a hot loop would hide a library without
 * symbols.
 */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "query/frame_class.h"
#include "report/health_i.h"
#include "util/human.h"

#define MAX_CAUSES 3 /* that a line names */
#define CUT_IS_BAD 0.1 /* share of stacks */
#define NAMED_IS_WELL 0.9 /* share of code addresses */
#define N_ENDS 16u

static const char *module_name(const struct store *s, uint32_t module)
{
	if (module == STORE_NO_MODULE)
		return "code made at run time";
	return text_basename(store_string(s, store_module(s, module)->path, NULL));
}

/* ---- stacks that were cut ---- */

struct cause {
	uint64_t n_events;
	uint32_t module; /* of the outermost frame; STORE_NO_MODULE: none */
	unsigned end;
	bool has_frame; /* false: these stacks have no frame at all */
};

static uint64_t events_of(const struct store_stack *s)
{
	return s->n_allocs + s->n_releases;
}

/* The module of the outermost known frame. False: the stack has no frame. */
static bool outermost_module(const struct store *s, uint32_t node, uint32_t *ret)
{
	uint32_t code = 0;

	for (; node; node = store_node(s, node)->parent)
		code = store_node(s, node)->code ? store_node(s, node)->code : code;
	if (code)
		*ret = store_code(s, code)->module;
	return code != 0;
}

/* Counts cut stacks by cause: a pair of reason and module, at index end * (n_modules + 2) + module.
 * Module n_modules stands for code outside of all modules, n_modules + 1 for stacks without a
 * frame. */
static void count_cut(const struct store *s, struct cause *cause, size_t n_modules,
		      uint64_t *n_events, uint64_t *n_cut)
{
	for (uint32_t i = 1; i < store_n_stacks(s); i++) {
		const struct store_stack *stack = store_stack(s, i);
		unsigned end = store_node(s, stack->node)->end;
		uint32_t module = 0;
		bool has_frame;
		size_t at = n_modules + 1;

		*n_events += events_of(stack);
		if (end == 0 || events_of(stack) == 0)
			continue;
		*n_cut += events_of(stack);
		has_frame = outermost_module(s, stack->node, &module);
		if (has_frame)
			at = module == STORE_NO_MODULE ? n_modules : module;
		at += (end < N_ENDS ? end : N_ENDS - 1) * (n_modules + 2);
		cause[at] = (struct cause){cause[at].n_events + events_of(stack), module, end,
					   has_frame};
	}
}

static int compare_causes(const void *a, const void *b)
{
	const struct cause *x = a, *y = b;

	return x->n_events > y->n_events ? -1 : x->n_events < y->n_events;
}

static void add_cut(struct health *h, const struct store *s, const struct cause *cause,
		    uint64_t n_events, uint64_t n_cut)
{
	enum health_state state =
		(double)n_cut > CUT_IS_BAD * (double)n_events ? HEALTH_BAD : HEALTH_WARN;
	struct health_line *l;
	char a[HUMAN_BYTES];

	if (n_cut == 0) {
		l = health_add(h, HEALTH_STACKS, HEALTH_OK, "All stacks complete");
		health_detail(l, "%s different, the deepest of %llu frames",
			      human_count(store_facts(s)->n_stacks, a),
			      (unsigned long long)store_facts(s)->deepest_stack);
		return;
	}
	l = health_add(h, HEALTH_STACKS, state, "%s of stacks cut",
		       human_share(n_cut, n_events, a));
	health_detail(l, "the outermost callers of %s calls are not known", human_count(n_cut, a));
	for (size_t i = 0; i < MAX_CAUSES && cause[i].n_events; i++) {
		health_detail(l, "%s: %s%s%.100s", human_count(cause[i].n_events, a),
			      health_end_words(cause[i].end), cause[i].has_frame ? ", in " : "",
			      cause[i].has_frame ? module_name(s, cause[i].module) : "");
	}
}

int health_add_stacks(struct health *h, const struct store *s, struct err *err)
{
	uint64_t n_events = 0, n_cut = 0, n_guessed = 0;
	size_t n_modules, n_causes;
	struct cause *cause;
	char a[HUMAN_BYTES];

	store_table(s, STORE_MODULES, &n_modules);
	n_causes = (n_modules + 2) * N_ENDS;
	cause = calloc(n_causes, sizeof(*cause));
	if (!cause)
		return err_set_memory(err, n_causes * sizeof(*cause));
	count_cut(s, cause, n_modules, &n_events, &n_cut);
	qsort(cause, n_causes, sizeof(*cause), compare_causes);
	add_cut(h, s, cause, n_events, n_cut);
	free(cause);
	for (uint32_t i = 1; i < store_n_stacks(s); i++) {
		if (store_node(s, store_stack(s, i)->node)->has_guess)
			n_guessed += events_of(store_stack(s, i));
	}
	if (n_guessed)
		health_detail(health_add(h, HEALTH_STACKS, HEALTH_WARN, "%s of stacks in doubt",
					 human_share(n_guessed, n_events, a)),
			      "some of their callers were found by the frame pointer alone");
	return 0;
}

/* ---- code without names ---- */

struct module_names {
	uint32_t path; /* string */
	uint32_t module; /* one with that path */
	uint64_t n_codes;
	uint64_t n_named;
	uint64_t n_with_lines;
	bool is_own;
	bool has_python; /* functions of scripts, which Python itself named */
};

/* A set of the codes in stacks that allocate: a bit per code, to free(). NULL: no memory. */
static uint64_t *codes_that_allocate(const struct store *s, struct err *err)
{
	size_t n_nodes, n_codes;
	const struct store_node *node = store_table(s, STORE_NODES, &n_nodes);
	bool *is_used = calloc(n_nodes + 1, 1);
	uint64_t *set;

	store_table(s, STORE_CODES, &n_codes);
	set = calloc(n_codes / 64 + 1, sizeof(*set));
	if (!is_used || !set) {
		free(is_used);
		free(set);
		err_set_memory(err, n_nodes + n_codes / 8);
		return NULL;
	}
	for (uint32_t i = 0; i < store_n_stacks(s); i++)
		is_used[store_stack(s, i)->node] |= store_stack(s, i)->n_allocs > 0;
	for (size_t i = n_nodes; i-- > 1;) { /* a caller has a smaller number than what it calls */
		if (is_used[i]) {
			is_used[node[i].parent] = true;
			set[node[i].code / 64] |= 1ull << (node[i].code % 64);
		}
	}
	free(is_used);
	return set;
}

/* Adds a code to the counts of its module. */
static void count_code(const struct store *s, struct frames *frames, uint32_t code,
		       const char *executable, struct module_names *m)
{
	size_t n;
	const struct frame *f = frames_of_code(frames, code, &n);
	uint32_t module = store_code(s, code)->module;

	m->module = module;
	m->path = module == STORE_NO_MODULE ? 0 : store_module(s, module)->path;
	m->n_codes++;
	m->n_named += n > 0 && f[0].function;
	m->n_with_lines += n > 0 && f[0].source;
	m->has_python |= n > 0 && f[0].function && strncmp(f[0].function, "py::", 4) == 0;
	m->is_own |= n > 0 && frame_class_of(&f[0], executable) == FRAME_CLASS_OWN;
}

static int compare_paths(const void *a, const void *b)
{
	const struct module_names *x = a, *y = b;

	return x->path < y->path ? -1 : x->path > y->path;
}

/* Own code first, then by the number of addresses without a name. */
static int compare_nameless(const void *a, const void *b)
{
	const struct module_names *x = a, *y = b;
	uint64_t nx = x->n_codes - x->n_named, ny = y->n_codes - y->n_named;

	if (x->is_own != y->is_own)
		return x->is_own ? -1 : 1;
	return nx > ny ? -1 : nx < ny;
}

/* Joins modules with the same path, which were loaded more than once. Returns how many are left. */
static size_t join_modules(struct module_names *m, size_t n)
{
	size_t n_left = 0;

	qsort(m, n, sizeof(*m), compare_paths);
	for (size_t i = 0; i < n; i++) {
		struct module_names *last = n_left ? &m[n_left - 1] : NULL;

		if (m[i].n_codes == 0)
			continue;
		if (!last || last->path != m[i].path) {
			m[n_left++] = m[i];
			continue;
		}
		last->n_codes += m[i].n_codes;
		last->n_named += m[i].n_named;
		last->n_with_lines += m[i].n_with_lines;
		last->is_own |= m[i].is_own;
		last->has_python |= m[i].has_python;
	}
	return n_left;
}

static void describe_module(struct health_line *l, const struct store *s,
			    const struct module_names *m)
{
	const char *name = module_name(s, m->module), *build_id = "";
	char a[HUMAN_BYTES], b[HUMAN_BYTES], id[64] = "";

	if (m->module != STORE_NO_MODULE)
		build_id = store_string(s, store_module(s, m->module)->build_id, NULL);
	if (*build_id)
		snprintf(id, sizeof(id), " (build-id %.12s...)", build_id);
	if (m->n_named == 0)
		health_detail(l,
			      "there are no symbols for %.200s%s: its functions are shown as "
			      "addresses",
			      name, id);
	else if (m->n_named < m->n_codes)
		health_detail(l, "%s of %s code addresses in %.200s%s have no name",
			      human_count(m->n_codes - m->n_named, a), human_count(m->n_codes, b),
			      name, id);
	else
		health_detail(l, "%.200s%s has no debug information: files and lines are missing",
			      name, id);
}

/* Own modules need names and lines, others names. */
static bool lacks_something(const struct module_names *m)
{
	return m->n_named < m->n_codes || (m->is_own && m->n_with_lines == 0);
}

/* Without Python's help the functions of its scripts are in no stack. */
static bool lacks_python(const struct store *s, const struct module_names *m, size_t n)
{
	bool is_python = false;

	for (size_t i = 0; i < n; i++) {
		if (m[i].has_python)
			return false;
		is_python |= m[i].module != STORE_NO_MODULE &&
			     frame_class_is_python(module_name(s, m[i].module));
	}
	return is_python;
}

static void add_names(struct health *h, const struct store *s, struct module_names *m, size_t n)
{
	uint64_t n_codes = 0, n_named = 0, n_own = 0, n_own_named = 0;
	struct health_line *l;
	bool is_well;
	char a[HUMAN_BYTES];

	for (size_t i = 0; i < n; i++) {
		n_codes += m[i].n_codes;
		n_named += m[i].n_named;
		n_own += m[i].is_own ? m[i].n_codes : 0;
		n_own_named += m[i].is_own ? m[i].n_named : 0;
	}
	if (n_codes == 0)
		return;
	is_well = (double)n_named >= NAMED_IS_WELL * (double)n_codes &&
		  (double)n_own_named >= NAMED_IS_WELL * (double)n_own;
	l = health_add(h, HEALTH_NAMES, is_well ? HEALTH_OK : HEALTH_WARN,
		       n_named == n_codes ? "All frames have names" : "%s of frames have names",
		       human_share(n_named, n_codes, a));
	if (lacks_python(s, m, n))
		health_detail(l, "Python functions are not in stacks: record it with -X perf, "
				 "Python 3.12 or newer");
	qsort(m, n, sizeof(*m), compare_nameless);
	for (size_t i = 0, n_described = 0; i < n && n_described < MAX_CAUSES; i++) {
		if (lacks_something(&m[i])) {
			describe_module(l, s, &m[i]);
			n_described++;
		}
	}
	if (!is_well)
		health_detail(l, "-d FILE names a file with debug information");
	if (!l->detail[0])
		health_detail(l, "%s code addresses", human_count(n_codes, a));
}

int health_add_names(struct health *h, const struct store *s, struct frames *frames,
		     struct err *err)
{
	const char *executable = store_string(s, store_facts(s)->executable, NULL);
	struct module_names *m = NULL;
	size_t n_codes, n_modules;
	uint64_t *set;
	int r = frames_need_all(frames, err);

	if (r < 0)
		return r;
	store_table(s, STORE_CODES, &n_codes);
	store_table(s, STORE_MODULES, &n_modules);
	set = codes_that_allocate(s, err);
	if (!set)
		return -ERR_MEMORY;
	m = calloc(n_modules + 1, sizeof(*m)); /* the last one: no module */
	if (!m) {
		free(set);
		return err_set_memory(err, n_modules * sizeof(*m));
	}
	for (uint32_t i = 1; i < n_codes; i++) {
		uint32_t module = store_code(s, i)->module;

		if (set[i / 64] >> (i % 64) & 1)
			count_code(s, frames, i, executable,
				   &m[module == STORE_NO_MODULE ? n_modules : module]);
	}
	add_names(h, s, m, join_modules(m, n_modules + 1));
	free(m);
	free(set);
	return 0;
}
