/* record/estimated_time.h - events whose time is not read from the clock.
 *
 * Reading the CPU's counter takes 4 to 10 ns, and some CPUs first wait for all earlier
 * instructions: in a program that only allocates, the reading is half of what an event costs. So an
 * event in a dense stream may take the time of the event before it in its lane, plus one tick. At
 * most ESTIMATED_TIME_MAX_EVENTS events in a row do so; the next event reads the counter.
 * MEMORY_PROFILER_PRECISE_TIMESTAMPS=1 turns estimates off.
 *
 * The order of events stays exact:
 *   1. An estimated time is not later than the true time, because an event takes longer than a
 *      tick.
 *   2. An estimated time is later than the time of the event before it in the lane.
 *   3. In a program with one lane the order of the lane is the only order.
 *   4. In a program with several lanes only events at addresses that the lane owns
 *      (address_owner.h) have estimated times. No other lane had an event at the address since the
 *      lane's last event there, so by 2 the event is in its right place; and by 1 the next lane to
 *      use the address reads the counter later.
 *
 * How far an estimate may be from the truth:
 *   1. Usually about ESTIMATED_TIME_NEAR_TICKS: each reading sets how many events may be estimated
 *      until the next one, from the time that passed since the event before (estimated_time.c).
 *   2. If the program pauses in the middle, the events after the pause would still have times from
 *      before. So each event compares the writer's heartbeat (clock.h) with the heartbeat at the
 *      last reading. The heartbeat changes every millisecond while estimates are allowed, and is 0
 *      while they are not.
 *   3. So no estimate is older than the longest time for which the heartbeat stayed the same
 *      (clock_longest_heartbeat_ticks). The recording states this time.
 *
 * Threads: a struct estimated_time belongs to one lane.
 */
#ifndef RECORD_ESTIMATED_TIME_H
#define RECORD_ESTIMATED_TIME_H

#include "record/clock.h"

#define ESTIMATED_TIME_MAX_EVENTS 15 /* between two readings */
#define ESTIMATED_TIME_NEAR_TICKS 256 /* 1 to 2 us */

/* Zeroed memory: no event may be estimated until the next reading. */
struct estimated_time {
	uint64_t heartbeat; /* at the last reading */
	uint32_t n_left; /* events that may still be estimated */
	uint32_t n_group; /* n_left after the last reading that set it */
	uint64_t n_estimated; /* in all, up to the last estimated_time_renew() */
};

/* The rest of estimated_time_on_reading(): decides anew how many events may be estimated. */
NOINLINE void estimated_time_renew(struct estimated_time *e, uint64_t last_ticks, uint64_t ticks);

/* The counter was read as ticks for this event. last_ticks: the time of the event before it in the
 * lane. A reading that was not due (n_left is not 0) does not use up what is left, as long as the
 * event before is near. */
static ALWAYS_INLINE void estimated_time_on_reading(struct estimated_time *e, uint64_t last_ticks,
						    uint64_t ticks)
{
	uint64_t heartbeat = atomic_load_explicit(&clock_heartbeat, memory_order_relaxed);
	bool is_near = ticks - last_ticks <= ESTIMATED_TIME_NEAR_TICKS;

	if (e->heartbeat != heartbeat || (heartbeat && !(e->n_left && is_near)))
		estimated_time_renew(e, last_ticks, ticks);
}

/* May the next event be estimated? True: the event counts as estimated. False: the caller reads the
 * counter and calls estimated_time_on_reading(). */
static ALWAYS_INLINE bool estimated_time_use(struct estimated_time *e)
{
	if (!e->n_left ||
	    e->heartbeat != atomic_load_explicit(&clock_heartbeat, memory_order_relaxed))
		return false;
	e->n_left--;
	return true;
}

#endif
