/* ingest/sites.h - what is known of each stack that events name, kept while a recording is read.
 *
 * A stack that an event names gets a number, dense from 1 (0 is the empty stack); the rows of a store
 * hold these numbers. Live bytes are kept per stack, and what they were at the highest peak so far: a
 * stack that changed since the last peak is on a list, and a new peak copies only those. So each
 * event costs a constant, and the contributions to the peak sum up to it exactly.
 */
#ifndef INGEST_SITES_H
#define INGEST_SITES_H

#include "store/columns.h"
#include "util/err.h"

struct site {
	struct store_stack stats;
	uint64_t live_bytes;
	uint64_t live_count;
	uint32_t changed_since; /* number of the last peak it is listed for */
};

struct sites {
	struct site *site; /* by stack number */
	size_t n, cap;
	uint32_t *of_node; /* node of struct stacks -> stack number; 0: none yet */
	size_t n_nodes, cap_nodes;
	uint32_t *changed; /* stacks that changed since the last peak */
	size_t n_changed, cap_changed;
	uint32_t n_peaks;
};

int sites_init(struct sites *s, struct err *err);
void sites_fini(struct sites *s);

/* The number of a node's stack, given when it is first asked for. Node 0 is stack 0. */
int sites_number(struct sites *s, uint32_t node, uint32_t *ret, struct err *err);

void sites_alloc(struct sites *s, uint32_t stack, uint64_t size_bytes, uint64_t at_ns);
void sites_free(struct sites *s, uint32_t stack, uint64_t size_bytes);

/* What is live now is the most so far. */
void sites_peak(struct sites *s);

#endif
