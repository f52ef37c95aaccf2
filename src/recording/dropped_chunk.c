/* recording/dropped_chunk.c - see dropped_chunk.h. */
#include "recording/dropped_chunk.h"

#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/varint.h"
#include "format/format.h"
#include "util/vec.h"

enum record_kind {
	RECORD_SUMMARY = 1,
	RECORD_NODE = 2,
	RECORD_GROUP = 3,
};

#define RECORD_MAX_FIELDS 8

/* ---- reading ---- */

static void read_summary(const uint64_t *f, const struct dropped_callbacks *c)
{
	const struct dropped_summary s = {
		.has_threshold = f[0] != 0,
		.threshold_ns = f[0] ? f[0] - 1 : 0,
		.n_allocations = f[1],
		.n_bytes = f[2],
		.n_events = f[3],
	};

	if (c->on_summary)
		c->on_summary(c->user, &s);
}

static bool read_node(const uint64_t *f, uint32_t number, const struct dropped_callbacks *c)
{
	struct dropped_node n = {.number = number, .kind = (enum dropped_node_kind)f[0]};

	if (f[0] < DROPPED_NODE_FRAME || f[0] > DROPPED_NODE_GUESS || f[1] >= number)
		return false;
	n.parent = (uint32_t)f[1];
	if (n.kind == DROPPED_NODE_FRAME) {
		n.addr = f[2];
		n.generation = (uint32_t)f[3];
	} else if (n.kind == DROPPED_NODE_END) {
		n.end = f[2] && f[2] < STACK_N_ENDS ? (uint8_t)f[2] : STACK_END_BAD_INFO;
	}
	if (c->on_node)
		c->on_node(c->user, &n);
	return true;
}

static bool read_group(const uint64_t *f, uint32_t n_nodes, const struct dropped_callbacks *c)
{
	const struct dropped_group g = {
		.node = (uint32_t)f[0],
		.n_allocations = f[1],
		.n_bytes = f[2],
		.min_bytes = f[3],
		.max_bytes = f[4],
		.first_ns = f[5],
		.last_ns = f[6],
	};

	if (f[0] > n_nodes)
		return false;
	if (c->on_group)
		c->on_group(c->user, &g);
	return true;
}

int dropped_chunk_decode(const uint8_t *data, size_t len, const struct dropped_callbacks *callbacks,
			 struct err *err)
{
	struct cursor in = cursor_make(data, len);
	uint32_t n_nodes = 0;

	while (cursor_left(&in) > 0) {
		size_t start = in.pos;
		uint64_t kind = cursor_uleb(&in);
		uint64_t n_bytes = cursor_uleb(&in);
		const uint8_t *bytes = cursor_take(&in, n_bytes);
		struct cursor c = cursor_make(bytes, bytes ? n_bytes : 0);
		uint64_t f[RECORD_MAX_FIELDS] = {0};
		bool is_good = bytes != NULL;

		for (unsigned i = 0; is_good && i < RECORD_MAX_FIELDS && cursor_left(&c) > 0; i++)
			f[i] = cursor_uleb(&c);
		is_good = is_good && !c.failed;
		if (is_good && kind == RECORD_SUMMARY)
			read_summary(f, callbacks);
		else if (is_good && kind == RECORD_NODE)
			is_good = n_nodes < UINT32_MAX && read_node(f, ++n_nodes, callbacks);
		else if (is_good && kind == RECORD_GROUP)
			is_good = read_group(f, n_nodes, callbacks);
		if (!is_good)
			return err_set(err, ERR_FORMAT, "malformed record at byte %zu", start);
	}
	return 0;
}

/* ---- writing ---- */

void dropped_writer_fini(struct dropped_writer *w)
{
	free(w->data);
	*w = (struct dropped_writer){0};
}

void dropped_writer_clear(struct dropped_writer *w)
{
	w->len = 0;
	w->n_nodes = 0;
}

static int put_record(struct dropped_writer *w, enum record_kind kind, const uint64_t *field,
		      unsigned n, struct err *err)
{
	uint8_t payload[RECORD_MAX_FIELDS * ULEB_MAX_BYTES];
	uint8_t *p = payload;
	size_t n_bytes;
	int r = vec_reserve(&w->data, &w->cap, w->len + sizeof(payload) + 4, 1, err);

	if (r < 0)
		return r;
	for (unsigned i = 0; i < n; i++)
		p = uleb_put(p, field[i]);
	n_bytes = (size_t)(p - payload);
	p = uleb_put(w->data + w->len, kind);
	p = uleb_put(p, n_bytes);
	memcpy(p, payload, n_bytes);
	w->len = (size_t)(p + n_bytes - w->data);
	return 0;
}

int dropped_writer_summary(struct dropped_writer *w, const struct dropped_summary *s,
			   struct err *err)
{
	const uint64_t field[] = {s->has_threshold ? s->threshold_ns + 1 : 0, s->n_allocations,
				  s->n_bytes, s->n_events};

	return put_record(w, RECORD_SUMMARY, field, ARRAY_LEN(field), err);
}

int dropped_writer_node(struct dropped_writer *w, struct dropped_node *n, struct err *err)
{
	const uint64_t field[] = {n->kind, n->parent,
				  n->kind == DROPPED_NODE_FRAME ? n->addr : n->end, n->generation};
	int r = put_record(w, RECORD_NODE, field, n->kind == DROPPED_NODE_FRAME ? 4 : 3, err);

	if (r == 0)
		n->number = ++w->n_nodes;
	return r;
}

int dropped_writer_group(struct dropped_writer *w, const struct dropped_group *g, struct err *err)
{
	const uint64_t field[] = {g->node,      g->n_allocations, g->n_bytes, g->min_bytes,
				  g->max_bytes, g->first_ns,      g->last_ns};

	return put_record(w, RECORD_GROUP, field, ARRAY_LEN(field), err);
}
