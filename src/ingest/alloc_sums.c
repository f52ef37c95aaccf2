/* ingest/alloc_sums.c - see alloc_sums.h. */
#include "ingest/alloc_sums.h"

#include "util/big_vec.h"

int alloc_sums_reserve(struct alloc_sums *b, size_t n, struct err *err)
{
	return big_vec_reserve(&b->of, &b->cap, n, sizeof(*b->of), err);
}

void alloc_sums_fini(struct alloc_sums *b)
{
	big_vec_free(b->of, b->cap, sizeof(*b->of));
	*b = (struct alloc_sums){0};
}
