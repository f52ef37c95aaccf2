/* ingest/births.c - see births.h. */
#include "ingest/births.h"

#include "util/big_vec.h"

int births_reserve(struct births *b, size_t n, struct err *err)
{
	return big_vec_reserve(&b->of, &b->cap, n, sizeof(*b->of), err);
}

void births_fini(struct births *b)
{
	big_vec_free(b->of, b->cap, sizeof(*b->of));
	*b = (struct births){0};
}
