/* harness/guard.h - buffers that end exactly at an unreadable page.
 *
 * Parsers run on these: reading one byte past the input is a crash, not luck. The page before the
 * data is unreadable as well, but only page-sized inputs start right at it.
 */
#ifndef HARNESS_GUARD_H
#define HARNESS_GUARD_H

#include <stddef.h>

/* A writable copy of len bytes (bytes may be NULL: zeroes). The result is not aligned when len is
 * not; &result[len] faults. Ends the process when memory cannot be mapped. */
unsigned char *guard_buf_create(const void *bytes, size_t len);

/* NULL does nothing; len is the one given to guard_buf_create(). */
void guard_buf_destroy(unsigned char *buf, size_t len);

#endif
