/* serve/rest_fragmentation.c - /fragmentation_timeline: how far the main heap is spread out.
 *
 * As in 2021: the span from the lowest to the highest address of live blocks in the main arena,
 * without the bytes in use; here at up to 1000 moments. One pass over the rows: a row is alive at
 * a run of moments, its bytes go into a table of differences, and its ends into two tables that
 * hold minima and maxima of runs of 2^k moments (any run is two of those), which are folded at the end.
 */
#include "serve/handlers.h"
#include "serve/wire.h"

#include <stdlib.h>
#include <string.h>

#define MAX_MOMENTS 1000u
#define MAX_LEVELS 11u /* 2^10 > MAX_MOMENTS */
#define NS_PER_MS 1000000u
#define NS_PER_S 1000000000u

struct spread {
	struct request *rq;
	size_t n; /* moments: i * step_ns */
	uint64_t step_ns;
	uint64_t low[MAX_LEVELS][MAX_MOMENTS]; /* of the moments [i, i + 2^level) */
	uint64_t high[MAX_LEVELS][MAX_MOMENTS];
	uint64_t change_bytes[MAX_MOMENTS + 1]; /* modulo 2^64 */
};

static void note(uint64_t *low, uint64_t *high, uint64_t addr, uint64_t end)
{
	if (addr < *low)
		*low = addr;
	if (end > *high)
		*high = end;
}

static bool add_row(void *user, const struct query_row *row)
{
	struct spread *s = user;
	uint64_t n_bytes = row->size_bytes + row->extra_bytes;
	size_t first = (size_t)((row->birth_ns + s->step_ns - 1) / s->step_ns);
	size_t end = row->death_ns == UINT64_MAX ? s->n : (size_t)(row->death_ns / s->step_ns) + 1;
	unsigned level = 0;

	if (end > s->n)
		end = s->n;
	if (first >= end)
		return true; /* alive at none of the moments */
	s->change_bytes[first] += n_bytes;
	s->change_bytes[end] -= n_bytes;
	while ((size_t)2 << level <= end - first)
		level++;
	note(&s->low[level][first], &s->high[level][first], row->addr, row->addr + n_bytes);
	first = end - ((size_t)1 << level);
	note(&s->low[level][first], &s->high[level][first], row->addr, row->addr + n_bytes);
	return true;
}

static void fold(struct spread *s)
{
	for (unsigned level = MAX_LEVELS; level-- > 1;) {
		size_t half = (size_t)1 << (level - 1);

		for (size_t i = 0; i + 2 * half <= s->n; i++) {
			uint64_t low = s->low[level][i], high = s->high[level][i];

			note(&s->low[level - 1][i], &s->high[level - 1][i], low, high);
			note(&s->low[level - 1][i + half], &s->high[level - 1][i + half], low,
			     high);
		}
	}
}

static void put_spread(struct request *rq, const struct spread *s, uint64_t unit_ns)
{
	struct json *j = &rq->json;
	uint64_t bytes = 0;

	json_object(j, NULL);
	json_array(j, "xs");
	for (size_t i = 0; i < s->n; i++)
		json_u64(j, NULL, wire_unix_ns(rq, i * s->step_ns) / unit_ns);
	json_end_array(j);
	json_array(j, "fragmentation");
	for (size_t i = 0; i < s->n; i++) {
		uint64_t span = s->high[0][i] > s->low[0][i] ? s->high[0][i] - s->low[0][i] : 0;

		bytes += s->change_bytes[i];
		json_u64(j, NULL, span > bytes ? span - bytes : 0);
	}
	json_end_array(j);
	json_end_object(j);
}

int rest_fragmentation(struct request *rq, struct err *err)
{
	uint64_t duration = store_facts(rq->store)->duration_ns;
	struct query_page page = {.count = UINT64_MAX};
	struct spread *s;
	unsigned unit;
	int r = request_choice(rq, "resolution", "ms|s", 0, &unit, err);

	if (r == 0)
		r = request_filter(rq, err);
	rq->filter.main_arena = FILTER_YES;
	if (r == 0)
		r = request_make_query(rq, err);
	if (r < 0)
		return r;
	s = calloc(1, sizeof(*s));
	if (!s)
		return err_set_memory(err, sizeof(*s));
	memset(s->low, 0xff, sizeof(s->low));
	s->rq = rq;
	s->step_ns = unit ? NS_PER_S : NS_PER_MS;
	while (duration / s->step_ns >= MAX_MOMENTS)
		s->step_ns = (duration / (MAX_MOMENTS - 1) / s->step_ns + 1) * s->step_ns;
	s->n = (size_t)(duration / s->step_ns) + 1;
	r = query_rows(rq->query, &page, add_row, s, NULL, err);
	if (r == 0) {
		fold(s);
		put_spread(rq, s, unit ? NS_PER_S : NS_PER_MS);
	}
	free(s);
	return r;
}
