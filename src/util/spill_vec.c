/* util/spill_vec.c - see spill_vec.h. */
#include "util/spill_vec.h"

#include <string.h>

#include "util/huge_pages.h"
#include "util/temp_file.h"

#define FIRST_ELEMS 256u

int spill_vec_reserve(struct spill_vec *v, void *array, size_t n, size_t elem_bytes,
		      struct err *err)
{
	size_t cap = v->cap ? v->cap : FIRST_ELEMS, n_bytes;
	void *data;
	int r = 0;

	if (n <= v->cap)
		return 0;
	/* less in a file: what is reserved there takes space on the disk */
	while (cap < n && cap < SIZE_MAX / 4)
		cap += v->memory && spill_is_file(v->memory) ? cap / 4 : cap;
	if (cap < n || __builtin_mul_overflow(cap, elem_bytes, &n_bytes))
		return err_set_memory(err, SIZE_MAX);
	if (!v->memory)
		r = spill_create(v->folder ? v->folder : temp_file_folder(), v->budget_bytes,
				 &v->memory, err);
	if (r == 0)
		r = spill_resize(v->memory, n_bytes, err);
	if (r < 0)
		return r;
	data = spill_data(v->memory);
	if (!spill_is_file(v->memory))
		huge_pages_advise(data, n_bytes);
	memcpy(array, &data, sizeof(data));
	v->cap = cap;
	return 0;
}

void spill_vec_fini(struct spill_vec *v)
{
	spill_destroy(v->memory);
	*v = (struct spill_vec){0};
}

void spill_vec_trim(const struct spill_vec *v)
{
	if (v->memory)
		spill_trim(v->memory);
}
