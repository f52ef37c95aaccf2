/* query/regions.c - see regions.h. */
#include "query/regions.h"

#include <stdlib.h>
#include <string.h>

#include "query/query_i.h"

#define MIN_NEW ((size_t)1 << 12)

struct range {
	uint64_t start, end;
};

/* The union of ranges: sorted, at least gap_bytes + 1 apart. */
struct ranges {
	struct range *item;
	size_t n;
	uint64_t gap_bytes;
	uint64_t from; /* blocks that begin before are left out ... */
	uint64_t limit; /* ... and those from here on */
	size_t max;
	struct range *fresh; /* not in item yet, in no order */
	size_t n_fresh, cap_fresh;
	size_t last; /* the range that was found last */
};

static void ranges_fini(struct ranges *r)
{
	free(r->item);
	free(r->fresh);
	*r = (struct ranges){0};
}

static int compare_ranges(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Appends a range whose start is not before those of the others. */
static void append(struct range *item, size_t *n, const struct range *r, uint64_t gap_bytes)
{
	struct range *last = *n ? &item[*n - 1] : NULL;

	if (last && (r->start <= last->end || r->start - last->end <= gap_bytes)) {
		last->end = r->end > last->end ? r->end : last->end;
		return;
	}
	item[(*n)++] = *r;
}

/* Of too many ranges the lowest stay. */
static void cut(struct ranges *r)
{
	if (r->n <= r->max)
		return;
	r->n = r->max / 2;
	r->limit = r->item[r->n].start;
}

/* Unites two sorted lists to r->item. */
static int unite(struct ranges *r, const struct range *other, size_t n_other, struct err *err)
{
	struct range *all = malloc((r->n + n_other + 1) * sizeof(*all));
	size_t n = 0, i = 0, k = 0;

	if (!all)
		return err_set_memory(err, (r->n + n_other) * sizeof(*all));
	while (i < r->n || k < n_other) {
		bool is_own = k == n_other || (i < r->n && r->item[i].start <= other[k].start);

		append(all, &n, is_own ? &r->item[i++] : &other[k++], r->gap_bytes);
	}
	free(r->item);
	r->item = all;
	r->n = n;
	r->last = 0;
	cut(r);
	return 0;
}

static int take_fresh(struct ranges *r, struct err *err)
{
	int n;

	if (!r->n_fresh)
		return 0;
	qsort(r->fresh, r->n_fresh, sizeof(*r->fresh), compare_ranges);
	n = unite(r, r->fresh, r->n_fresh, err);
	r->n_fresh = 0;
	return n;
}

static inline bool is_inside(const struct range *r, uint64_t start, uint64_t end)
{
	return r->start <= start && end <= r->end;
}

static bool is_known(struct ranges *r, uint64_t start, uint64_t end)
{
	size_t lo = 0, hi = r->n;

	if (!r->n)
		return false;
	if (is_inside(&r->item[r->last], start, end))
		return true;
	while (hi - lo > 1) {
		size_t middle = lo + (hi - lo) / 2;

		if (r->item[middle].start <= start)
			lo = middle;
		else
			hi = middle;
	}
	r->last = lo;
	return is_inside(&r->item[lo], start, end);
}

/* Makes room for one more fresh range: a share of those that are there, so that uniting costs a
 * constant for each. */
static int make_room(struct ranges *r, struct err *err)
{
	size_t want;
	int n = take_fresh(r, err);

	want = r->n / 2 > MIN_NEW ? r->n / 2 : MIN_NEW;
	if (n < 0 || want <= r->cap_fresh)
		return n;
	free(r->fresh);
	r->fresh = malloc(want * sizeof(*r->fresh));
	r->cap_fresh = r->fresh ? want : 0;
	return r->fresh ? 0 : err_set_memory(err, want * sizeof(*r->fresh));
}

static int add_rows(void *state, struct scanner *s, struct err *err)
{
	struct ranges *r = state;
	const uint64_t *addr = scanner_column(s, STORE_ADDR);
	const uint64_t *size = scanner_column(s, STORE_SIZE_BYTES);
	const uint64_t *extra = scanner_column(s, STORE_EXTRA_BYTES);

	for (uint32_t k = 0; k < s->n_selected; k++) {
		uint32_t i = s->selected[k];
		uint64_t len = size[i] + extra[i] ? size[i] + extra[i] : 1;
		uint64_t end = addr[i] > UINT64_MAX - len ? UINT64_MAX : addr[i] + len;

		if (addr[i] < r->from || addr[i] >= r->limit || is_known(r, addr[i], end))
			continue;
		if (r->n_fresh == r->cap_fresh) {
			int n = make_room(r, err);

			if (n < 0)
				return n;
		}
		r->fresh[r->n_fresh++] = (struct range){addr[i], end};
	}
	return 0;
}

/* One pass: the ranges of the blocks that begin in [*from, limit), where the limit becomes *from. */
static int find_ranges(struct query *q, struct ranges *ret, uint64_t *from, struct err *err)
{
	struct ranges part[SCAN_MAX_THREADS] = {{0}};
	void *states[SCAN_MAX_THREADS];
	struct scan scan;
	int r;

	scan_init(&scan, q, &q->plan);
	scan.sink = add_rows;
	scan.states = states;
	scan.n_states = scan_n_threads(q, scan.end_block - scan.first_block,
				       ret->max * 2 * sizeof(struct range));
	for (unsigned i = 0; i < scan.n_states; i++) {
		part[i] = (struct ranges){.gap_bytes = ret->gap_bytes,
					  .max = ret->max,
					  .from = *from,
					  .limit = UINT64_MAX};
		states[i] = &part[i];
	}
	r = scan_run(&scan, err);
	for (unsigned i = 0; i < scan.n_states && r >= 0; i++)
		r = take_fresh(&part[i], err);
	for (unsigned i = 0; i < scan.n_states && r >= 0; i++)
		ret->limit = part[i].limit < ret->limit ? part[i].limit : ret->limit;
	for (unsigned i = 0; i < scan.n_states && r >= 0; i++)
		r = unite(ret, part[i].item, part[i].n, err);
	for (unsigned i = 0; i < scan.n_states; i++)
		ranges_fini(&part[i]);
	while (ret->n && ret->item[ret->n - 1].start >= ret->limit)
		ret->n--;
	*from = ret->limit;
	return r;
}

int regions_each_of(struct query *q, uint64_t gap_bytes, size_t max,
		    bool (*fn)(void *user, uint64_t start, uint64_t end), void *user,
		    struct err *err)
{
	struct range open[2]; /* [0]: the last range, which may go on in the next pass */
	size_t n_open = 0;
	uint64_t from = 0;
	bool wants_more = true;
	int r = 0;

	while (r >= 0 && from < UINT64_MAX && wants_more) {
		struct ranges all = {.gap_bytes = gap_bytes, .max = max, .limit = UINT64_MAX};

		r = find_ranges(q, &all, &from, err);
		for (size_t i = 0; i < all.n && r >= 0 && wants_more; i++) {
			append(open, &n_open, &all.item[i], gap_bytes);
			if (n_open < 2)
				continue;
			wants_more = fn(user, open[0].start, open[0].end);
			open[0] = open[1];
			n_open = 1;
		}
		ranges_fini(&all);
	}
	if (r >= 0 && wants_more && n_open)
		fn(user, open[0].start, open[0].end);
	return r < 0 ? r : 0;
}

int regions_each(struct query *q, uint64_t gap_bytes,
		 bool (*fn)(void *user, uint64_t start, uint64_t end), void *user, struct err *err)
{
	return regions_each_of(q, gap_bytes, REGIONS_MAX, fn, user, err);
}
