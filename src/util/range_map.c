/* util/range_map.c - see range_map.h.
 *
 * Ranges lie in chunks of up to CHUNK_RANGES. A full chunk is split in two; an empty chunk is
 * freed. Chunks are not joined: a map that shrinks keeps some room.
 */
#include "util/range_map.h"

#include <stdlib.h>
#include <string.h>

#include "util/vec.h"

#define CHUNK_RANGES 256u

struct range_chunk {
	size_t n; /* at least 1 */
	struct range range[CHUNK_RANGES];
};

/* A position in the map: of a range, or after the last range of a chunk. */
struct position {
	size_t chunk, at;
};

void range_map_fini(struct range_map *m)
{
	for (size_t i = 0; i < m->n_chunks; i++)
		free(m->chunk[i]);
	free(m->chunk);
	*m = (struct range_map){0};
}

/* The first range whose end is above a number; chunk == n_chunks: there is none. */
static struct position find_position(const struct range_map *m, uint64_t at)
{
	size_t low = 0, high = m->n_chunks;
	struct position p;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct range_chunk *c = m->chunk[mid];

		if (c->range[c->n - 1].end <= at)
			low = mid + 1;
		else
			high = mid;
	}
	p = (struct position){.chunk = low};
	if (low == m->n_chunks)
		return p;
	for (high = m->chunk[low]->n; p.at < high;) {
		size_t mid = p.at + (high - p.at) / 2;

		if (m->chunk[low]->range[mid].end <= at)
			p.at = mid + 1;
		else
			high = mid;
	}
	return p;
}

static struct range *range_at(const struct range_map *m, struct position p)
{
	return p.chunk < m->n_chunks ? &m->chunk[p.chunk]->range[p.at] : NULL;
}

struct range *range_map_next(const struct range_map *m, uint64_t at)
{
	return range_at(m, find_position(m, at));
}

/* ---- changes ---- */

static int add_chunk(struct range_map *m, size_t at, struct err *err)
{
	struct range_chunk *c;
	int r = vec_reserve(&m->chunk, &m->cap_chunks, m->n_chunks + 1, sizeof(*m->chunk), err);

	if (r < 0)
		return r;
	c = malloc(sizeof(*c));
	if (!c)
		return err_set_memory(err, sizeof(*c));
	c->n = 0;
	memmove(m->chunk + at + 1, m->chunk + at, (m->n_chunks - at) * sizeof(*m->chunk));
	m->chunk[at] = c;
	m->n_chunks++;
	return 0;
}

/* The second half of a full chunk becomes a chunk of its own. */
static int split_chunk(struct range_map *m, struct position *p, struct err *err)
{
	struct range_chunk *from, *to;
	int r = add_chunk(m, p->chunk + 1, err);

	if (r < 0)
		return r;
	from = m->chunk[p->chunk];
	to = m->chunk[p->chunk + 1];
	to->n = from->n / 2;
	from->n -= to->n;
	memcpy(to->range, from->range + from->n, to->n * sizeof(to->range[0]));
	if (p->at > from->n) {
		p->at -= from->n;
		p->chunk++;
	}
	return 0;
}

/* Adds a range before the one at p. */
static int insert(struct range_map *m, struct position p, const struct range *r, struct err *err)
{
	struct range_chunk *c;
	int result = 0;

	if (p.chunk == m->n_chunks && m->n_chunks) { /* after all others */
		p.chunk--;
		p.at = m->chunk[p.chunk]->n;
	}
	if (m->n_chunks == 0)
		result = add_chunk(m, 0, err);
	else if (m->chunk[p.chunk]->n == CHUNK_RANGES)
		result = split_chunk(m, &p, err);
	if (result < 0)
		return result;
	c = m->chunk[p.chunk];
	memmove(c->range + p.at + 1, c->range + p.at, (c->n - p.at) * sizeof(c->range[0]));
	c->range[p.at] = *r;
	c->n++;
	m->n++;
	return 0;
}

static void take_out(struct range_map *m, struct position p)
{
	struct range_chunk *c = m->chunk[p.chunk];

	c->n--;
	m->n--;
	memmove(c->range + p.at, c->range + p.at + 1, (c->n - p.at) * sizeof(c->range[0]));
	if (c->n)
		return;
	free(c);
	m->n_chunks--;
	memmove(m->chunk + p.chunk, m->chunk + p.chunk + 1,
		(m->n_chunks - p.chunk) * sizeof(*m->chunk));
}

int range_map_put(struct range_map *m, const struct range *r, struct err *err)
{
	struct position p = find_position(m, r->start);

	ASSERT(r->start < r->end);
	ASSERT(!range_at(m, p) || range_at(m, p)->start >= r->end);
	return insert(m, p, r, err);
}

int range_map_split(struct range_map *m, uint64_t at, struct err *err)
{
	struct range *r = range_map_next(m, at), rest;

	if (!r || r->start >= at)
		return 0;
	rest = (struct range){at, r->end, r->value};
	r->end = at;
	return insert(m, find_position(m, at), &rest, err);
}

int range_map_cut(struct range_map *m, uint64_t start, uint64_t end,
		  void (*fn)(void *user, const struct range *piece), void *user, struct err *err)
{
	int result = range_map_split(m, start, err);

	if (result >= 0)
		result = range_map_split(m, end, err);
	while (result >= 0) {
		struct position p = find_position(m, start);
		struct range *r = range_at(m, p), piece;

		if (!r || r->start >= end)
			break;
		piece = *r;
		take_out(m, p);
		if (fn)
			fn(user, &piece);
	}
	return result;
}

void range_map_each(const struct range_map *m, bool (*fn)(void *user, const struct range *r),
		    void *user)
{
	for (size_t i = 0; i < m->n_chunks; i++) {
		for (size_t k = 0; k < m->chunk[i]->n; k++) {
			if (!fn(user, &m->chunk[i]->range[k]))
				return;
		}
	}
}
