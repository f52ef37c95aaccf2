/* serve/v1_stack.c - /api/v1: one stack, frame by frame. */
#include "serve/handlers.h"
#include "serve/v1_json.h"

#include "query/filter_value.h"

struct frame_list {
	struct request *rq;
	const struct frame *blame;
	uint64_t n, blame_at; /* index of the frame to blame */
};

static bool put_frame(void *user, const struct frame *f)
{
	struct frame_list *l = user;

	v1_json_frame_text(l->rq, NULL, f);
	if (f == l->blame)
		l->blame_at = l->n;
	l->n++;
	return true;
}

int v1_stack(struct request *rq, struct err *err)
{
	const struct store_node *node;
	struct frame_list list = {.rq = rq};
	struct json *j = &rq->json;
	uint64_t stack;
	char valid[64];
	int r;

	if (!filter_value_count(rq->value[1], &stack) || !request_has_stack(rq, stack)) {
		snprintf(valid, sizeof(valid), "a number from 0 to %zu",
			 store_n_stacks(rq->store) - 1);
		request_refuse(rq, 404, "n", rq->value[1], valid);
		return err_set(err, ERR_USAGE, "there is no stack '%.100s'", rq->value[1]);
	}
	list.blame = v1_json_blame(rq, (uint32_t)stack, err);
	node = store_node(rq->store, store_stack(rq->store, (uint32_t)stack)->node);
	json_object(j, NULL);
	json_u64(j, "stack", stack);
	json_array(j, "frames");
	r = frames_each(rq->frames, (uint32_t)stack, put_frame, &list, err);
	json_end_array(j);
	if (list.blame)
		json_u64(j, "blame", list.blame_at);
	else
		json_null(j, "blame");
	json_text(j, "truncated", store_end_reason(node->end));
	json_bool(j, "is_guessed", node->has_guess);
	json_end_object(j);
	return r;
}
