/* query_naive_time.c - see query_naive_time.h. */
#include "query_naive_time.h"

#include "harness/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/frame_class.h"
#include "query/frame_package.h"
#include "query/group_series.h"
#include "query/query_growth.h"
#include "query_naive.h"

/* ---- keys ---- */

static uint64_t text_key(const char *text)
{
	uint64_t h = 1469598103934665603ull;

	if (!text || !*text)
		return 0;
	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 1099511628211ull;
	return h;
}

static uint64_t nameless_key(const char *module, uint64_t addr)
{
	return text_key(module) ^ (addr << 8 | 0x55);
}

static struct frame as_frame(const struct world_frame *f)
{
	return (struct frame){.function = f->function, .source = f->source, .module = f->module};
}

/* The innermost frame that is neither an allocator's nor a run-time's. */
static const struct world_frame *site_of(const struct world *w, const char *executable,
					 uint32_t stack, uint32_t *code)
{
	const struct world_frame *frame[1000];
	uint32_t codes[1000];
	unsigned n = naive_frames(w, stack, frame, codes);

	*code = n ? codes[0] : 0;
	for (unsigned i = 0; i < n; i++) {
		const struct frame f = as_frame(frame[i]);

		if (frame_class_is_folded(frame_class_of(&f, executable)))
			continue;
		*code = codes[i];
		return frame[i];
	}
	return n ? frame[0] : NULL;
}

/* The innermost frame of the best class that the stack has; all libraries are alike. */
static const struct world_frame *blame_of(const struct world *w, const char *executable,
					  uint32_t stack, uint64_t *addr)
{
	const struct world_frame *frame[1000];
	uint32_t code[1000];
	unsigned n = naive_frames(w, stack, frame, code);

	const struct frame_rules rules = {.executable = executable};
	bool has_library = false, is_thin = false;

	/* thin own code that called a library is passed over, with all own code outside of it */
	for (unsigned i = 0; i < n; i++) {
		const struct frame f = as_frame(frame[i]);
		enum frame_class of = frame_class_of(&f, executable);

		has_library |= of == FRAME_CLASS_LIBRARY || of == FRAME_CLASS_NATIVE;
		if (of == FRAME_CLASS_OWN) {
			is_thin = has_library && frame_class_is_thin(&rules, &f);
			break;
		}
	}
	for (unsigned class = is_thin; class < FRAME_N_CLASSES; class ++) {
		for (unsigned i = 0; i < n; i++) {
			const struct frame f = as_frame(frame[i]);

			enum frame_class of = frame_class_of(&f, executable);

			if (of != class &&
			    !(class == FRAME_CLASS_LIBRARY && of == FRAME_CLASS_NATIVE))
				continue;
			*addr = w->code_addr[code[i]];
			return frame[i];
		}
	}
	return NULL;
}

static uint64_t blame_key(const struct world *w, const char *executable, enum query_group_by by,
			  uint32_t stack)
{
	uint64_t addr;
	const struct world_frame *blame = blame_of(w, executable, stack, &addr);
	char package[FRAME_PACKAGE_BYTES];
	struct frame f;

	if (!blame)
		return 0;
	f = as_frame(blame);
	if (by == QUERY_BY_PACKAGE) {
		frame_package(&f, package);
		return text_key(package);
	}
	return f.function ? text_key(f.function) : nameless_key(f.module, addr);
}

static uint64_t stack_key(const struct world *w, const char *executable, enum query_group_by by,
			  uint32_t stack)
{
	const struct world_frame *site;
	uint32_t code;
	char line[100];

	if (by == QUERY_BY_BLAME || by == QUERY_BY_PACKAGE)
		return blame_key(w, executable, by, stack);
	site = site_of(w, executable, stack, &code);
	if (by == QUERY_BY_CODE)
		return code;
	if (!site)
		return 0;
	if (by == QUERY_BY_MODULE)
		return text_key(site->module);
	if (by == QUERY_BY_FUNCTION)
		return text_key(site->function);
	if (!site->source || !site->line)
		return 0;
	snprintf(line, sizeof(line), "%s:%u", site->source, site->line);
	return text_key(line);
}

uint64_t *naive_keys(const struct world *w, const struct store *store, enum query_group_by by)
{
	const char *executable = store_string(store, store_facts(store)->executable, NULL);
	uint64_t *of_stack = calloc(w->n_stacks, sizeof(*of_stack));
	uint64_t *key = calloc(w->n_rows + 1, sizeof(*key));

	for (uint32_t s = 0; s < w->n_stacks && by >= QUERY_BY_CODE; s++)
		of_stack[s] = stack_key(w, executable, by, s);
	for (size_t i = 0; i < w->n_rows; i++) {
		const struct world_row *r = &w->row[i];

		switch (by) {
		case QUERY_BY_STACK:
			key[i] = r->stack;
			break;
		case QUERY_BY_FREE_STACK:
			key[i] = r->free_stack;
			break;
		case QUERY_BY_THREAD:
			key[i] = r->thread;
			break;
		case QUERY_BY_SIZE_CLASS:
			key[i] = r->size;
			break;
		default:
			key[i] = of_stack[r->stack];
		}
	}
	free(of_stack);
	return key;
}

uint64_t naive_group_key(struct query *q, enum query_group_by by, uint64_t key, uint32_t stack)
{
	const struct frame *f;

	if (by <= QUERY_BY_CODE)
		return key;
	f = by == QUERY_BY_BLAME ? query_blame(q, stack) : NULL;
	if (f && !f->function)
		return nameless_key(f->module, f->addr);
	return text_key(query_group_name(q, by, key));
}

/* ---- series ---- */

struct naive_series {
	const struct world *w;
	const bool *chosen;
	struct group_series s;
	uint64_t width;
	uint64_t *key; /* of each row */
};

static bool counts(const struct naive_series *n, const struct world_row *r, size_t bucket,
		   uint64_t *value)
{
	uint64_t start = n->s.from_ns + bucket * n->width, end = start + n->width;
	bool is_new = r->alloc_ns >= start && r->alloc_ns < end,
	     is_alive = world_is_alive(r, end - 1);

	*value = r->size;
	switch (n->s.kind) {
	case GROUP_SERIES_BYTES:
		return is_alive;
	case GROUP_SERIES_LEAKED_BYTES:
		return is_alive && r->free_ns == WORLD_NEVER;
	case GROUP_SERIES_COUNT:
		*value = 1;
		return is_alive;
	case GROUP_SERIES_ALLOCATIONS:
		*value = 1;
		return is_new;
	case GROUP_SERIES_TEMPORARY:
		*value = 1;
		return is_new && r->flags & STORE_FLAG_TEMPORARY;
	}
	return false;
}

/* All rows of a key, or of every key. */
static void naive_values(const struct naive_series *n, bool is_total, uint64_t key, uint64_t *ret)
{
	memset(ret, 0, n->s.n_buckets * sizeof(*ret));
	for (size_t i = 0; i < n->w->n_rows; i++) {
		if (!n->chosen[i] || (!is_total && n->key[i] != key))
			continue;
		for (size_t b = 0; b < n->s.n_buckets; b++) {
			uint64_t value;

			if (counts(n, &n->w->row[i], b, &value))
				ret[b] += value;
		}
	}
}

static uint64_t greatest(const uint64_t *value, size_t n)
{
	uint64_t most = 0;

	for (size_t i = 0; i < n; i++)
		most = value[i] > most ? value[i] : most;
	return most;
}

static int compare_descending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? 1 : x > y ? -1 : 0;
}

/* The greatest value of each group, greatest first; their number. */
static size_t naive_maxima(const struct naive_series *n, uint64_t *ret)
{
	uint64_t *seen = malloc((n->w->n_rows + 1) * sizeof(*seen));
	uint64_t *value = calloc(n->s.n_buckets, sizeof(*value));
	size_t n_seen = 0, at;

	for (size_t i = 0; i < n->w->n_rows; i++) {
		for (at = 0; at < n_seen && seen[at] != n->key[i]; at++)
			;
		if (at < n_seen || !n->chosen[i])
			continue;
		naive_values(n, false, n->key[i], value);
		seen[n_seen] = n->key[i];
		ret[n_seen++] = greatest(value, n->s.n_buckets);
	}
	qsort(ret, n_seen, sizeof(*ret), compare_descending);
	while (n_seen && ret[n_seen - 1] == 0)
		n_seen--;
	free(value);
	free(seen);
	return n_seen;
}

static void check_top(const struct naive_series *n, struct query *q, size_t n_wanted,
		      const uint64_t *total)
{
	size_t n_buckets = n->s.n_buckets, n_most;
	uint64_t *most = malloc((n->w->n_rows + 1) * sizeof(*most));
	uint64_t *value = calloc(n_buckets, sizeof(*value)), *sum = calloc(n_buckets, sizeof(*sum));
	struct group_series_top top = {0};
	struct err err = {0};

	CHECK_OK(group_series_top(q, &n->s, n_wanted, &top, &err));
	n_most = naive_maxima(n, most);
	CHECK_EQ(top.n, n_wanted < n_most ? n_wanted : n_most);
	for (size_t i = 0; i < top.n; i++) {
		const struct group_series_group *g = &top.group[i];

		naive_values(n, false, naive_group_key(q, n->s.by, g->key, g->stack), value);
		CHECK_MEM_EQ(g->value, value, n_buckets * sizeof(*value));
		CHECK_EQ(greatest(value, n_buckets), most[i]);
		CHECK(i == 0 || most[i - 1] > most[i] || g[-1].key < g->key);
		for (size_t b = 0; b < n_buckets; b++)
			sum[b] += value[b];
	}
	for (size_t b = 0; b < n_buckets; b++)
		CHECK_EQ(top.other[b], total[b] - sum[b]);
	group_series_top_fini(&top);
	free(sum);
	free(value);
	free(most);
}

/* What leaked beside what is alive: as two questions say. */
static void check_leaked_beside(const struct naive_series *n, struct query *q, const uint64_t *key,
				size_t n_keys)
{
	struct group_series s = n->s;
	size_t n_values = n_keys * s.n_buckets;
	uint64_t *both = calloc(2 * n_values + 1, sizeof(*both));
	uint64_t *each = calloc(2 * n_values + 1, sizeof(*each));
	struct err err = {0};

	s.kind = GROUP_SERIES_BYTES;
	CHECK_OK(group_series_with_leaked(q, &s, key, n_keys, both, &err));
	CHECK_OK(group_series_of(q, &s, key, n_keys, each, &err));
	s.kind = GROUP_SERIES_LEAKED_BYTES;
	CHECK_OK(group_series_of(q, &s, key, n_keys, each + n_values, &err));
	CHECK_MEM_EQ(both, each, 2 * n_values * sizeof(*both));
	free(both);
	free(each);
}

/* Two groups that are there and a key that no group has. */
static void check_some(const struct naive_series *n, struct world *w, struct query *q)
{
	size_t n_buckets = n->s.n_buckets;
	uint64_t *got = calloc(3 * n_buckets, sizeof(*got)), key[3], *value;
	struct query_groups g = {0};
	struct err err = {0};

	value = calloc(n_buckets, sizeof(*value));
	query_want(q, 0);
	CHECK_OK(query_groups(q, n->s.by, &g, &err));
	query_want(q, QUERY_WANT_ALL);
	if (g.n) {
		size_t at[] = {world_below(w, g.n), world_below(w, g.n)};

		key[0] = g.group[at[0]].key;
		key[1] = UINT64_MAX;
		key[2] = g.group[at[1]].key;
		CHECK_OK(group_series_of(q, &n->s, key, at[0] == at[1] ? 2 : 3, got, &err));
		naive_values(n, false,
			     naive_group_key(q, n->s.by, key[0], g.stack ? g.stack[at[0]] : 0),
			     value);
		CHECK_MEM_EQ(got, value, n_buckets * sizeof(*value));
		CHECK_EQ(greatest(got + n_buckets, n_buckets), 0);
		check_leaked_beside(n, q, key, at[0] == at[1] ? 2 : 3);
		if (at[0] != at[1]) {
			naive_values(
				n, false,
				naive_group_key(q, n->s.by, key[2], g.stack ? g.stack[at[1]] : 0),
				value);
			CHECK_MEM_EQ(got + 2 * n_buckets, value, n_buckets * sizeof(*value));
		}
	}
	query_groups_fini(&g);
	free(value);
	free(got);
}

static enum query_group_by any_group(struct world *w)
{
	enum query_group_by by = (enum query_group_by)world_below(w, 10);

	return by == QUERY_BY_SIZE_CLASS ? QUERY_BY_BLAME : by;
}

void naive_check_series(struct world *w, const struct store *store, const bool *chosen,
			struct query *q)
{
	struct naive_series n = {.w = w, .chosen = chosen};
	uint64_t *total, *got;
	struct err err = {0};

	n.s = (struct group_series){
		.by = any_group(w),
		.kind = (enum group_series_kind)world_below(w, 5),
		.from_ns = world_below(w, 2) ? 0 : world_below(w, w->duration),
		.n_buckets = 1 + world_below(w, 12),
	};
	n.s.to_ns = n.s.from_ns + 1 + world_below(w, 2 * (w->duration - n.s.from_ns) + 1);
	n.width = query_timeline_width(n.s.from_ns, n.s.to_ns, n.s.n_buckets);
	n.key = naive_keys(w, store, n.s.by);
	total = calloc(n.s.n_buckets, sizeof(*total));
	got = calloc(n.s.n_buckets, sizeof(*got));
	naive_values(&n, true, 0, total);
	CHECK_OK(group_series_total(q, &n.s, got, &err));
	CHECK_MEM_EQ(got, total, n.s.n_buckets * sizeof(*got));
	check_some(&n, w, q);
	check_top(&n, q, world_below(w, 8), total);
	free(got);
	free(total);
	free(n.key);
}

/* ---- growth ---- */

static void add_to_growth(struct query_growth *g, const struct world_row *r, uint64_t from,
			  uint64_t to)
{
	if (world_is_alive(r, from)) {
		g->from_bytes += r->size;
		g->from_count++;
	}
	if (world_is_alive(r, to)) {
		g->to_bytes += r->size;
		g->to_count++;
	}
}

/* The one of the group's stacks that changed most. */
static void check_growth_stack(const struct world *w, const bool *chosen, const uint64_t *key,
			       const struct query_growth *g, uint64_t from, uint64_t to)
{
	struct query_growth *of = calloc(w->n_stacks, sizeof(*of));
	uint32_t best = UINT32_MAX;

	for (size_t i = 0; i < w->n_rows; i++) {
		if (chosen[i] && key[i] == g->key)
			add_to_growth(&of[w->row[i].stack], &w->row[i], from, to);
	}
	for (uint32_t s = 0; s < w->n_stacks; s++) {
		if ((of[s].from_count || of[s].to_count) &&
		    (best == UINT32_MAX ||
		     llabs(query_growth_bytes(&of[s])) > llabs(query_growth_bytes(&of[best]))))
			best = s;
	}
	CHECK_EQ(g->stack, best);
	free(of);
}

void naive_check_growth(struct world *w, const struct store *store, const bool *chosen,
			struct query *q)
{
	enum query_group_by by = any_group(w);
	uint64_t from = world_below(w, 4) ? world_below(w, w->duration + 1) : 0;
	uint64_t to = world_below(w, 8) ? from + world_below(w, w->duration - from + 2)
					: UINT64_MAX - world_below(w, 2);
	uint64_t *key = naive_keys(w, store, by), n_alive = 0;
	struct query_growth total = {0};
	struct query_growths got = {0};
	struct err err = {0};

	CHECK_OK(query_growth(q, by, from, to, &got, &err));
	to = to == UINT64_MAX ? to - 1 : to;
	for (size_t i = 0; i < w->n_rows; i++) {
		if (chosen[i])
			add_to_growth(&total, &w->row[i], from, to);
	}
	CHECK_MEM_EQ(&got.total, &total, sizeof(total));
	for (size_t k = 0; k < got.n; k++) {
		struct query_growth *g = &got.group[k];
		struct query_growth want = {.stack = g->stack};

		CHECK(k == 0 || g[-1].key < g->key || by > QUERY_BY_CODE);
		g->key = want.key = naive_group_key(q, by, g->key, g->stack);
		for (size_t i = 0; i < w->n_rows; i++) {
			if (chosen[i] && key[i] == want.key)
				add_to_growth(&want, &w->row[i], from, to);
		}
		CHECK_MEM_EQ(g, &want, sizeof(want));
		CHECK(want.from_count || want.to_count);
		n_alive += want.from_count + want.to_count;
		if (by >= QUERY_BY_CODE)
			check_growth_stack(w, chosen, key, g, from, to);
	}
	CHECK_EQ(n_alive, total.from_count + total.to_count); /* no group is missing or twice */
	query_growths_fini(&got);
	free(key);
}
