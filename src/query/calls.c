/* query/calls.c - see calls.h. */
#include "query/calls.h"

#include <string.h>

#include "query/query_i.h"
#include "util/top.h"

#define CALLS_AT_ONCE 65536u /* between two looks whether to go on */

uint64_t calls_address(const struct store_call *c)
{
	switch (c->kind) {
	case STORE_CALL_MMAP:
	case STORE_CALL_MUNMAP:
		return c->field[0];
	case STORE_CALL_MREMAP:
		return c->field[2];
	case STORE_CALL_BRK:
		return c->field[1];
	default:
		return CALLS_UNKNOWN;
	}
}

uint64_t calls_bytes(const struct store_call *c)
{
	switch (c->kind) {
	case STORE_CALL_MMAP:
	case STORE_CALL_MUNMAP:
		return c->field[1];
	case STORE_CALL_MREMAP:
		return c->field[3];
	case STORE_CALL_BRK:
		return c->field[1] > c->field[0] ? c->field[1] - c->field[0]
						 : c->field[0] - c->field[1];
	default:
		return CALLS_UNKNOWN;
	}
}

static bool in_range(const struct filter_range *r, uint64_t value)
{
	if (!r->has_min && !r->has_max)
		return true;
	return value != CALLS_UNKNOWN && !(r->has_min && value < r->min) &&
	       !(r->has_max && value > r->max);
}

static bool in_time(const struct query *q, uint64_t at_ns)
{
	const struct filter *f = q->filter;
	struct plan_moment from = plan_moment(q->c.store, &f->from);
	struct plan_moment to = plan_moment(q->c.store, &f->to);

	if (f->from.kind != FILTER_TIME_NONE && !from.is_before && at_ns < from.ns)
		return false;
	return f->to.kind == FILTER_TIME_NONE || (!to.is_before && at_ns <= to.ns);
}

/* Is the call of one of these kinds, and does it fulfil the conditions? */
static bool is_match(const struct query *q, unsigned kinds, const struct store_call *c)
{
	const struct filter *f = q->filter;

	if (c->kind > STORE_CALL_FORK || !(kinds & CALLS_KIND(c->kind)))
		return false;
	if (q->stack_set && !(c->stack < q->n_stacks && set_has(q->stack_set, c->stack)))
		return false;
	if (f->has_thread && store_tid(q->c.store, c->thread) != f->thread)
		return false;
	return in_time(q, c->at_ns) && in_range(&f->size, calls_bytes(c)) &&
	       in_range(&f->address, calls_address(c));
}

/* ---- pages ---- */

struct ranked {
	uint64_t bytes;
	uint64_t index;
};

static int compare(const void *a, const void *b, void *user)
{
	const struct calls_page *page = user;
	const struct ranked *x = a, *y = b;
	int order = x->bytes != y->bytes  ? (x->bytes < y->bytes ? -1 : 1)
		    : x->index < y->index ? -1
					  : x->index > y->index;

	return page->is_descending ? -order : order;
}

static int list_by_time(struct query *q, const struct calls_page *page,
			bool (*fn)(void *user, const struct store_call *c), void *user,
			uint64_t *n_matching, struct err *err)
{
	size_t n;
	const struct store_call *c = store_table(q->c.store, STORE_CALLS, &n);
	bool goes_on = true;

	for (size_t i = 0; i < n; i++) {
		const struct store_call *call = page->is_descending ? &c[n - 1 - i] : &c[i];

		if (i % CALLS_AT_ONCE == 0 && query_check_cancel(q, err) < 0)
			return -ERR_CANCELLED;
		if (!is_match(q, page->kinds, call))
			continue;
		if (goes_on && *n_matching >= page->skip && *n_matching - page->skip < page->count)
			goes_on = fn(user, call);
		++*n_matching;
	}
	return 0;
}

static int rank_calls(struct query *q, const struct calls_page *page, struct top *top,
		      uint64_t *n_matching, struct err *err)
{
	size_t n;
	const struct store_call *c = store_table(q->c.store, STORE_CALLS, &n);
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		/* CALLS_UNKNOWN + 1 is 0 */
		struct ranked item = {calls_bytes(&c[i]) + 1, i};

		if (i % CALLS_AT_ONCE == 0)
			r = query_check_cancel(q, err);
		if (r < 0 || !is_match(q, page->kinds, &c[i]))
			continue;
		++*n_matching;
		r = top_add(top, &item, err);
	}
	return r;
}

static int list_by_size(struct query *q, const struct calls_page *page,
			bool (*fn)(void *user, const struct store_call *c), void *user,
			uint64_t *n_matching, struct err *err)
{
	size_t n;
	const struct store_call *c = store_table(q->c.store, STORE_CALLS, &n);
	uint64_t end =
		page->count > UINT64_MAX - page->skip ? UINT64_MAX : page->skip + page->count;
	struct calls_page copy = *page;
	struct top top = {.max = end < n ? (size_t)end : n,
			  .item_bytes = sizeof(struct ranked),
			  .compare = compare,
			  .user = &copy};
	int r = rank_calls(q, page, &top, n_matching, err);
	bool goes_on = true;

	top_finish(&top);
	for (uint64_t i = page->skip; r == 0 && i < top.n && goes_on; i++)
		goes_on = fn(user, &c[((const struct ranked *)top.item)[i].index]);
	top_fini(&top);
	return r;
}

int calls_list(struct query *q, const struct calls_page *page,
	       bool (*fn)(void *user, const struct store_call *c), void *user, uint64_t *n_matching,
	       struct err *err)
{
	*n_matching = 0;
	return (page->is_by_size ? list_by_size : list_by_time)(q, page, fn, user, n_matching, err);
}

/* ---- were they recorded at all? ---- */

/* The value of a variable in a list of NAME=value, each ending with a zero byte; NULL: not there. */
static const char *find_variable(const char *list, size_t len, const char *name)
{
	size_t name_len = strlen(name);

	for (size_t at = 0; at < len; at += strlen(list + at) + 1) {
		if (strncmp(list + at, name, name_len) == 0 && list[at + name_len] == '=')
			return list + at + name_len + 1;
	}
	return NULL;
}

enum calls_gathered calls_gathered(const struct store *s)
{
	size_t n, len;
	const struct store_call *c = store_table(s, STORE_CALLS, &n);
	const char *environment = store_string(s, store_facts(s)->environment, &len), *value;

	for (size_t i = 0; i < n; i++) {
		if (c[i].kind <= STORE_CALL_FORK && (CALLS_MAPPING & CALLS_KIND(c[i].kind)))
			return CALLS_GATHERED;
	}
	if (len == 0)
		return CALLS_NOT_KNOWN;
	value = find_variable(environment, len, "MEMORY_PROFILER_GATHER_MMAP_CALLS");
	return value && (strcmp(value, "1") == 0 || strcmp(value, "true") == 0)
		       ? CALLS_GATHERED
		       : CALLS_NOT_GATHERED;
}
