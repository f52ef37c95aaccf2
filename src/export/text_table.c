/* export/text_table.c - see text_table.h. */
#include "export/text_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "util/vec.h"

static uint64_t hash_text(const char *text)
{
	uint64_t h = 0x9e3779b97f4a7c15ull;
	size_t len = strlen(text);
	uint64_t word;

	for (; len >= sizeof(word); text += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, text, sizeof(word));
		h = hash_pair64(h, word);
	}
	word = 0;
	memcpy(&word, text, len);
	return hash_pair64(h, word ^ (uint64_t)len << 56);
}

/* The slot that holds the text, or the empty one where it belongs. */
static uint32_t *find_slot(const struct text_table *t, const char *text)
{
	size_t i = (size_t)hash_text(text) & (t->n_slots - 1);

	while (t->slot[i] && strcmp(t->text[t->slot[i] - 1], text) != 0)
		i = (i + 1) & (t->n_slots - 1);
	return &t->slot[i];
}

static int grow(struct text_table *t, struct err *err)
{
	struct text_table bigger = *t;

	bigger.n_slots = t->n_slots ? 2 * t->n_slots : 1024;
	bigger.slot = calloc(bigger.n_slots, sizeof(*bigger.slot));
	if (!bigger.slot)
		return err_set_memory(err, bigger.n_slots * sizeof(*bigger.slot));
	for (size_t i = 0; i < t->n; i++)
		*find_slot(&bigger, t->text[i]) = (uint32_t)(i + 1);
	free(t->slot);
	*t = bigger;
	return 0;
}

void text_table_fini(struct text_table *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->text[i]);
	free(t->slot);
	free(t->text);
	*t = (struct text_table){0};
}

int text_table_add(struct text_table *t, const char *text, uint32_t *ret, bool *is_new,
		   struct err *err)
{
	uint32_t *slot;
	int r;

	if (4 * (t->n + 1) > 3 * t->n_slots) {
		r = grow(t, err);
		if (r < 0)
			return r;
	}
	slot = find_slot(t, text);
	if (is_new)
		*is_new = *slot == 0;
	if (*slot == 0) {
		if (t->n >= UINT32_MAX - 1)
			return err_set(err, ERR_LIMIT, "more than %u different texts", UINT32_MAX);
		r = vec_reserve(&t->text, &t->cap, t->n + 1, sizeof(*t->text), err);
		if (r < 0)
			return r;
		t->text[t->n] = strdup(text);
		if (!t->text[t->n])
			return err_set_memory(err, strlen(text));
		t->n++;
		*slot = (uint32_t)t->n;
	}
	*ret = *slot - 1;
	return 0;
}
