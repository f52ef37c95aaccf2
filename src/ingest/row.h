/* ingest/row.h - one row of a store while it is made: its allocation, and its end.
 *
 * The two parts are apart because they become known at different times: the allocation at once, the
 * end later or never (rows.h).
 */
#ifndef INGEST_ROW_H
#define INGEST_ROW_H

#include "base/compiler.h"

struct row_alloc {
	uint64_t alloc_ns;
	uint64_t size_bytes;
	uint64_t addr;
	uint64_t marker;
	uint32_t stack;
	uint32_t thread;
	uint32_t extra_bytes;
};

struct row_end {
	uint64_t lifetime_ns; /* as STORE_LIFETIME_NS: 0 = not ended */
	uint64_t chain; /* as STORE_CHAIN */
	uint32_t chain_position;
	uint32_t free_stack;
	uint32_t free_thread;
	uint32_t flags; /* as STORE_FLAGS */
};

#endif
