/* cli/top_table.c - see top_table.h. */
#include "cli/top_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/query.h"

/* A query and its groups. */
struct asked {
	struct filter filter;
	struct query *query;
	struct query_groups groups;
};

static int ask(struct open_recording *o, uint64_t from_ns, struct asked *ret, struct err *err)
{
	const struct query_context context = {.store = o->store, .frames = o->frames};
	char from[32];
	int n = 0;

	filter_init(&ret->filter);
	snprintf(from, sizeof(from), "%" PRIu64 "ns", from_ns);
	if (from_ns)
		n = filter_set(&ret->filter, "from", from, err);
	if (n >= 0)
		n = query_create(&context, &ret->filter, &ret->query, err);
	return n < 0 ? n : query_groups(ret->query, QUERY_BY_BLAME, &ret->groups, err);
}

static void forget(struct asked *a)
{
	query_groups_fini(&a->groups);
	query_destroy(a->query);
	filter_fini(&a->filter);
}

static const struct query_group *find(const struct query_groups *g, uint64_t key)
{
	size_t low = 0, high = g->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (g->group[middle].key < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low < g->n && g->group[low].key == key ? &g->group[low] : NULL;
}

static uint64_t weight(const struct top_line *l, enum top_sort sort)
{
	return sort == TOP_RATE ? l->now_bytes : l->held_bytes;
}

static int compare(const void *a, const void *b, void *user)
{
	enum top_sort sort = *(enum top_sort *)user;
	uint64_t x = weight(a, sort), y = weight(b, sort);

	if (x != y)
		return x > y ? -1 : 1;
	return strcmp(((const struct top_line *)a)->function,
		      ((const struct top_line *)b)->function);
}

/* Joins what is held with what was allocated lately. */
static int fill(struct top_table *t, struct asked *all, const struct asked *now, struct err *err)
{
	t->line = calloc(all->groups.n + 1, sizeof(*t->line));
	if (!t->line)
		return err_set_memory(err, (all->groups.n + 1) * sizeof(*t->line));
	for (size_t i = 0; i < all->groups.n; i++) {
		const struct query_group *g = &all->groups.group[i];
		const struct query_group *lately = find(&now->groups, g->key);
		const char *name = query_group_name(all->query, QUERY_BY_BLAME, g->key);
		struct top_line *l = &t->line[t->n];

		*l = (struct top_line){
			.held_bytes = g->leaked_bytes,
			.held_count = g->n_leaked,
			.now_bytes = lately ? lately->n_bytes : 0,
			.now_count = lately ? lately->n_allocs : 0,
			.all_bytes = g->n_bytes,
			.all_count = g->n_allocs,
		};
		if (!l->held_bytes && !l->now_bytes && !g->n_culled)
			continue;
		l->function = strdup(name ? name : "(no stack)");
		if (!l->function)
			return err_set_memory(err, 64);
		t->n++;
	}
	t->total = (struct top_line){
		.held_bytes = all->groups.total.leaked_bytes,
		.held_count = all->groups.total.n_leaked,
		.now_bytes = now->groups.total.n_bytes,
		.now_count = now->groups.total.n_allocs,
		.all_bytes = all->groups.total.n_bytes,
		.all_count = all->groups.total.n_allocs,
	};
	return 0;
}

/* ---- culled blocks ---- */

/* When the recorder last counted what was culled; 0: never. */
static uint64_t counted_ns(const struct store *s)
{
	uint64_t at_ns = 0;
	size_t n;
	const struct store_thread *t = store_table(s, STORE_THREADS, &n);

	for (size_t i = 0; i < n; i++)
		at_ns = t[i].culled_to_ns > at_ns ? t[i].culled_to_ns : at_ns;
	return at_ns;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(((const struct top_line *)a)->function,
		      ((const struct top_line *)b)->function);
}

static void forget_counts(struct top_counts *c)
{
	for (size_t i = 0; i < c->n; i++)
		free(c->line[i].function);
	free(c->line);
	*c = (struct top_counts){0};
}

static int copy_counts(const struct top_table *t, uint64_t at_ns, struct top_counts *ret,
		       struct err *err)
{
	*ret = (struct top_counts){.at_ns = at_ns, .total = t->total};
	ret->line = calloc(t->n + 1, sizeof(*ret->line));
	for (; ret->line && ret->n < t->n; ret->n++) {
		ret->line[ret->n] = t->line[ret->n];
		ret->line[ret->n].function = strdup(t->line[ret->n].function);
		if (!ret->line[ret->n].function)
			break;
	}
	if (!ret->line || ret->n < t->n)
		return err_set_memory(err, (t->n + 1) * sizeof(*ret->line));
	qsort(ret->line, ret->n, sizeof(*ret->line), compare_names);
	return 0;
}

/* What a line allocated in the window, if it goes on as between two counts. */
static void set_rate(struct top_line *l, const struct top_line *before,
		     const struct top_line *latest, double share)
{
	uint64_t n_bytes = latest ? latest->all_bytes : 0, n = latest ? latest->all_count : 0;

	if (before) {
		n_bytes -= before->all_bytes;
		n -= before->all_count;
	}
	l->now_bytes = (uint64_t)((double)n_bytes * share);
	l->now_count = (uint64_t)((double)n * share);
}

static const struct top_line *find_name(const struct top_counts *c, const struct top_line *l)
{
	return c->n ? bsearch(l, c->line, c->n, sizeof(*l), compare_names) : NULL;
}

static int count_culled(struct top_table *t, uint64_t at_ns, struct top_history *h, struct err *err)
{
	double share;

	if (at_ns > h->latest.at_ns) {
		forget_counts(&h->before);
		h->before = h->latest;
		if (copy_counts(t, at_ns, &h->latest, err) < 0)
			return -ERR_MEMORY;
	}
	share = (double)t->window_ns / (double)(h->latest.at_ns - h->before.at_ns);
	for (size_t i = 0; i < t->n; i++)
		set_rate(&t->line[i], find_name(&h->before, &t->line[i]),
			 find_name(&h->latest, &t->line[i]), share);
	set_rate(&t->total, &h->before.total, &h->latest.total, share);
	return 0;
}

void top_history_fini(struct top_history *h)
{
	forget_counts(&h->before);
	forget_counts(&h->latest);
}

int top_table_make(struct open_recording *o, uint64_t window_ns, enum top_sort sort,
		   struct top_history *history, struct top_table *ret, struct err *err)
{
	uint64_t duration_ns = store_facts(o->store)->duration_ns;
	struct asked all = {0}, now = {0};
	int n;

	*ret = (struct top_table){.window_ns = window_ns < duration_ns ? window_ns : duration_ns};
	n = ask(o, 0, &all, err);
	if (n >= 0)
		n = ask(o, duration_ns - ret->window_ns, &now, err);
	if (n >= 0)
		n = fill(ret, &all, &now, err);
	if (n >= 0 && counted_ns(o->store))
		n = count_culled(ret, counted_ns(o->store), history, err);
	if (n >= 0)
		qsort_r(ret->line, ret->n, sizeof(*ret->line), compare, &sort);
	if (ret->window_ns == 0)
		ret->window_ns = 1;
	forget(&now);
	forget(&all);
	return n < 0 ? n : 0;
}

void top_table_fini(struct top_table *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->line[i].function);
	free(t->line);
	*t = (struct top_table){0};
}
