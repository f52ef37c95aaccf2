/* open/symbol_table.c - see symbol_table.h. */
#include "open/symbol_table.h"

#include <stdlib.h>
#include <string.h>

#include "recording/chunk_unpack.h"
#include "recording/chunk_walk.h"
#include "util/vec.h"

struct table_entry {
	uint64_t module_id;
	uint64_t offset;
	size_t first_frame;
	uint32_t n_frames;
	uint32_t order; /* of entries for one location the first counts */
};

struct symbol_table {
	struct recording *rec; /* while loading */
	uint8_t **payload; /* hold the texts */
	size_t n_payloads, cap_payloads;
	struct table_entry *entry;
	size_t n_entries, cap_entries;
	struct symbol_frame *frame;
	size_t n_frames, cap_frames;
};

static int add_entry(void *user, const struct symbols_location *p, struct err *err)
{
	struct symbol_table *t = user;
	int r = vec_reserve(&t->entry, &t->cap_entries, t->n_entries + 1, sizeof(*t->entry), err);

	if (r == 0)
		r = vec_reserve(&t->frame, &t->cap_frames, t->n_frames + p->n_frames,
				sizeof(*t->frame), err);
	if (r < 0)
		return r;
	t->entry[t->n_entries] = (struct table_entry){
		.module_id = p->module_id,
		.offset = p->offset,
		.first_frame = t->n_frames,
		.n_frames = (uint32_t)p->n_frames,
		.order = (uint32_t)t->n_entries,
	};
	t->n_entries++;
	if (p->n_frames)
		memcpy(t->frame + t->n_frames, p->frame, p->n_frames * sizeof(*p->frame));
	t->n_frames += p->n_frames;
	return 0;
}

static int on_chunk(void *user, const struct chunk_header *h, const uint8_t *payload,
		    struct err *err)
{
	struct symbol_table *t = user;
	struct chunk_unpacked u = {0};
	uint8_t *copy;
	int r;

	if (h->type != CHUNK_SYMBOLS)
		return 0;
	r = vec_reserve(&t->payload, &t->cap_payloads, t->n_payloads + 1, sizeof(*t->payload), err);
	if (r == 0)
		r = chunk_unpack(h, payload, 0, &u, err);
	if (r == 0) {
		copy = u.buf ? u.buf : malloc(u.len + 1);
		if (!copy)
			return err_set_memory(err, u.len + 1);
		if (!u.buf)
			memcpy(copy, u.data, u.len);
		t->payload[t->n_payloads++] = copy;
		r = symbols_chunk_decode(copy, u.len, add_entry, t, err);
	}
	if (r != -ERR_FORMAT)
		return r;
	damage_add(&t->rec->damage, 0, h->stored_bytes, "SYMBOLS chunk: malformed");
	return 0;
}

static int compare_entries(const void *a, const void *b)
{
	const struct table_entry *x = a, *y = b;

	if (x->module_id != y->module_id)
		return x->module_id < y->module_id ? -1 : 1;
	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

int symbol_table_load(struct recording *r, struct symbol_table **ret, struct err *err)
{
	struct symbol_table *t = calloc(1, sizeof(*t));
	int n = 0;

	if (!t)
		return err_set_memory(err, sizeof(*t));
	t->rec = r;
	if (r->metadata.n_symbols > 0)
		n = chunk_walk(r, on_chunk, t, err);
	if (n < 0) {
		symbol_table_destroy(t);
		return n;
	}
	if (t->n_entries)
		qsort(t->entry, t->n_entries, sizeof(*t->entry), compare_entries);
	*ret = t;
	return 0;
}

void symbol_table_destroy(struct symbol_table *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->n_payloads; i++)
		free(t->payload[i]);
	free(t->payload);
	free(t->entry);
	free(t->frame);
	free(t);
}

bool symbol_table_find(const struct symbol_table *t, uint64_t module_id, uint64_t offset,
		       const struct symbol_frame **ret, size_t *n_frames)
{
	const struct table_entry key = {.module_id = module_id, .offset = offset};
	size_t low = 0, high = t->n_entries;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_entries(&t->entry[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == t->n_entries || t->entry[low].module_id != module_id ||
	    t->entry[low].offset != offset)
		return false;
	*ret = t->frame ? t->frame + t->entry[low].first_frame : NULL;
	*n_frames = t->entry[low].n_frames;
	return true;
}
