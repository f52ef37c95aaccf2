/* query/mappings.h - the mappings of the process: those that the recorder saw, and those that the program made
 * and removed by calls.
 *
 * Two sources. The recorder looks at the memory map (/proc/self/maps) at the start, when code is loaded, and at
 * the end; the last look is kept (STORE_REGIONS, store_facts.maps_ns). A look tells names and rights, not
 * when a mapping was made. Calls of mmap, munmap, mremap and brk (calls.h) tell when, by whom and until when,
 * where they were recorded; calls that libc makes inside itself never are.
 *
 * Calls are replayed in the order of time, and the look is taken in when its time comes. A mapping is a range of
 * pages with one origin: the last call that put something there, or the look. So a line of the memory
 * map that several calls made is several mappings (the kernel joins neighbours with equal rights), and a
 * mapping that was removed in part is several, too. Ranges are whole pages.
 *
 * Not recorded and so not known: how much of a mapping is resident, changes of rights (mprotect) between
 * calls and the look, and when a mapping went that nobody was seen to remove.
 */
#ifndef QUERY_MAPPINGS_H
#define QUERY_MAPPINGS_H

#include "query/query.h"

#define MAPPINGS_UNKNOWN UINT64_MAX
#define MAPPINGS_NO_STACK UINT32_MAX

struct mapping {
	uint64_t start, end;
	uint64_t made_ns; /* MAPPINGS_UNKNOWN: no recorded call made it */
	uint64_t removed_ns; /* MAPPINGS_UNKNOWN: not removed, or it is not known when */
	bool is_removed; /* by the end of the recording */
	bool is_seen; /* it is in the memory map that the recorder saw last */
	bool has_rights; /* prot and is_shared are known: of the look, else what mmap was asked for */
	bool is_shared;
	uint32_t prot; /* PROT_* */
	uint32_t name; /* string; 0 also for what is not seen */
	uint32_t stack; /* that called; MAPPINGS_NO_STACK */
};

/* Calls fn for all mappings until it returns a negative number, which is the result then: those that were
 * removed in the order of their removal, then the others by address. Memory: the mappings that are
 * there at one time. Conditions of the query do not matter. */
int mappings_each(struct query *q, int (*fn)(void *user, const struct mapping *m, struct err *err),
		  void *user, struct err *err);

#endif
