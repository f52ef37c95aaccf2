/* store/checksum64.h - checksums of the files of this folder.
 *
 * Against damage and half-written files, not against somebody who wants to deceive: what is read
 * is checked as if there were no checksum. Some GB per second.
 */
#ifndef STORE_CHECKSUM64_H
#define STORE_CHECKSUM64_H

#include "base/compiler.h"

struct checksum64 {
	uint64_t lane[4];
	uint64_t n_bytes;
};

void checksum64_init(struct checksum64 *s);

/* Adds bytes. len is a multiple of 32 for all calls but the last. */
void checksum64_add(struct checksum64 *s, const void *bytes, size_t len);

uint64_t checksum64_sum(const struct checksum64 *s);

/* All in one. */
uint64_t checksum64_of(const void *bytes, size_t len);

#endif
