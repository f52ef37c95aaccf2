/* store/checksum64.c - see checksum64.h. */
#include "store/checksum64.h"

#include <string.h>

#include "base/hash.h"

#define N_STRIPES 4u /* independent, so that the multiplications overlap */
#define STEP_BYTES (N_STRIPES * 8)

void checksum64_init(struct checksum64 *s)
{
	*s = (struct checksum64){{1, 2, 3, 4}, 0};
}

static void add_step(uint64_t stripe[N_STRIPES], const uint8_t *p)
{
	for (unsigned i = 0; i < N_STRIPES; i++) {
		uint64_t word;

		memcpy(&word, p + 8 * (size_t)i, sizeof(word));
		stripe[i] = (stripe[i] ^ word) * 0x9e3779b97f4a7c15ull;
		stripe[i] ^= stripe[i] >> 29;
	}
}

void checksum64_add(struct checksum64 *s, const void *bytes, size_t len)
{
	const uint8_t *p = bytes;
	uint8_t last[STEP_BYTES] = {0};

	ASSERT(s->n_bytes % STEP_BYTES == 0);
	s->n_bytes += len;
	for (; len >= STEP_BYTES; p += STEP_BYTES, len -= STEP_BYTES)
		add_step(s->stripe, p);
	if (len > 0) {
		memcpy(last, p, len);
		add_step(s->stripe, last);
	}
}

uint64_t checksum64_sum(const struct checksum64 *s)
{
	uint64_t sum = s->n_bytes;

	for (unsigned i = 0; i < N_STRIPES; i++)
		sum = hash_pair64(sum, s->stripe[i]);
	return sum;
}

uint64_t checksum64_of(const void *bytes, size_t len)
{
	struct checksum64 s;

	checksum64_init(&s);
	checksum64_add(&s, bytes, len);
	return checksum64_sum(&s);
}
