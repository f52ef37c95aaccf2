/* serve/v1_allocators.c - /api/v1/{id}/allocator_samples: what allocators said of themselves. */
#include "serve/handlers.h"
#include "serve/request.h"

static void put_bytes(struct json *j, const char *name, uint64_t n_bytes)
{
	if (n_bytes == UINT64_MAX)
		json_null(j, name); /* the allocator does not say */
	else
		json_u64(j, name, n_bytes);
}

int v1_allocator_samples(struct request *rq, struct err *err)
{
	struct json *j = &rq->json;
	size_t n;
	const struct store_allocator_sample *s =
		store_table(rq->store, STORE_ALLOCATOR_SAMPLES, &n);

	(void)err;
	json_object(j, NULL);
	json_array(j, "samples");
	for (size_t i = 0; i < n; i++) {
		uint64_t flags = (uint64_t)s[i].number << STORE_ALLOCATOR_SHIFT;

		json_object(j, NULL);
		json_u64(j, "at_ns", s[i].at_ns);
		json_u64(j, "number", s[i].number);
		json_text(j, "allocator", store_allocator_name(rq->store, flags));
		put_bytes(j, "allocated", s[i].allocated_bytes);
		put_bytes(j, "active", s[i].active_bytes);
		put_bytes(j, "metadata", s[i].metadata_bytes);
		put_bytes(j, "resident", s[i].resident_bytes);
		put_bytes(j, "mapped", s[i].mapped_bytes);
		put_bytes(j, "retained", s[i].retained_bytes);
		json_end_object(j);
	}
	json_end_array(j);
	json_end_object(j);
	return 0;
}
