/* base/blake2b.c - see blake2b.h. */
#include "base/blake2b.h"

#include <string.h>

#include "base/bits.h"
#include "base/bytes.h"

#define BLOCK_BYTES 128
#define ROUNDS 12

static const uint64_t initial[8] = {
	0x6a09e667f3bcc908ull, 0xbb67ae8584caa73bull, 0x3c6ef372fe94f82bull, 0xa54ff53a5f1d36f1ull,
	0x510e527fade682d1ull, 0x9b05688c2b3e6c1full, 0x1f83d9abfb41bd6bull, 0x5be0cd19137e2179ull,
};

/* The last two rounds use the first two rows again. */
static const uint8_t sigma[10][16] = {
	{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
	{14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
	{11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
	{7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
	{9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
	{2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
	{12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
	{13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
	{6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
	{10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
};

/* step 0: column i of the state; step 1: diagonal i. */
static inline void mix(uint64_t *v, unsigned i, unsigned step, uint64_t x, uint64_t y)
{
	unsigned a = i, b = 4 + (i + step) % 4, c = 8 + (i + 2 * step) % 4;
	unsigned d = 12 + (i + 3 * step) % 4;

	v[a] += v[b] + x;
	v[d] = rotate_right64(v[d] ^ v[a], 32);
	v[c] += v[d];
	v[b] = rotate_right64(v[b] ^ v[c], 24);
	v[a] += v[b] + y;
	v[d] = rotate_right64(v[d] ^ v[a], 16);
	v[c] += v[d];
	v[b] = rotate_right64(v[b] ^ v[c], 63);
}

static void compress(struct blake2b *b, const uint8_t *block, bool is_last)
{
	uint64_t v[16], m[16];

	memcpy(v, b->h, sizeof(b->h));
	memcpy(v + 8, initial, sizeof(initial));
	v[12] ^= b->n_bytes; /* fewer than 2^64 bytes are hashed: v[13] stays */
	if (is_last)
		v[14] = ~v[14];
	for (unsigned i = 0; i < 16; i++)
		m[i] = load_le64(block + 8 * i);
	for (unsigned round = 0; round < ROUNDS; round++) {
		const uint8_t *s = sigma[round % 10];

#pragma GCC unroll 8
		for (unsigned i = 0; i < 8; i++)
			mix(v, i % 4, i / 4, m[s[2 * i]], m[s[2 * i + 1]]);
	}
	for (unsigned i = 0; i < 8; i++)
		b->h[i] ^= v[i] ^ v[i + 8];
}

void blake2b_init(struct blake2b *b, size_t hash_bytes, const void *key, size_t key_bytes)
{
	ASSERT(hash_bytes >= 1 && hash_bytes <= BLAKE2B_MAX_HASH_BYTES);
	ASSERT(key_bytes <= BLAKE2B_MAX_KEY_BYTES);
	memset(b, 0, sizeof(*b));
	memcpy(b->h, initial, sizeof(initial));
	b->h[0] ^= 0x01010000 ^ key_bytes << 8 ^ hash_bytes;
	b->hash_bytes = hash_bytes;
	if (key_bytes) { /* the key is the first block */
		memcpy(b->buf, key, key_bytes);
		b->n_buf = BLOCK_BYTES;
	}
}

void blake2b_add(struct blake2b *b, const void *data, size_t len)
{
	const uint8_t *p = data;

	while (len > 0) {
		size_t n = BLOCK_BYTES - b->n_buf;

		if (n == 0) { /* more is to come, so this block is not the last one */
			b->n_bytes += BLOCK_BYTES;
			compress(b, b->buf, false);
			b->n_buf = 0;
			for (; len > BLOCK_BYTES; p += BLOCK_BYTES, len -= BLOCK_BYTES) {
				b->n_bytes += BLOCK_BYTES;
				compress(b, p, false);
			}
			n = BLOCK_BYTES;
		}
		if (n > len)
			n = len;
		memcpy(b->buf + b->n_buf, p, n);
		b->n_buf += n;
		p += n;
		len -= n;
	}
}

void blake2b_finish(struct blake2b *b, uint8_t *hash)
{
	uint8_t all[BLAKE2B_MAX_HASH_BYTES];

	b->n_bytes += b->n_buf;
	memset(b->buf + b->n_buf, 0, BLOCK_BYTES - b->n_buf);
	compress(b, b->buf, true);
	for (unsigned i = 0; i < 8; i++)
		store_le64(all + 8 * i, b->h[i]);
	memcpy(hash, all, b->hash_bytes);
}

bool blake2b_is_same(const uint8_t *a, const uint8_t *b, size_t len)
{
	volatile uint8_t difference = 0;

	for (size_t i = 0; i < len; i++)
		difference = (uint8_t)(difference | (a[i] ^ b[i]));
	return difference == 0;
}
