/* serve/name_table.c - see name_table.h. */
#include "serve/name_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "util/vec.h"

void name_table_fini(struct name_table *t)
{
	free(t->frame);
	free(t->slot);
	*t = (struct name_table){0};
}

static uint64_t hash_text(uint64_t h, const char *text)
{
	if (!text)
		return hash_pair64(h, 1);
	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 0x100000001b3u;
	return hash_mix64(h);
}

static uint64_t hash_frame(const struct name_table *t, const struct frame *f)
{
	uint64_t h = hash_text(7, f->function);

	if (!f->function)
		h = hash_pair64(h, f->addr);
	if (t->has_lines)
		h = hash_pair64(h, f->line);
	return hash_text(hash_text(h, f->source), f->module);
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_name(const struct name_table *t, const struct frame *a, const struct frame *b)
{
	return same_text(a->function, b->function) && (a->function || a->addr == b->addr) &&
	       (!t->has_lines || a->line == b->line) && same_text(a->source, b->source) &&
	       same_text(a->module, b->module);
}

static void put_slot(struct name_table *t, uint32_t number)
{
	size_t i = hash_frame(t, t->frame[number]) & (t->n_slots - 1);

	while (t->slot[i])
		i = (i + 1) & (t->n_slots - 1);
	t->slot[i] = number + 1;
}

static int grow(struct name_table *t, struct err *err)
{
	size_t n_slots = t->n_slots ? 2 * t->n_slots : 256;
	uint32_t *slot = calloc(n_slots, sizeof(*slot));

	if (!slot)
		return err_set_memory(err, n_slots * sizeof(*slot));
	free(t->slot);
	t->slot = slot;
	t->n_slots = n_slots;
	for (size_t i = 0; i < t->n; i++)
		put_slot(t, (uint32_t)i);
	return 0;
}

int name_table_add(struct name_table *t, const struct frame *f, uint32_t *ret, struct err *err)
{
	size_t i;
	int r = 0;

	if (2 * t->n >= t->n_slots)
		r = grow(t, err);
	if (r == 0)
		r = vec_reserve(&t->frame, &t->cap, t->n + 1, sizeof(*t->frame), err);
	if (r < 0)
		return r;
	for (i = hash_frame(t, f) & (t->n_slots - 1); t->slot[i]; i = (i + 1) & (t->n_slots - 1)) {
		if (same_name(t, t->frame[t->slot[i] - 1], f)) {
			*ret = t->slot[i] - 1;
			return 0;
		}
	}
	t->frame[t->n] = f;
	t->slot[i] = (uint32_t)t->n + 1;
	*ret = (uint32_t)t->n++;
	return 0;
}
