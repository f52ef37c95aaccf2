/* util/vec.c - see vec.h. */
#include "util/vec.h"

#include <stdlib.h>
#include <string.h>

#include "util/huge_pages.h"

int vec_reserve(void *array, size_t *capacity, size_t n, size_t elem_bytes, struct err *err)
{
	size_t want = *capacity ? *capacity : 16;
	void *data;

	if (n <= *capacity)
		return 0;
	while (want < n)
		want += want / 2;
	if (want > PTRDIFF_MAX / elem_bytes)
		return err_set(err, ERR_LIMIT, "%zu elements of %zu bytes are too many", n,
			       elem_bytes);
	memcpy(&data, array, sizeof(data)); /* array is a T **; all pointers look the same here */
	data = realloc(data, want * elem_bytes);
	if (!data)
		return err_set_memory(err, want * elem_bytes);
	huge_pages_advise(data, want * elem_bytes);
	memcpy(array, &data, sizeof(data));
	*capacity = want;
	return 0;
}
