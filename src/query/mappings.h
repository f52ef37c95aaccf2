/* query/mappings.h - the mappings of the process: those in the recorded memory map, and those that
 * recorded calls made and removed.
 *
 * There are two sources:
 *  - The memory map. The recorder reads /proc/self/maps at the start, when code is loaded, and at
 *    the end. The store keeps the last reading (STORE_REGIONS, store_facts.maps_ns). A reading has
 *    names and rights, but not the time at which a mapping was made. Some readings say what is
 *    resident (store_facts.resident_ns).
 *  - The calls of mmap, munmap, mremap and brk (calls.h), where they were recorded. A call has the
 *    time and the stack. Calls that libc makes inside itself are never recorded.
 *
 * The calls are replayed in the order of time, and the reading is merged in at its time. A mapping
 * is a range of whole pages with one origin: the last call that mapped this range, or the reading.
 * So one line of the memory map that several calls made is several mappings (the kernel joins
 * neighbours with equal rights). A mapping that was removed in part is several mappings, too. What is
 * resident is known of a line as a whole: of a mapping that is a part of a line only if nothing of the
 * line is resident, or everything.
 *
 * Not recorded, so not known: what was resident of a mapping that is gone; changes of rights (mprotect)
 * between the calls and the reading; when a mapping disappeared if no recorded call removed it.
 */
#ifndef QUERY_MAPPINGS_H
#define QUERY_MAPPINGS_H

#include "query/query.h"

#define MAPPINGS_UNKNOWN UINT64_MAX
#define MAPPINGS_NO_STACK UINT32_MAX

struct mapping {
	uint64_t start, end;
	uint64_t made_ns; /* MAPPINGS_UNKNOWN: no recorded call made it */
	uint64_t removed_ns; /* not removed, or the time is not known */
	bool is_removed; /* by the end of the recording */
	bool is_seen; /* the last recorded memory map has it */
	bool has_rights; /* prot and is_shared are known: from the memory map, else from the
			  * arguments of mmap */
	bool is_shared;
	uint32_t prot; /* PROT_* */
	uint32_t name; /* string; 0: no name, or not in the memory map */
	uint32_t stack; /* stack of the call; MAPPINGS_NO_STACK: no call */
	uint64_t rss_bytes; /* resident at the last reading that says it; MAPPINGS_UNKNOWN */
	uint64_t peak_rss_bytes; /* the most at any such reading; MAPPINGS_UNKNOWN */
};

/* Calls fn for all mappings: first the removed ones in the order of removal, then the others by
 * address. If fn returns a negative number, the walk ends and returns that number. The conditions
 * of the query do not count. Memory: the mappings that exist at one time. */
int mappings_each(struct query *q, int (*fn)(void *user, const struct mapping *m, struct err *err),
		  void *user, struct err *err);

#endif
