/* store/seal.c - see seal.h. */
#include "store/seal.h"

#include <string.h>

#include "base/hash.h"

#define N_LANES 4u /* independent, so that the multiplications overlap */
#define STEP_BYTES (N_LANES * 8)

void seal_init(struct seal *s)
{
	*s = (struct seal){{1, 2, 3, 4}, 0};
}

static void add_step(uint64_t lane[N_LANES], const uint8_t *p)
{
	for (unsigned i = 0; i < N_LANES; i++) {
		uint64_t word;

		memcpy(&word, p + 8 * (size_t)i, sizeof(word));
		lane[i] = (lane[i] ^ word) * 0x9e3779b97f4a7c15ull;
		lane[i] ^= lane[i] >> 29;
	}
}

void seal_add(struct seal *s, const void *bytes, size_t len)
{
	const uint8_t *p = bytes;
	uint8_t last[STEP_BYTES] = {0};

	ASSERT(s->n_bytes % STEP_BYTES == 0);
	s->n_bytes += len;
	for (; len >= STEP_BYTES; p += STEP_BYTES, len -= STEP_BYTES)
		add_step(s->lane, p);
	if (len > 0) {
		memcpy(last, p, len);
		add_step(s->lane, last);
	}
}

uint64_t seal_sum(const struct seal *s)
{
	uint64_t sum = s->n_bytes;

	for (unsigned i = 0; i < N_LANES; i++)
		sum = hash_pair64(sum, s->lane[i]);
	return sum;
}

uint64_t seal_of(const void *bytes, size_t len)
{
	struct seal s;

	seal_init(&s);
	seal_add(&s, bytes, len);
	return seal_sum(&s);
}
