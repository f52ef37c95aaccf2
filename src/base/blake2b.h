/* base/blake2b.h - the hash function BLAKE2b (RFC 7693), plain and with a key.
 *
 * With a key the hash is a message authentication code: nobody who lacks the key can make the hash
 * of a message. Works on the caller's memory and calls nothing of libc that the recorder may not
 * call. Threads: one per struct.
 */
#ifndef BASE_BLAKE2B_H
#define BASE_BLAKE2B_H

#include "base/compiler.h"

#define BLAKE2B_MAX_KEY_BYTES 64
#define BLAKE2B_MAX_HASH_BYTES 64

struct blake2b {
	uint64_t h[8];
	uint64_t n_bytes; /* hashed so far, without those in buf */
	uint8_t buf[128];
	size_t n_buf;
	size_t hash_bytes;
};

/* Begins a hash of hash_bytes (1 to 64). key_bytes 0: without a key. */
void blake2b_init(struct blake2b *b, size_t hash_bytes, const void *key, size_t key_bytes);
void blake2b_add(struct blake2b *b, const void *data, size_t len);
void blake2b_finish(struct blake2b *b, uint8_t *hash);

/* Compares without telling by its time where the difference is. */
bool blake2b_is_same(const uint8_t *a, const uint8_t *b, size_t len);

#endif
