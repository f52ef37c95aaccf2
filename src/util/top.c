/* util/top.c - see top.h. */
#include "util/top.h"

#include <stdlib.h>
#include <string.h>

#include "util/vec.h"

void top_fini(struct top *t)
{
	free(t->item);
	t->item = NULL;
	t->n = t->cap = 0;
}

void top_finish(struct top *t)
{
	if (t->n)
		qsort_r(t->item, t->n, t->item_bytes, t->compare, t->user);
	if (t->n > t->max)
		t->n = t->max;
	t->is_cut = t->n == t->max;
}

int top_add(struct top *t, const void *item, struct err *err)
{
	size_t room = t->max > TOP_LEAST ? 2 * t->max : 2 * TOP_LEAST;
	int r;

	if (t->max == 0)
		return 0;
	if (t->is_cut &&
	    t->compare(item, (char *)t->item + (t->max - 1) * t->item_bytes, t->user) > 0)
		return 0;
	if (t->n == room)
		top_finish(t);
	r = vec_reserve(&t->item, &t->cap, t->n + 1, t->item_bytes, err);
	if (r < 0)
		return r;
	memcpy((char *)t->item + t->n++ * t->item_bytes, item, t->item_bytes);
	return 0;
}
