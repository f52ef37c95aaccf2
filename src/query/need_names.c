/* query/need_names.c - query_need_names() of query_i.h: names that queries share, or a query's own. */
#include "query/query_i.h"
#include "query/shared_results.h"

/* Names are looked up by one thread at a time: the others would only wait with their turns. */
static int need_frames(const struct query *q, struct err *err)
{
	int r;

	if (frames_has_all(q->c.frames))
		return 0;
	query_give_turn(q);
	r = frames_need_all(q->c.frames, err);
	query_take_turn(q);
	return r;
}

int query_need_names(struct query *q, struct err *err)
{
	int r = q->names ? 0 : need_frames(q, err);

	if (r < 0 || q->names)
		return r;
	if (q->c.shared && !q->c.rules->own) {
		r = shared_results_names(q->c.shared, q, &q->names, err);
		q->has_shared_names = q->names != NULL;
	}
	if (r < 0 || q->names)
		return r;
	return query_names_create(q->c.store, q->c.frames, &q->names, err);
}
