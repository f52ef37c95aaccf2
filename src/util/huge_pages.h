/* util/huge_pages.h - large arrays that are accessed at random, in pages of 2 MiB.
 *
 * With small pages most accesses to such an array miss the CPU's TLB as well as its caches. The
 * advice is a hint: where the system has no huge pages, nothing changes.
 */
#ifndef UTIL_HUGE_PAGES_H
#define UTIL_HUGE_PAGES_H

#include <sys/mman.h>

#include "base/bits.h"

#define HUGE_PAGE_BYTES ((size_t)2 << 20)
#define SMALL_PAGE_BYTES 4096u

/* Advises huge pages for an array that was just allocated; arrays below 4 MiB stay as they are. The
 * advice covers the first and the last page as a whole: advice for a part of a mapping would split
 * the mapping, and mremap() could no longer make it larger. */
static inline void huge_pages_advise(void *data, size_t n_bytes)
{
	uintptr_t start = align_down((uintptr_t)data, SMALL_PAGE_BYTES);
	uintptr_t end = align_up((uintptr_t)data + n_bytes, SMALL_PAGE_BYTES);

	if (n_bytes >= 2 * HUGE_PAGE_BYTES)
		madvise((void *)start, end - start, MADV_HUGEPAGE);
}

/* Writes to each page of zeroes that are still the system's. Memory that is read before it is written gets each
 * page twice, and the second time the other CPUs are interrupted. For what will be written all over. */
static inline void pages_touch(void *data, size_t n_bytes)
{
	volatile char *at = (volatile char *)data;

	for (size_t i = 0; i < n_bytes; i += SMALL_PAGE_BYTES)
		at[i] = 0;
}

#endif
