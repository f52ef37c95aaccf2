/* util/radix_sort.c - see radix_sort.h. */
#include "util/radix_sort.h"

#define DIGIT_BITS 11u
#define FEW_DIGIT_BITS 8u /* where the counts would take longer than the items */
#define FEW 2048u

/* The least key, and how many bits the keys have above it. */
static unsigned find_range(const struct radix_item *item, size_t n, uint64_t *least)
{
	uint64_t min = UINT64_MAX, max = 0;

	for (size_t i = 0; i < n; i++) {
		min = item[i].key < min ? item[i].key : min;
		max = item[i].key > max ? item[i].key : max;
	}
	*least = min;
	return max > min ? 64u - (unsigned)__builtin_clzll(max - min) : 0;
}

struct radix_item *radix_sort(struct radix_item *item, struct radix_item *other, size_t n)
{
	const unsigned digit_bits = n < FEW ? FEW_DIGIT_BITS : DIGIT_BITS;
	const uint64_t mask = (1u << digit_bits) - 1;
	uint64_t least;
	unsigned n_bits = find_range(item, n, &least);

	for (unsigned shift = 0; shift < n_bits; shift += digit_bits) {
		size_t start[1u << DIGIT_BITS], sum = 0;
		struct radix_item *swap = item;

		for (size_t d = 0; d <= mask; d++)
			start[d] = 0;
		for (size_t i = 0; i < n; i++)
			start[(item[i].key - least) >> shift & mask]++;
		for (size_t d = 0; d <= mask; d++) {
			size_t here = start[d];

			start[d] = sum;
			sum += here;
		}
		for (size_t i = 0; i < n; i++)
			other[start[(item[i].key - least) >> shift & mask]++] = item[i];
		item = other;
		other = swap;
	}
	return item;
}
