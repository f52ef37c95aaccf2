/* query/mappings.c - see mappings.h.
 *
 * What is mapped at a time is a range_map. The value of a range is its origin, packed into 64 bits: 1 + the
 * number of the call, 1 + the number of the region, and rights as a call asked for them.
 */
#include "query/mappings.h"

#include <sys/mman.h>

#include "base/bits.h"
#include "query/calls.h"
#include "query/query_i.h"
#include "util/range_map.h"

#define CALLS_AT_ONCE 16384u /* between two looks whether to go on */
#define DEFAULT_PAGE_BYTES 4096u
#define DONT_UNMAP 4u /* MREMAP_DONTUNMAP, which older headers lack */

#define CALL_SHIFT 32u
#define REGION_SHIFT 8u
#define MAX_CALLS UINT32_MAX
#define MAX_REGIONS ((1u << 24) - 1)
#define RIGHTS_MASK 0xffu
#define RIGHTS_PROT 0x7u
#define RIGHTS_SHARED 0x8u
#define RIGHTS_KNOWN 0x10u

struct mapping_replay {
	struct query *q;
	const struct store_call *call;
	size_t n_calls;
	const struct store_region *region;
	size_t n_regions;
	uint64_t page_bytes;
	struct range_map mapped;
	uint64_t removed_ns; /* of what is being cut out */
	int (*fn)(void *user, const struct mapping *m, struct err *err);
	void *user;
	int r; /* of fn */
	struct err *err;
};

/* The part of a line's resident bytes that lies in a piece of the line. */
static uint64_t resident_part(const struct store_region *line, const struct range *piece,
			      uint64_t resident_bytes)
{
	uint64_t piece_bytes = piece->end - piece->start;

	if (resident_bytes == 0 || resident_bytes == MAPPINGS_UNKNOWN)
		return resident_bytes;
	if (resident_bytes >= line->end - line->start)
		return piece_bytes;
	return piece_bytes == line->end - line->start ? resident_bytes : MAPPINGS_UNKNOWN;
}

static void describe(const struct mapping_replay *p, const struct range *piece, struct mapping *m)
{
	uint64_t call = piece->value >> CALL_SHIFT;
	uint64_t region = piece->value >> REGION_SHIFT & MAX_REGIONS;
	uint64_t rights = piece->value & RIGHTS_MASK;

	*m = (struct mapping){
		.start = piece->start,
		.end = piece->end,
		.made_ns = call ? p->call[call - 1].at_ns : MAPPINGS_UNKNOWN,
		.removed_ns = MAPPINGS_UNKNOWN,
		.stack = call ? p->call[call - 1].stack : MAPPINGS_NO_STACK,
		.has_rights = rights & RIGHTS_KNOWN,
		.prot = rights & RIGHTS_PROT,
		.is_shared = rights & RIGHTS_SHARED,
		.rss_bytes = MAPPINGS_UNKNOWN,
		.peak_rss_bytes = MAPPINGS_UNKNOWN,
	};
	if (region) {
		const struct store_region *from = &p->region[region - 1];

		m->is_seen = true;
		m->has_rights = true;
		m->prot = from->prot;
		m->is_shared = from->is_shared;
		m->name = from->name;
		m->rss_bytes = resident_part(from, piece, from->rss_bytes);
		m->peak_rss_bytes = resident_part(from, piece, from->peak_rss_bytes);
	}
}

static void put_removed(void *user, const struct range *piece)
{
	struct mapping_replay *p = user;
	struct mapping m;

	if (p->r < 0)
		return;
	describe(p, piece, &m);
	m.is_removed = true;
	m.removed_ns = p->removed_ns;
	p->r = p->fn(p->user, &m, p->err);
}

static bool put_present(void *user, const struct range *piece)
{
	struct mapping_replay *p = user;
	struct mapping m;

	describe(p, piece, &m);
	p->r = p->fn(p->user, &m, p->err);
	return p->r >= 0;
}

/* ---- calls ---- */

/* The pages of a call; false: it cannot have been a call that did anything. */
static bool pages_of(const struct mapping_replay *p, uint64_t addr, uint64_t len, struct range *ret)
{
	if (len == 0 || addr % p->page_bytes || addr > UINT64_MAX - p->page_bytes ||
	    len > UINT64_MAX - p->page_bytes - addr)
		return false;
	*ret = (struct range){.start = addr, .end = addr + align_up(len, p->page_bytes)};
	return true;
}

static int cut(struct mapping_replay *p, const struct range *r, uint64_t at_ns)
{
	int result;

	p->removed_ns = at_ns;
	result = range_map_cut(&p->mapped, r->start, r->end, put_removed, p, p->err);
	return result < 0 ? result : p->r;
}

/* What is there goes at replaced_ns; the range of this call replaces it. */
static int put(struct mapping_replay *p, struct range r, const struct store_call *c,
	       uint64_t rights, uint64_t replaced_ns)
{
	int result = cut(p, &r, replaced_ns);

	r.value = (uint64_t)(c - p->call + 1) << CALL_SHIFT | rights;
	return result < 0 ? result : range_map_put(&p->mapped, &r, p->err);
}

static uint64_t rights_at(const struct mapping_replay *p, uint64_t addr)
{
	const struct range *r = range_map_next(&p->mapped, addr);
	struct mapping m;

	if (!r || r->start > addr)
		return 0;
	describe(p, r, &m);
	return !m.has_rights
		       ? 0
		       : RIGHTS_KNOWN | (m.prot & RIGHTS_PROT) | (m.is_shared ? RIGHTS_SHARED : 0);
}

static int on_mmap(struct mapping_replay *p, const struct store_call *c)
{
	uint64_t flags = c->field[3];
	uint64_t rights = RIGHTS_KNOWN | (c->field[2] & RIGHTS_PROT) |
			  ((flags & MAP_TYPE) != MAP_PRIVATE ? RIGHTS_SHARED : 0);
	struct range r;

	if (!pages_of(p, c->field[0], c->field[1], &r))
		return 0;
	/* The kernel chose the address: what seems to be there went before, and nobody saw when. */
	return put(p, r, c, rights, flags & MAP_FIXED ? c->at_ns : MAPPINGS_UNKNOWN);
}

static int on_munmap(struct mapping_replay *p, const struct store_call *c)
{
	struct range r;

	return pages_of(p, c->field[0], c->field[1], &r) ? cut(p, &r, c->at_ns) : 0;
}

/* A mapping that stays where it is keeps its origin; what is new at its end is of this call. */
static int on_mremap(struct mapping_replay *p, const struct store_call *c)
{
	uint64_t rights = rights_at(p, c->field[0]);
	struct range old, new, part;
	bool has_old = pages_of(p, c->field[0], c->field[1], &old);
	int result = 0;

	if (!pages_of(p, c->field[2], c->field[3], &new))
		return 0;
	if (has_old && old.start == new.start) {
		if (old.end > new.end) {
			part = (struct range){.start = new.end, .end = old.end};
			return cut(p, &part, c->at_ns);
		}
		part = (struct range){.start = old.end, .end = new.end};
		return old.end < new.end ? put(p, part, c, rights, MAPPINGS_UNKNOWN) : 0;
	}
	if (has_old && !(c->field[4] & DONT_UNMAP))
		result = cut(p, &old, c->at_ns);
	if (result < 0)
		return result;
	return put(p, new, c, rights, c->field[4] & MREMAP_FIXED ? c->at_ns : MAPPINGS_UNKNOWN);
}

static int on_brk(struct mapping_replay *p, const struct store_call *c)
{
	uint64_t rights = RIGHTS_KNOWN | PROT_READ | PROT_WRITE, old_end, new_end;
	struct range r;

	if (c->field[0] > UINT64_MAX - p->page_bytes || c->field[1] > UINT64_MAX - p->page_bytes)
		return 0;
	old_end = align_up(c->field[0], p->page_bytes);
	new_end = align_up(c->field[1], p->page_bytes);
	r = (struct range){.start = old_end < new_end ? old_end : new_end,
			   .end = old_end < new_end ? new_end : old_end};
	if (r.start == r.end)
		return 0;
	return old_end < new_end ? put(p, r, c, rights, MAPPINGS_UNKNOWN) : cut(p, &r, c->at_ns);
}

static int on_call(struct mapping_replay *p, const struct store_call *c)
{
	switch (c->kind) {
	case STORE_CALL_MMAP:
		return on_mmap(p, c);
	case STORE_CALL_MUNMAP:
		return on_munmap(p, c);
	case STORE_CALL_MREMAP:
		return on_mremap(p, c);
	case STORE_CALL_BRK:
		return on_brk(p, c);
	default:
		return 0;
	}
}

/* ---- the look ---- */

/* A piece that calls made gets the region as a second origin; what no call made is of the region alone. */
static int take_region(struct mapping_replay *p, const struct store_region *region, uint64_t number)
{
	uint64_t at = region->start, value = number << REGION_SHIFT;
	int r = range_map_split(&p->mapped, region->start, p->err);

	if (r >= 0)
		r = range_map_split(&p->mapped, region->end, p->err);
	while (r >= 0 && at < region->end) {
		struct range *next = range_map_next(&p->mapped, at), gap;

		if (next && next->start <= at) {
			next->value |= value;
			at = next->end;
			continue;
		}
		gap = (struct range){at, region->end, value};
		if (next && next->start < gap.end)
			gap.end = next->start;
		r = range_map_put(&p->mapped, &gap, p->err);
		at = gap.end;
	}
	return r;
}

static int take_look(struct mapping_replay *p)
{
	uint64_t before = 0;
	int r = 0;

	for (size_t i = 0; i < p->n_regions && i < MAX_REGIONS && r >= 0; i++) {
		const struct store_region *region = &p->region[i];

		/* They ascend and do not overlap, or they are nonsense. */
		if (region->start < before || region->start >= region->end)
			continue;
		before = region->end;
		r = take_region(p, region, i + 1);
	}
	return r;
}

static int replay_all(struct mapping_replay *p)
{
	uint64_t look_ns = store_facts(p->q->c.store)->maps_ns;
	bool has_looked = false;
	int r = 0;

	for (size_t i = 0; i < p->n_calls && i < MAX_CALLS && r >= 0; i++) {
		if (i % CALLS_AT_ONCE == 0)
			r = query_check_cancel(p->q, p->err);
		if (r >= 0 && !has_looked && p->call[i].at_ns > look_ns) {
			has_looked = true;
			r = take_look(p);
		}
		if (r >= 0)
			r = on_call(p, &p->call[i]);
	}
	if (r >= 0 && !has_looked)
		r = take_look(p);
	if (r < 0)
		return r;
	range_map_each(&p->mapped, put_present, p);
	return p->r;
}

int mappings_each(struct query *q, int (*fn)(void *user, const struct mapping *m, struct err *err),
		  void *user, struct err *err)
{
	uint64_t page_bytes = store_facts(q->c.store)->page_bytes;
	struct mapping_replay p = {.q = q, .fn = fn, .user = user, .err = err};
	int r;

	p.page_bytes =
		is_pow2(page_bytes) && page_bytes <= 1u << 30 ? page_bytes : DEFAULT_PAGE_BYTES;
	p.call = store_table(q->c.store, STORE_CALLS, &p.n_calls);
	p.region = store_table(q->c.store, STORE_REGIONS, &p.n_regions);
	r = replay_all(&p);
	range_map_fini(&p.mapped);
	return r < 0 ? r : 0;
}
