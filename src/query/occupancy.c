/* query/occupancy.c - see occupancy.h.
 *
 * The first pass notes, for each unit of addresses in which a block begins, the lowest address and the
 * highest end of these blocks. Sorted, units become ranges. The second pass adds up bytes per cell:
 * the first and the last cell of a block directly, the cells between as a difference that begins behind
 * the first and ends at the last, so a block costs the same however large it is.
 */
#include "query/occupancy.h"

#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "query/query_i.h"
#include "util/map.h"
#include "util/vec.h"

#define DEFAULT_PAGE_BYTES 4096u

static uint64_t block_end(uint64_t addr, uint64_t usable_bytes)
{
	uint64_t len = usable_bytes ? usable_bytes : 1;

	return addr > UINT64_MAX - len ? UINT64_MAX : addr + len;
}

/* ---- first pass: where blocks are ---- */

struct unit {
	uint64_t low, high; /* of the blocks that begin in it */
};

struct units {
	struct map number_of; /* address / unit size -> index */
	struct unit *unit;
	size_t n, cap;
	unsigned shift; /* size of a unit: 1 << shift */
	uint64_t last_key; /* the unit looked up last, and its index */
	size_t last;
};

static void units_fini(struct units *u)
{
	map_fini(&u->number_of);
	free(u->unit);
}

static int units_add(struct units *u, uint64_t low, uint64_t high, struct err *err);

/* Makes units twice as large, as often as it takes to have few enough. */
static int units_coarsen(struct units *u, unsigned shift, struct err *err)
{
	struct units coarse = {.shift = shift};
	int r = 0;

	for (size_t i = 0; i < u->n && r >= 0; i++)
		r = units_add(&coarse, u->unit[i].low, u->unit[i].high, err);
	units_fini(u);
	*u = coarse;
	return r;
}

static int units_add(struct units *u, uint64_t low, uint64_t high, struct err *err)
{
	uint64_t key = low >> u->shift, *number;
	struct unit *unit;
	bool is_new;
	int r;

	if (u->n && key == u->last_key) {
		unit = &u->unit[u->last];
		unit->low = low < unit->low ? low : unit->low;
		unit->high = high > unit->high ? high : unit->high;
		return 0;
	}
	r = map_add(&u->number_of, key, &number, &is_new, err);
	if (r >= 0 && is_new)
		r = vec_reserve(&u->unit, &u->cap, u->n + 1, sizeof(*u->unit), err);
	if (r < 0)
		return r;
	if (is_new) {
		*number = u->n;
		u->unit[u->n++] = (struct unit){low, high};
	}
	u->last_key = key;
	u->last = (size_t)*number;
	unit = &u->unit[u->last];
	unit->low = low < unit->low ? low : unit->low;
	unit->high = high > unit->high ? high : unit->high;
	return u->n > OCCUPANCY_MAX_UNITS ? units_coarsen(u, u->shift + 1, err) : 0;
}

static int units_sink(void *state, struct scanner *s, struct err *err)
{
	const uint64_t *addr = scanner_column(s, STORE_ADDR);
	const uint64_t *size = scanner_column(s, STORE_SIZE_BYTES);
	const uint64_t *extra = scanner_column(s, STORE_EXTRA_BYTES);
	int r = 0;

	for (uint32_t k = 0; k < s->n_selected && r >= 0; k++) {
		uint32_t i = s->selected[k];

		r = units_add(state, addr[i], block_end(addr[i], size[i] + extra[i]), err);
	}
	return r;
}

/* All units in one table; whichever thread found them, the result is the same. */
static int units_merge(struct units *all, struct units *u, struct err *err)
{
	int r = 0;

	if (u->shift > all->shift)
		r = units_coarsen(all, u->shift, err);
	for (size_t i = 0; i < u->n && r >= 0; i++)
		r = units_add(all, u->unit[i].low, u->unit[i].high, err);
	return r;
}

static int find_units(struct query *q, const struct plan *plan, struct units *ret, struct err *err)
{
	struct units u[SCAN_MAX_THREADS];
	void *states[SCAN_MAX_THREADS];
	struct scan scan;
	int r;

	scan_init(&scan, q, plan);
	scan.sink = units_sink;
	scan.states = states;
	scan.n_states = scan_n_threads(q, scan.end_block - scan.first_block,
				       OCCUPANCY_MAX_UNITS * sizeof(struct map_slot));
	for (unsigned i = 0; i < scan.n_states; i++) {
		u[i] = (struct units){.shift = (unsigned)__builtin_ctzll(OCCUPANCY_UNIT_BYTES)};
		states[i] = &u[i];
	}
	r = scan_run(&scan, err);
	for (unsigned i = 1; i < scan.n_states && r >= 0; i++)
		r = units_merge(&u[0], &u[i], err);
	for (unsigned i = r >= 0; i < scan.n_states; i++)
		units_fini(&u[i]);
	if (r >= 0)
		*ret = u[0];
	return r;
}

/* ---- ranges ---- */

static int compare_units(const void *a, const void *b)
{
	const struct unit *x = a, *y = b;

	return x->low < y->low ? -1 : x->low > y->low;
}

static int compare_descending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x > y ? -1 : x < y;
}

/* The least gap that separates two ranges, so that there are at most max_ranges. Units are sorted, and
 * each one's high is at least that of the units before it. */
static int least_gap(const struct units *u, size_t max_ranges, uint64_t *ret, struct err *err)
{
	uint64_t *gap = malloc((u->n + 1) * sizeof(*gap));
	size_t n = 0;

	if (!gap)
		return err_set_memory(err, u->n * sizeof(*gap));
	for (size_t i = 1; i < u->n; i++) {
		uint64_t before = u->unit[i - 1].high, low = u->unit[i].low;

		if (low > before && low - before >= 1ull << u->shift)
			gap[n++] = low - before;
	}
	qsort(gap, n, sizeof(*gap), compare_descending);
	*ret = 1ull << u->shift;
	/* Of equal gaps none separates if not all of them may. */
	if (n >= max_ranges)
		*ret = gap[max_ranges - 1] + 1;
	free(gap);
	return 0;
}

static uint64_t page_up(uint64_t addr, uint64_t page_bytes)
{
	return addr > UINT64_MAX - page_bytes ? align_down(UINT64_MAX, page_bytes)
					      : align_up(addr, page_bytes);
}

static int make_ranges(struct units *u, uint64_t page_bytes, size_t max_ranges, struct occupancy *o,
		       struct err *err)
{
	uint64_t gap = 0;
	int r;

	if (u->n)
		qsort(u->unit, u->n, sizeof(*u->unit), compare_units);
	for (size_t i = 1; i < u->n; i++) {
		if (u->unit[i].high < u->unit[i - 1].high)
			u->unit[i].high = u->unit[i - 1].high;
	}
	r = least_gap(u, max_ranges, &gap, err);
	if (r < 0)
		return r;
	o->range = calloc(max_ranges, sizeof(*o->range));
	if (!o->range)
		return err_set_memory(err, max_ranges * sizeof(*o->range));
	for (size_t i = 0; i < u->n; i++) {
		const struct unit *unit = &u->unit[i];
		uint64_t before = i ? unit[-1].high : 0;

		if (i == 0 || (unit->low > before && unit->low - before >= gap))
			o->range[o->n_ranges++].start = align_down(unit->low, page_bytes);
		o->range[o->n_ranges - 1].end = page_up(unit->high, page_bytes);
	}
	return 0;
}

static uint64_t n_cells_of(const struct occupancy_range *r, uint64_t cell_bytes)
{
	return (r->end - r->start - 1) / cell_bytes + 1;
}

/* The least size with which the cells of all ranges are not more than asked for. */
static int make_cells(struct occupancy *o, uint64_t page_bytes, size_t max_cells, struct err *err)
{
	uint64_t n;

	o->cell_bytes = page_bytes;
	for (;;) {
		n = 0;
		for (size_t i = 0; i < o->n_ranges && n <= max_cells; i++)
			n += n_cells_of(&o->range[i], o->cell_bytes);
		if (n <= max_cells || o->cell_bytes > UINT64_MAX / 4)
			break;
		o->cell_bytes *= 2;
	}
	for (size_t i = 0; i < o->n_ranges; i++) {
		o->range[i].first_cell = o->n_cells;
		o->range[i].n_cells = (size_t)n_cells_of(&o->range[i], o->cell_bytes);
		o->n_cells += o->range[i].n_cells;
	}
	o->cell = calloc(o->n_cells + 1, sizeof(*o->cell));
	return o->cell ? 0 : err_set_memory(err, o->n_cells * sizeof(*o->cell));
}

/* ---- second pass: how much of each cell is used ---- */

struct cells_state {
	const struct occupancy *o;
	unsigned cell_shift;
	uint64_t *used; /* per cell: bytes of blocks that begin or end there */
	int64_t *full; /* per cell and one more: differences of the blocks that cover it all */
	uint64_t *n_blocks; /* per range */
	uint64_t *used_bytes; /* per range */
};

/* Every block lies in a range: the first pass saw the same rows. NULL: the rows are nonsense. */
static const struct occupancy_range *find_range(const struct occupancy *o, uint64_t addr)
{
	size_t low = 0, high = o->n_ranges;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (o->range[mid].end <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low < o->n_ranges && addr >= o->range[low].start ? &o->range[low] : NULL;
}

static void add_block(struct cells_state *st, uint64_t start, uint64_t end)
{
	const struct occupancy_range *r = find_range(st->o, start);
	uint64_t from, to, first, last, *used;
	int64_t *full;

	if (!r)
		return;
	end = end < r->end ? end : r->end;
	from = start - r->start;
	to = end - r->start;
	first = from >> st->cell_shift;
	last = (to - 1) >> st->cell_shift;
	used = st->used + r->first_cell;
	full = st->full + r->first_cell;
	st->n_blocks[r - st->o->range]++;
	st->used_bytes[r - st->o->range] += end - start;
	if (first == last) {
		used[first] += to - from;
		return;
	}
	used[first] += ((first + 1) << st->cell_shift) - from;
	used[last] += to - (last << st->cell_shift);
	full[first + 1]++;
	full[last]--;
}

static int cells_sink(void *state, struct scanner *s, struct err *err)
{
	const uint64_t *addr = scanner_column(s, STORE_ADDR);
	const uint64_t *size = scanner_column(s, STORE_SIZE_BYTES);
	const uint64_t *extra = scanner_column(s, STORE_EXTRA_BYTES);

	(void)err;
	for (uint32_t k = 0; k < s->n_selected; k++) {
		uint32_t i = s->selected[k];

		add_block(state, addr[i], block_end(addr[i], size[i] + extra[i]));
	}
	return 0;
}

static int cells_init(struct cells_state *st, const struct occupancy *o, struct err *err)
{
	size_t n = 2 * (o->n_cells + 1) + 2 * o->n_ranges;

	st->o = o;
	st->cell_shift = (unsigned)__builtin_ctzll(o->cell_bytes);
	st->used = calloc(n, sizeof(*st->used));
	if (!st->used)
		return err_set_memory(err, n * sizeof(*st->used));
	st->full = (int64_t *)st->used + o->n_cells + 1;
	st->n_blocks = (uint64_t *)st->full + o->n_cells + 1;
	st->used_bytes = st->n_blocks + o->n_ranges;
	return 0;
}

uint64_t occupancy_cell_bytes(const struct occupancy *o, const struct occupancy_range *r,
			      size_t cell_in_range)
{
	uint64_t before = cell_in_range * o->cell_bytes, left = r->end - r->start - before;

	return left < o->cell_bytes ? left : o->cell_bytes;
}

static void take_cells(struct occupancy *o, const struct cells_state *st, unsigned n_states)
{
	for (size_t i = 0; i < o->n_ranges; i++) {
		struct occupancy_range *r = &o->range[i];
		int64_t n_full = 0;

		for (size_t c = 0; c < r->n_cells; c++) {
			uint64_t used = 0, most = occupancy_cell_bytes(o, r, c);

			for (unsigned k = 0; k < n_states; k++) {
				n_full += st[k].full[r->first_cell + c];
				used += st[k].used[r->first_cell + c];
			}
			o->cell[r->first_cell + c] = n_full > 0 || used > most ? most : used;
		}
		for (unsigned k = 0; k < n_states; k++) {
			r->n_blocks += st[k].n_blocks[i];
			r->used_bytes += st[k].used_bytes[i];
		}
	}
}

static int fill_cells(struct query *q, const struct plan *plan, struct occupancy *o,
		      struct err *err)
{
	struct cells_state st[SCAN_MAX_THREADS] = {{0}};
	void *states[SCAN_MAX_THREADS];
	struct scan scan;
	int r = 0;

	scan_init(&scan, q, plan);
	scan.sink = cells_sink;
	scan.states = states;
	scan.n_states = scan_n_threads(q, scan.end_block - scan.first_block,
				       2 * o->n_cells * sizeof(uint64_t));
	for (unsigned i = 0; i < scan.n_states && r >= 0; i++) {
		r = cells_init(&st[i], o, err);
		states[i] = &st[i];
	}
	if (r >= 0)
		r = scan_run(&scan, err);
	if (r >= 0)
		take_cells(o, st, scan.n_states);
	for (unsigned i = 0; i < scan.n_states; i++)
		free(st[i].used);
	return r;
}

/* ---- all of it ---- */

/* No machine has pages larger than 64 KiB, and ranges that are rounded to them must not overlap. */
static uint64_t page_bytes_of(const struct store *s)
{
	uint64_t page_bytes = store_facts(s)->page_bytes;

	return page_bytes >= 512 && page_bytes <= 65536 && is_pow2(page_bytes) ? page_bytes
									       : DEFAULT_PAGE_BYTES;
}

int occupancy_at(struct query *q, uint64_t at_ns, size_t max_cells, struct occupancy *ret,
		 struct err *err)
{
	uint64_t page_bytes = page_bytes_of(q->c.store);
	struct occupancy o = {.at_ns = at_ns};
	size_t max_ranges = max_cells / 4;
	struct units units = {0};
	struct plan plan;
	int r;

	if (at_ns >= UINT64_MAX - 1)
		return err_set(err, ERR_USAGE, "there is no such moment");
	if (max_cells == 0 || max_cells > OCCUPANCY_MAX_CELLS)
		return err_set(err, ERR_USAGE, "%zu cells: 1 to %u can be had", max_cells,
			       OCCUPANCY_MAX_CELLS);
	max_ranges = max_ranges > OCCUPANCY_MAX_RANGES ? OCCUPANCY_MAX_RANGES : max_ranges;
	max_ranges = max_ranges ? max_ranges : 1;
	plan_alive(q, at_ns, &plan);
	r = find_units(q, &plan, &units, err);
	if (r >= 0)
		r = make_ranges(&units, page_bytes, max_ranges, &o, err);
	if (r >= 0)
		r = make_cells(&o, page_bytes, max_cells, err);
	units_fini(&units);
	if (r >= 0)
		r = fill_cells(q, &plan, &o, err);
	if (r < 0)
		occupancy_fini(&o);
	else
		*ret = o;
	return r;
}

void occupancy_fini(struct occupancy *o)
{
	free(o->range);
	free(o->cell);
	*o = (struct occupancy){0};
}
