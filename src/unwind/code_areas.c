/* unwind/code_areas.c - see code_areas_i.h.
 *
 * What is executable is read from /proc when an address is met that is not known, at most once a
 * millisecond. So a decision costs a search in a sorted table.
 */
#include "unwind/code_areas_i.h"

#include <stdatomic.h>

#include "arch/arch.h"
#include "unwind/maps_i.h"

#define MAX_MAPPINGS 1024 /* executable ones; those beyond are not known */
#define MAX_AREAS 64
#define READ_TICKS (1u << 21) /* /proc is not read again within about a millisecond */
#define MIN_GOOD 16 /* places that must be seen before an area is trusted */
#define TRUST_SHARE 4 /* for each bad place there must be so many good ones ... */
#define DISTRUST_SHARE 2 /* ... and fewer than so many end the trust */

/* An executable mapping. */
struct mapping {
	struct memory_range at;
	struct memory_range run; /* the mappings around it that belong together */
};

static struct mapping mapping[MAX_MAPPINGS];
static unsigned n_mappings;
static uint64_t read_at_ticks;
static struct code_area area[MAX_AREAS];
static unsigned next_area;
static uint8_t buffer[MAPS_BUFFER_BYTES];
static _Atomic bool is_taken; /* guards the above */

void code_areas_init(void)
{
	atomic_store(&is_taken, false); /* whoever had it is not in this process */
}

bool code_areas_enter(void)
{
	return !atomic_exchange_explicit(&is_taken, true, memory_order_acquire);
}

void code_areas_leave(void)
{
	atomic_store_explicit(&is_taken, false, memory_order_release);
}

/* --- /proc ------------------------------------------------------------------------------------ */

struct reader {
	struct memory_range run; /* the mappings without a name that end with the last line */
	unsigned first_of_run; /* the first in mapping[] that lies in the run */
};

static void end_run(struct reader *r)
{
	for (unsigned i = r->first_of_run; i < n_mappings; i++)
		mapping[i].run = r->run;
	r->first_of_run = n_mappings;
}

static bool add_line(const struct maps_line *line, void *arg)
{
	struct reader *r = arg;
	bool is_named = line->path && line->path != '['; /* [anon:...] is the program's own name */

	if (is_named || r->run.hi != line->lo) {
		end_run(r);
		r->run = (struct memory_range){line->lo, line->lo};
	}
	r->run.hi = line->hi;
	if (line->is_executable && n_mappings < MAX_MAPPINGS)
		mapping[n_mappings++].at = (struct memory_range){line->lo, line->hi};
	if (is_named) {
		end_run(r);
		r->run = (struct memory_range){0, 0};
	}
	return true;
}

static void read_mappings(void)
{
	struct reader r = {.first_of_run = 0};

	n_mappings = 0;
	maps_each(buffer, add_line, &r);
	end_run(&r);
}

static const struct mapping *find_mapping(uintptr_t addr)
{
	unsigned lo = 0, hi = n_mappings;

	while (lo < hi) {
		unsigned mid = (lo + hi) / 2;

		if (addr < mapping[mid].at.lo)
			hi = mid;
		else if (addr >= mapping[mid].at.hi)
			lo = mid + 1;
		else
			return &mapping[mid];
	}
	return NULL;
}

bool code_areas_has(uintptr_t addr)
{
	return find_mapping(addr) != NULL;
}

/* --- areas ------------------------------------------------------------------------------------ */

static bool overlaps(struct memory_range a, struct memory_range b)
{
	return a.lo < b.hi && b.lo < a.hi;
}

static struct code_area *new_area(struct memory_range at, uint32_t generation)
{
	struct code_area *a = &area[next_area++ % MAX_AREAS];

	for (unsigned i = 0; i < MAX_AREAS; i++)
		if (!area[i].at.hi)
			a = &area[i];
	*a = (struct code_area){.at = at, .generation = generation};
	return a;
}

/* The area that lies in this range. Where the range has grown over several areas, they become
 * one. */
static struct code_area *area_at(struct memory_range at)
{
	struct code_area *a = NULL;

	for (unsigned i = 0; i < MAX_AREAS; i++) {
		if (area[i].generation || !overlaps(area[i].at, at))
			continue;
		if (a) {
			a->n_good += area[i].n_good;
			a->n_bad += area[i].n_bad;
			a->is_trusted = a->is_trusted && area[i].is_trusted;
			a->has_cuts = a->has_cuts || area[i].has_cuts;
			area[i].at.hi = 0;
			continue;
		}
		a = &area[i];
		a->at = at;
	}
	return a ? a : new_area(at, 0);
}

struct code_area *code_areas_of_jit(uintptr_t addr)
{
	const struct mapping *m = find_mapping(addr);
	uint64_t now = arch_ticks();

	if (!m && now - read_at_ticks > READ_TICKS) {
		read_mappings();
		read_at_ticks = now;
		m = find_mapping(addr);
	}
	return m ? area_at(m->run) : NULL;
}

struct code_area *code_areas_of_gap(struct memory_range gap, uint32_t generation)
{
	for (unsigned i = 0; i < MAX_AREAS; i++)
		if (area[i].at.lo == gap.lo && area[i].at.hi == gap.hi &&
		    area[i].generation == generation)
			return &area[i];
	return new_area(gap, generation);
}

bool code_areas_count(struct code_area *a, bool is_good, bool was_bad)
{
	bool was_trusted = a->is_trusted;

	a->n_good += is_good;
	a->n_bad += !is_good;
	a->n_bad -= was_bad && a->n_bad;
	if (!was_trusted && a->n_good >= MIN_GOOD && a->n_bad * TRUST_SHARE <= a->n_good)
		a->is_trusted = true;
	if (was_trusted && a->n_bad * DISTRUST_SHARE > a->n_good)
		a->is_trusted = false;
	return was_trusted ? !a->is_trusted : a->is_trusted && a->has_cuts;
}

bool code_areas_is_trusted(uintptr_t lo, uintptr_t hi)
{
	for (unsigned i = 0; i < MAX_AREAS; i++)
		if (area[i].is_trusted && area[i].at.lo <= lo && area[i].at.hi >= hi)
			return true;
	return false;
}

/* Whether an area has code outside of the memory that is going away. */
static bool has_code_outside(const struct code_area *a, struct memory_range gone)
{
	for (unsigned i = 0; i < n_mappings; i++)
		if (overlaps(mapping[i].at, a->at) &&
		    (mapping[i].at.lo < gone.lo || mapping[i].at.hi > gone.hi))
			return true;
	return false;
}

void code_areas_forget(uintptr_t lo, uintptr_t hi)
{
	const struct memory_range gone = {lo, hi};

	read_mappings();
	for (unsigned i = 0; i < MAX_AREAS; i++)
		if (overlaps(area[i].at, gone) && !has_code_outside(&area[i], gone))
			area[i] = (struct code_area){.at = {0, 0}};
	n_mappings = 0; /* to be read again when they are gone */
	read_at_ticks = 0;
}
