/* util/big_vec.c - see big_vec.h. */
#include "util/big_vec.h"

#include <string.h>
#include <sys/mman.h>

#include "util/huge_pages.h"

#define FIRST_ELEMS 256u

int big_vec_reserve(void *array, size_t *capacity, size_t n, size_t elem_bytes, struct err *err)
{
	size_t cap = *capacity ? *capacity : FIRST_ELEMS, n_bytes;
	void *old, *bigger;

	if (n <= *capacity)
		return 0;
	while (cap < n && cap < SIZE_MAX / 4)
		cap *= 2;
	if (cap < n || __builtin_mul_overflow(cap, elem_bytes, &n_bytes))
		return err_set_memory(err, SIZE_MAX);
	memcpy(&old, array, sizeof(old));
	if (*capacity)
		bigger = mremap(old, *capacity * elem_bytes, n_bytes, MREMAP_MAYMOVE);
	else
		bigger = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			      -1, 0);
	if (bigger == MAP_FAILED)
		return err_set_memory(err, n_bytes);
	huge_pages_advise(bigger, n_bytes);
	memcpy(array, &bigger, sizeof(bigger));
	*capacity = cap;
	return 0;
}

void big_vec_free(void *array, size_t capacity, size_t elem_bytes)
{
	if (array)
		munmap(array, capacity * elem_bytes);
}
