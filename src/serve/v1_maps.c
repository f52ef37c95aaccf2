/* serve/v1_maps.c - /api/v1: the mappings of the process (query/mappings.h says where they come from). */
#include "serve/handlers.h"
#include "serve/v1_json.h"

#include <string.h>
#include <sys/mman.h>

#include "query/mappings.h"
#include "util/top.h"

#define N_MAPS 1000u
#define MAX_MAPS 100000u
#define MAX_SKIP 1000000u /* what is left out is held in memory, too */

enum maps_sort { /* in the order of V1_MAPS_SORT */
	BY_ADDRESS,
	BY_SIZE,
	BY_MADE,
	BY_REMOVED,
	BY_NAME,
	BY_PERMS,
	BY_RSS,
	BY_PEAK_RSS
};

struct map_table {
	struct request *rq;
	unsigned state; /* index of V1_MAPS_STATE */
	unsigned sort;
	bool is_descending;
	uint64_t skip, count;
	struct top top; /* of struct mapping */
	uint64_t n_matching;
	bool has_calls; /* some mapping was made by a recorded call */
};

/* ---- order ---- */

static int compare_u64(uint64_t x, uint64_t y)
{
	return x < y ? -1 : x > y;
}

/* rwx and shared, so that equal texts are equal numbers in the order of the texts. */
static uint64_t perms_rank(const struct mapping *m)
{
	if (!m->has_rights)
		return MAPPINGS_UNKNOWN;
	return (m->prot & PROT_READ ? 8u : 0) | (m->prot & PROT_WRITE ? 4u : 0) |
	       (m->prot & PROT_EXEC ? 2u : 0) | m->is_shared;
}

static uint64_t rank_of(const struct mapping *m, unsigned sort)
{
	switch (sort) {
	case BY_SIZE:
		return m->end - m->start;
	case BY_MADE:
		return m->made_ns;
	case BY_REMOVED:
		return m->removed_ns;
	case BY_PERMS:
		return perms_rank(m);
	case BY_RSS:
		return m->rss_bytes;
	case BY_PEAK_RSS:
		return m->peak_rss_bytes;
	default:
		return m->start;
	}
}

static int compare(const void *a, const void *b, void *user)
{
	const struct mapping *x = a, *y = b;
	const struct map_table *t = user;
	uint64_t n = rank_of(x, t->sort), m = rank_of(y, t->sort);
	int order = compare_u64(n, m);

	if (t->sort == BY_NAME)
		order = strcmp(store_string(t->rq->store, x->name, NULL),
			       store_string(t->rq->store, y->name, NULL));
	else if (order && (n == MAPPINGS_UNKNOWN || m == MAPPINGS_UNKNOWN))
		return order; /* what is not known comes last, whatever the direction */
	if (order)
		return t->is_descending ? -order : order;
	/* One address is mapped several times only one after the other. */
	order = compare_u64(x->start, y->start);
	if (!order)
		order = compare_u64(x->made_ns, y->made_ns);
	if (!order)
		order = compare_u64(x->removed_ns, y->removed_ns);
	return order ? order : compare_u64(x->end, y->end);
}

/* ---- choice ---- */

static bool in_range(const struct filter_range *r, uint64_t value)
{
	return !(r->has_min && value < r->min) && !(r->has_max && value > r->max);
}

static int add_mapping(void *user, const struct mapping *m, struct err *err)
{
	struct map_table *t = user;

	t->has_calls |= m->made_ns != MAPPINGS_UNKNOWN;
	if ((t->state == 1 && m->is_removed) || (t->state == 2 && !m->is_removed) ||
	    !in_range(&t->rq->filter.size, m->end - m->start) ||
	    !in_range(&t->rq->filter.address, m->start))
		return 0;
	t->n_matching++;
	return top_add(&t->top, m, err);
}

/* ---- answer ---- */

static void put_perms(struct json *j, const struct mapping *m)
{
	char text[5] = "---p";

	if (!m->has_rights) {
		json_null(j, "perms");
		return;
	}
	text[0] = m->prot & PROT_READ ? 'r' : '-';
	text[1] = m->prot & PROT_WRITE ? 'w' : '-';
	text[2] = m->prot & PROT_EXEC ? 'x' : '-';
	text[3] = m->is_shared ? 's' : 'p';
	json_text(j, "perms", text);
}

static void put_known(struct json *j, const char *name, uint64_t value)
{
	if (value == MAPPINGS_UNKNOWN)
		json_null(j, name);
	else
		json_u64(j, name, value);
}

static void put_mapping(struct request *rq, const struct mapping *m, struct err *err)
{
	bool has_stack = m->stack != MAPPINGS_NO_STACK;
	const struct frame *blame = has_stack ? v1_json_blame(rq, m->stack, err) : NULL;
	struct json *j = &rq->json;

	json_object(j, NULL);
	json_hex(j, "address", m->start);
	json_u64(j, "size", m->end - m->start);
	put_perms(j, m);
	json_text(j, "name", store_string(rq->store, m->name, NULL));
	put_known(j, "made_ns", m->made_ns);
	put_known(j, "removed_ns", m->removed_ns);
	json_bool(j, "removed", m->is_removed);
	json_bool(j, "seen", m->is_seen);
	put_known(j, "rss_bytes", m->rss_bytes);
	put_known(j, "peak_rss_bytes", m->peak_rss_bytes);
	put_known(j, "stack", has_stack ? m->stack : MAPPINGS_UNKNOWN);
	if (blame)
		v1_json_frame_text(rq, "blame", blame);
	else
		json_null(j, "blame");
	json_end_object(j);
}

static const char *source_of(const struct map_table *t)
{
	size_t n_regions;

	store_table(t->rq->store, STORE_REGIONS, &n_regions);
	if (n_regions)
		return t->has_calls ? "memory map and calls" : "memory map";
	return t->has_calls ? "calls" : "none";
}

static void put_table(struct map_table *t, struct err *err)
{
	const struct mapping *m = t->top.item;
	struct json *j = &t->rq->json;

	json_object(j, NULL);
	json_array(j, "maps");
	for (uint64_t i = t->skip; i < t->top.n && !request_is_over(t->rq); i++)
		put_mapping(t->rq, &m[i], err);
	json_end_array(j);
	json_u64(j, "total_count", t->n_matching);
	json_text(j, "source", source_of(t));
	put_known(j, "looked_ns", store_facts(t->rq->store)->maps_ns);
	put_known(j, "resident_ns", store_facts(t->rq->store)->resident_ns);
	json_end_object(j);
}

int v1_maps(struct request *rq, struct err *err)
{
	struct map_table t = {.rq = rq};
	unsigned order = 0;
	int r = request_u64(rq, "skip", 0, MAX_SKIP, &t.skip, err);

	if (r == 0)
		r = request_u64(rq, "count", N_MAPS, MAX_MAPS, &t.count, err);
	if (r == 0)
		r = request_choice(rq, "order", "asc|dsc|desc", 0, &order, err);
	if (r == 0)
		r = request_choice(rq, "sort_by", V1_MAPS_SORT, 0, &t.sort, err);
	if (r == 0)
		r = request_choice(rq, "state", V1_MAPS_STATE, 0, &t.state, err);
	if (r == 0)
		r = request_query(rq, err);
	if (r < 0)
		return r;
	t.is_descending = order > 0;
	t.top = (struct top){.max = (size_t)(t.skip + t.count),
			     .item_bytes = sizeof(struct mapping),
			     .compare = compare,
			     .user = &t};
	r = mappings_each(rq->query, add_mapping, &t, err);
	if (r == 0) {
		top_finish(&t.top);
		put_table(&t, err);
	}
	top_fini(&t.top);
	return r;
}
