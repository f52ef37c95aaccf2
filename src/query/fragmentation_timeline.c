/* query/fragmentation_timeline.c - lowest and highest address in use at many moments: fragmentation.h.
 *
 * A row is alive at a run of consecutive moments, or at none. Sums are kept as differences: added
 * where the run begins, taken away behind its end. For the extremes each run is covered by two runs
 * whose length is a power of two, so a row touches two cells of a table with a line for each power;
 * at the end the lines are handed down from the longest runs to single moments.
 */
#include <stdlib.h>
#include <string.h>

#include "query/fragmentation.h"
#include "query/query_i.h"

struct extreme {
	uint64_t low, high;
};

struct moments {
	uint64_t from_ns, step_ns;
	size_t n;
	unsigned n_lines;
	struct fragmentation_point *change; /* n + 1: differences */
	struct extreme *cell; /* line by line, n each */
};

static void widen(struct extreme *e, uint64_t low, uint64_t high)
{
	e->low = low < e->low ? low : e->low;
	e->high = high > e->high ? high : e->high;
}

/* The first moment at ns or later, at most n. */
static size_t moment_from(const struct moments *m, uint64_t ns)
{
	uint64_t i;

	if (ns <= m->from_ns)
		return 0;
	i = (ns - m->from_ns - 1) / m->step_ns + 1;
	return i < m->n ? (size_t)i : m->n;
}

static void add_run(struct moments *m, size_t first, size_t end, struct extreme block)
{
	unsigned line = 63u - (unsigned)__builtin_clzll(end - first);
	struct extreme *cell = m->cell + line * m->n;

	widen(&cell[first], block.low, block.high);
	widen(&cell[end - ((size_t)1 << line)], block.low, block.high);
}

static int moments_sink(void *state, struct scanner *s, struct err *err)
{
	struct moments *m = state;
	const uint64_t *alloc = scanner_column(s, STORE_ALLOC_NS);
	const uint64_t *life = scanner_column(s, STORE_LIFETIME_NS);
	const uint64_t *size = scanner_column(s, STORE_SIZE_BYTES);
	const uint64_t *extra = scanner_column(s, STORE_EXTRA_BYTES);
	const uint64_t *addr = scanner_column(s, STORE_ADDR);

	(void)err;
	for (uint32_t k = 0; k < s->n_selected; k++) {
		uint32_t i = s->selected[k];
		size_t first = moment_from(m, alloc[i]);
		size_t end = moment_from(m, row_free_ns(alloc[i], life[i]));
		uint64_t usable = size[i] + extra[i];

		if (first >= end)
			continue;
		m->change[first].n_blocks++;
		m->change[first].requested_bytes += size[i];
		m->change[first].usable_bytes += usable;
		m->change[end].n_blocks--;
		m->change[end].requested_bytes -= size[i];
		m->change[end].usable_bytes -= usable;
		add_run(m, first, end, (struct extreme){addr[i], addr[i] + (usable ? usable : 1)});
	}
	return 0;
}

static void hand_down(struct moments *m)
{
	for (unsigned line = m->n_lines - 1; line > 0; line--) {
		struct extreme *from = m->cell + line * m->n, *to = from - m->n;
		size_t half = (size_t)1 << (line - 1);

		for (size_t i = 0; i + 2 * half <= m->n; i++) {
			widen(&to[i], from[i].low, from[i].high);
			widen(&to[i + half], from[i].low, from[i].high);
		}
	}
}

static void add_moments(struct moments *all, const struct moments *m)
{
	for (size_t i = 0; i <= all->n; i++) {
		all->change[i].n_blocks += m->change[i].n_blocks;
		all->change[i].requested_bytes += m->change[i].requested_bytes;
		all->change[i].usable_bytes += m->change[i].usable_bytes;
	}
	for (size_t i = 0; i < all->n_lines * all->n; i++)
		widen(&all->cell[i], m->cell[i].low, m->cell[i].high);
}

static void take_points(const struct moments *m, struct fragmentation_point *ret)
{
	struct fragmentation_point sum = {0};

	for (size_t i = 0; i < m->n; i++) {
		sum.n_blocks += m->change[i].n_blocks;
		sum.requested_bytes += m->change[i].requested_bytes;
		sum.usable_bytes += m->change[i].usable_bytes;
		ret[i] = sum;
		ret[i].at_ns = m->from_ns + i * m->step_ns;
		ret[i].lowest_addr = m->cell[i].low;
		ret[i].end_addr = m->cell[i].high;
	}
}

static int moments_init(struct moments *m, struct err *err)
{
	size_t n_cells = m->n_lines * m->n;

	m->change = calloc(m->n + 1, sizeof(*m->change));
	m->cell = malloc(n_cells * sizeof(*m->cell));
	if (!m->change || !m->cell)
		return err_set_memory(err, n_cells * sizeof(*m->cell));
	for (size_t i = 0; i < n_cells; i++)
		m->cell[i] = (struct extreme){UINT64_MAX, 0};
	return 0;
}

int fragmentation_timeline(struct query *q, uint64_t from_ns, uint64_t step_ns, size_t n_points,
			   struct fragmentation_point *ret, struct err *err)
{
	struct moments m[SCAN_MAX_THREADS] = {0};
	void *states[SCAN_MAX_THREADS];
	struct scan scan;
	int r = 0;

	if (n_points == 0 || n_points > FRAGMENTATION_MAX_POINTS || step_ns == 0)
		return err_set(err, ERR_USAGE, "a timeline of %zu points: 1 to %u are possible",
			       n_points, FRAGMENTATION_MAX_POINTS);
	scan_init(&scan, q, &q->plan);
	scan.sink = moments_sink;
	scan.states = states;
	scan.n_states = scan_n_threads(q, scan.end_block - scan.first_block,
				       16 * n_points * sizeof(struct extreme));
	for (unsigned i = 0; i < scan.n_states; i++) {
		m[i] = (struct moments){.from_ns = from_ns, .step_ns = step_ns, .n = n_points};
		m[i].n_lines = 64u - (unsigned)__builtin_clzll(n_points);
		states[i] = &m[i];
		if (r >= 0)
			r = moments_init(&m[i], err);
	}
	if (r >= 0)
		r = scan_run(&scan, err);
	for (unsigned i = 1; i < scan.n_states && r >= 0; i++)
		add_moments(&m[0], &m[i]);
	if (r >= 0) {
		hand_down(&m[0]);
		take_points(&m[0], ret);
	}
	for (unsigned i = 0; i < scan.n_states; i++) {
		free(m[i].change);
		free(m[i].cell);
	}
	return r;
}
