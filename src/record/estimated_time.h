/* record/estimated_time.h - events whose time is not read.
 *
 * Reading the CPU's counter takes 4 to 10 ns, and some CPUs first wait for all that is before it: in a
 * program that only allocates, half of what an event costs. Unless MEMORY_PROFILER_PRECISE_TIMESTAMPS asks
 * for it, an event in a dense stream therefore carries the time on: it is one tick later than the event
 * before it in its lane. A reading follows after ESTIMATED_TIME_MAX_EVENTS events at the latest.
 *
 * The order of events stays exact, because a carried time is never later than the true one (an event
 * takes longer than a tick) nor earlier than the event before it in the lane, and because
 * - where one thread makes events, in one lane, there is no other order;
 * - where several do, only calls about an address that no other lane had in its hands since the lane's last
 *   call about it (address_owner.h): it stays behind that one, and whoever gets the address next reads the
 *   counter after it.
 *
 * How old it may be: as many events carry the time as fit into about ESTIMATED_TIME_NEAR_TICKS, going by the last
 * readings. If the program pauses just then, the next events would still carry the time from before:
 * so they look whether the writer's heartbeat (clock.h) has changed, which it does every millisecond or it
 * is 0. No carried time is therefore older than the longest time without such a change
 * (clock_longest_heartbeat_ticks), which the recording tells.
 */
#ifndef RECORD_ESTIMATED_TIME_H
#define RECORD_ESTIMATED_TIME_H

#include "record/clock.h"

#define ESTIMATED_TIME_MAX_EVENTS 15
#define ESTIMATED_TIME_NEAR_TICKS 256 /* 1 to 2 us */

struct estimated_time {
	uint64_t heartbeat; /* at the last reading */
	uint32_t n_left; /* events that may still carry it */
	uint32_t n_group; /* of so many, at the last reading */
	uint64_t n_estimated; /* in all, up to the last renewal */
};

/* Begins anew with what was just read. */
NOINLINE void estimated_time_renew(struct estimated_time *c, uint64_t last_ticks, uint64_t ticks);

/* The counter was read as ticks; the event before this one was at last_ticks. */
static ALWAYS_INLINE void estimated_time_on_reading(struct estimated_time *c, uint64_t last_ticks,
						    uint64_t ticks)
{
	uint64_t heartbeat = atomic_load_explicit(&clock_heartbeat, memory_order_relaxed);
	bool is_near = ticks - last_ticks <= ESTIMATED_TIME_NEAR_TICKS;

	if (c->heartbeat != heartbeat || (heartbeat && !(c->n_left && is_near)))
		estimated_time_renew(c, last_ticks, ticks);
}

/* May the next event carry the time? If so, it counts as done. */
static ALWAYS_INLINE bool estimated_time_use(struct estimated_time *c)
{
	if (!c->n_left ||
	    c->heartbeat != atomic_load_explicit(&clock_heartbeat, memory_order_relaxed))
		return false;
	c->n_left--;
	return true;
}

#endif
