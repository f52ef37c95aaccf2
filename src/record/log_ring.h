/* record/log_ring.h - log lines on their way from the target's threads to the writer.
 *
 * A fixed number of slots. A thread claims a free slot, fills it and marks it ready; the writer
 * takes the ready line with the lowest order number. Without a free slot the line is dropped and
 * counted. Lock-free; nothing waits. Zeroed memory is an empty ring.
 */
#ifndef RECORD_LOG_RING_H
#define RECORD_LOG_RING_H

#include <stdatomic.h>

#include "base/text.h"

#define LOG_RING_LINE_BYTES 448
#define LOG_RING_SLOTS 64

struct log_ring_slot {
	_Atomic uint32_t state; /* 0 free, 1 being filled, 2 ready */
	uint32_t level;
	uint64_t order;
	uint32_t tid;
	char line[LOG_RING_LINE_BYTES];
};

struct log_ring {
	_Atomic uint64_t next_order;
	_Atomic uint64_t n_dropped;
	struct log_ring_slot slot[LOG_RING_SLOTS];
};

/* Copies a line in, cut to LOG_RING_LINE_BYTES. Any thread, also in a signal handler. */
void log_ring_put(struct log_ring *ring, unsigned level, const char *line);

/* The oldest ready line, or NULL. The writer only. The line stays valid until
 * log_ring_free_slot(). */
struct log_ring_slot *log_ring_find_oldest(struct log_ring *ring);

/* The writer is done with the line. */
static inline void log_ring_free_slot(struct log_ring_slot *slot)
{
	atomic_store(&slot->state, 0);
}

#endif
