/* record/log_ring.c - see log_ring.h. */
#include "record/log_ring.h"

#include "record/sys.h"

void log_ring_put(struct log_ring *ring, unsigned level, const char *line)
{
	for (unsigned i = 0; i < LOG_RING_SLOTS; i++) {
		struct log_ring_slot *slot = &ring->slot[i];
		uint32_t expected = 0;
		struct text text;

		if (!atomic_compare_exchange_strong(&slot->state, &expected, 1))
			continue;
		slot->order = atomic_fetch_add(&ring->next_order, 1);
		slot->level = level;
		slot->tid = sys_gettid();
		text = text_make(slot->line, sizeof(slot->line));
		text_put(&text, line);
		atomic_store(&slot->state, 2);
		return;
	}
	atomic_fetch_add(&ring->n_dropped, 1);
}

struct log_ring_slot *log_ring_find_oldest(struct log_ring *ring)
{
	struct log_ring_slot *oldest = NULL;

	for (unsigned i = 0; i < LOG_RING_SLOTS; i++) {
		struct log_ring_slot *slot = &ring->slot[i];

		if (atomic_load(&slot->state) == 2 && (!oldest || slot->order < oldest->order))
			oldest = slot;
	}
	return oldest;
}
