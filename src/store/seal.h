/* store/seal.h - checksums of the files of this folder.
 *
 * Against damage and half-written files, not against somebody who wants to deceive: what is read
 * is checked as if there were no checksum. Some GB per second.
 */
#ifndef STORE_SEAL_H
#define STORE_SEAL_H

#include "base/compiler.h"

struct seal {
	uint64_t lane[4];
	uint64_t n_bytes;
};

void seal_init(struct seal *s);

/* Adds bytes. len is a multiple of 32 for all calls but the last. */
void seal_add(struct seal *s, const void *bytes, size_t len);

uint64_t seal_sum(const struct seal *s);

/* All in one. */
uint64_t seal_of(const void *bytes, size_t len);

#endif
