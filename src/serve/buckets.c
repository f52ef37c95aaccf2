/* serve/buckets.c - see buckets.h. */
#include "serve/buckets.h"

#include <stdlib.h>
#include <string.h>

int buckets_join(const struct store *s, size_t max, struct buckets *ret, struct err *err)
{
	size_t n;
	const struct store_bucket *b = store_table(s, STORE_BUCKETS, &n);
	size_t n_each = n / max + (n % max != 0);

	*ret = (struct buckets){0};
	if (n == 0)
		return 0;
	ret->n = n / n_each + (n % n_each != 0);
	ret->width_ns = store_facts(s)->bucket_ns * n_each;
	ret->bucket = calloc(ret->n, sizeof(*ret->bucket));
	if (!ret->bucket)
		return err_set_memory(err, ret->n * sizeof(*ret->bucket));
	for (size_t i = 0; i < n; i++)
		store_bucket_append(&ret->bucket[i / n_each], &b[i]);
	return 0;
}

void buckets_fini(struct buckets *b)
{
	free(b->bucket);
	*b = (struct buckets){0};
}

static bool is_in(const char *list, const char *name)
{
	size_t len = strlen(name);

	while (*list) {
		size_t n = strcspn(list, "|");

		if (n == len && memcmp(list, name, n) == 0)
			return true;
		list += n + (list[n] == '|');
	}
	return false;
}

bool buckets_fit(const struct request *rq, const char *besides)
{
	for (size_t i = 0; i < rq->url.n_pairs; i++) {
		if (!is_in(besides, rq->url.pair[i].name))
			return false;
	}
	return true;
}
