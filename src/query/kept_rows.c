/* query/kept_rows.c - see kept_rows.h. */
#include "query/kept_rows.h"

#include <stdlib.h>

#include "util/vec.h"

int kept_rows_add(struct kept_rows *k, struct scanner *s, struct err *err)
{
	const uint64_t *alloc = scanner_column(s, STORE_ALLOC_NS);
	const uint64_t *life = scanner_column(s, STORE_LIFETIME_NS);
	const uint64_t *size = scanner_column(s, STORE_SIZE_BYTES);
	int r;

	if (k->n + s->n_selected > kept_rows_max())
		return err_set(err, ERR_FORMAT, "damaged store: more allocations than stacks have");
	r = vec_reserve(&k->row, &k->cap, k->n + s->n_selected, sizeof(*k->row), err);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < s->n_selected; i++) {
		uint32_t at = s->selected[i];

		k->row[k->n++] =
			(struct kept_row){alloc[at], row_free_ns(alloc[at], life[at]), size[at]};
	}
	return 0;
}

void kept_rows_fini(struct kept_rows *k)
{
	free(k->row);
	*k = (struct kept_rows){0};
}
