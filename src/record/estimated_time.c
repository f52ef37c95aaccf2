/* record/estimated_time.c - see estimated_time.h. */
#include "record/estimated_time.h"

/* How many events may be estimated until the next reading, when passed_ticks lie between this
 * reading and the event before: the number doubles while events are dense, halves when they are not
 * near any more, and becomes 0 when they are far apart. */
static uint32_t next_group(uint32_t n_group, uint64_t passed_ticks)
{
	if (passed_ticks > 2 * ESTIMATED_TIME_NEAR_TICKS)
		return 0;
	if (passed_ticks > ESTIMATED_TIME_NEAR_TICKS)
		return n_group / 2;
	if (passed_ticks <= ESTIMATED_TIME_NEAR_TICKS / 2 && n_group < ESTIMATED_TIME_MAX_EVENTS)
		return 2 * n_group + 1;
	return n_group;
}

void estimated_time_renew(struct estimated_time *e, uint64_t last_ticks, uint64_t ticks)
{
	COUNT_ADD(e->n_estimated, e->n_group - e->n_left);
	e->heartbeat = atomic_load_explicit(&clock_heartbeat, memory_order_relaxed);
	e->n_group = e->heartbeat ? next_group(e->n_group, ticks - last_ticks) : 0;
	e->n_left = e->n_group;
}
