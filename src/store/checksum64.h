/* store/checksum64.h - a 64-bit checksum for the files of this folder, some GB per second.
 *
 * The checksum finds damage and half-written files. It does not protect against somebody who wants
 * to deceive: readers check all that they read as if there were no checksum. docs/STORE.md has the
 * definition. Threads: one at a time per struct checksum64.
 */
#ifndef STORE_CHECKSUM64_H
#define STORE_CHECKSUM64_H

#include "base/compiler.h"

struct checksum64 {
	uint64_t stripe[4];
	uint64_t n_bytes;
};

void checksum64_init(struct checksum64 *s);

/* Adds bytes. len is a multiple of 32 (asserted) in all calls but the last. */
void checksum64_add(struct checksum64 *s, const void *bytes, size_t len);

/* The checksum of all bytes that were added. */
uint64_t checksum64_sum(const struct checksum64 *s);

/* The checksum of len bytes: init, add and sum in one call. */
uint64_t checksum64_of(const void *bytes, size_t len);

#endif
