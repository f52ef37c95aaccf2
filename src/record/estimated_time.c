/* record/estimated_time.c - see estimated_time.h. */
#include "record/estimated_time.h"

/* How many events may carry the next time, when it took so long since the last. */
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

void estimated_time_renew(struct estimated_time *c, uint64_t last_ticks, uint64_t ticks)
{
	COUNT_ADD(c->n_estimated, c->n_group - c->n_left);
	c->heartbeat = atomic_load_explicit(&clock_heartbeat, memory_order_relaxed);
	c->n_group = c->heartbeat ? next_group(c->n_group, ticks - last_ticks) : 0;
	c->n_left = c->n_group;
}
