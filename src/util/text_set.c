/* util/text_set.c - see text_set.h. Open addressing over the numbers of the texts. */
#include "util/text_set.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "util/vec.h"

#define FIRST_SLOTS 256u
#define EMPTY UINT32_MAX

struct text_item {
	const char *text;
	uint64_t hash;
};

struct text_set {
	struct text_item *item;
	size_t n, cap;
	uint32_t *slot; /* number of the text, or EMPTY */
	size_t n_slots; /* a power of two, at least 4/3 of n */
	bool copies;
};

static uint32_t *find_slot(const struct text_set *s, const char *text, uint64_t hash)
{
	size_t i = (size_t)hash & (s->n_slots - 1);

	while (s->slot[i] != EMPTY) {
		const struct text_item *item = &s->item[s->slot[i]];

		if (item->hash == hash && strcmp(item->text, text) == 0)
			break;
		i = (i + 1) & (s->n_slots - 1);
	}
	return &s->slot[i];
}

static int grow(struct text_set *s, struct err *err)
{
	size_t n_slots = s->n_slots ? s->n_slots * 2 : FIRST_SLOTS;
	uint32_t *slot = malloc(n_slots * sizeof(*slot));

	if (!slot)
		return err_set_memory(err, n_slots * sizeof(*slot));
	memset(slot, 0xff, n_slots * sizeof(*slot)); /* EMPTY */
	free(s->slot);
	s->slot = slot;
	s->n_slots = n_slots;
	for (size_t i = 0; i < s->n; i++) {
		size_t at = (size_t)s->item[i].hash & (n_slots - 1);

		while (slot[at] != EMPTY)
			at = (at + 1) & (n_slots - 1);
		slot[at] = (uint32_t)i;
	}
	return 0;
}

int text_set_create(bool copies, struct text_set **ret, struct err *err)
{
	struct text_set *s = calloc(1, sizeof(*s));
	uint32_t empty;
	int r;

	if (!s)
		return err_set_memory(err, sizeof(*s));
	s->copies = copies;
	r = text_set_add(s, "", &empty, err);
	if (r < 0) {
		text_set_destroy(s);
		return r;
	}
	*ret = s;
	return 0;
}

void text_set_destroy(struct text_set *s)
{
	if (!s)
		return;
	for (size_t i = 0; s->copies && i < s->n; i++)
		free((char *)(uintptr_t)s->item[i].text);
	free(s->item);
	free(s->slot);
	free(s);
}

int text_set_add(struct text_set *s, const char *text, uint32_t *ret, struct err *err)
{
	size_t len = strlen(text);
	uint64_t hash = hash_bytes(text, len);
	uint32_t *slot;
	int r = 0;

	if (s->n + 1 > s->n_slots / 4 * 3)
		r = grow(s, err);
	if (r < 0)
		return r;
	slot = find_slot(s, text, hash);
	if (*slot == EMPTY) {
		if (s->n >= UINT32_MAX - 1)
			return err_set(err, ERR_LIMIT, "more than %zu different names", s->n);
		r = vec_reserve(&s->item, &s->cap, s->n + 1, sizeof(*s->item), err);
		if (r < 0)
			return r;
		if (s->copies) {
			text = strdup(text);
			if (!text)
				return err_set_memory(err, len + 1);
		}
		s->item[s->n] = (struct text_item){text, hash};
		*slot = (uint32_t)s->n++;
	}
	*ret = *slot;
	return 0;
}

const char *text_set_get(const struct text_set *s, uint32_t number)
{
	ASSERT(number < s->n);
	return s->item[number].text;
}

size_t text_set_count(const struct text_set *s)
{
	return s->n;
}
