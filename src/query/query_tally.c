/* query/query_tally.c - see query_tally.h. */
#include "query/query_tally.h"

#include <stdlib.h>

#include "util/vec.h"

int query_tally_init(struct query_tally *t, size_t n_keys, struct err *err)
{
	*t = (struct query_tally){.slot = calloc(n_keys + 1, sizeof(*t->slot))};
	return t->slot ? 0 : err_set_memory(err, n_keys * sizeof(*t->slot));
}

void query_tally_fini(struct query_tally *t)
{
	free(t->slot);
	free(t->item);
	*t = (struct query_tally){0};
}

int query_tally_add(struct query_tally *t, uint32_t key, const struct query_walk_stack *s,
		    uint32_t frame, struct err *err)
{
	struct query_tally_slot *slot = &t->slot[key];

	if (slot->last == s->number)
		return 0;
	slot->last = s->number;
	if (!slot->index) {
		int r = vec_reserve(&t->item, &t->capacity, t->n + 1, sizeof(*t->item), err);

		if (r < 0)
			return r;
		t->item[t->n] = (struct query_tally_item){.key = key, .frame = frame};
		slot->index = (uint32_t)++t->n;
	}
	group_add(&t->item[slot->index - 1].cost, s->cost);
	return 0;
}

void query_tally_add_self(struct query_tally *t, uint32_t key, const struct query_walk_stack *s)
{
	struct query_tally_item *item = &t->item[t->slot[key].index - 1];

	query_main_add(item->self, s->cost);
}
