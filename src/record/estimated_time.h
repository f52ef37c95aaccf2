/* record/estimated_time.h - events whose time is not read from the clock.
 *
 * Reading the CPU's counter takes 4 to 10 ns, and some CPUs first wait for all earlier
 * instructions: in a program that only allocates, the reading is half of what an event costs. So an
 * event in a dense stream may take the time of the event before it in its lane, plus one tick
 * (about 6 ns, clock.h). A group of at most ESTIMATED_TIME_MAX_EVENTS events in a row does so; the
 * next event reads the counter. MEMORY_PROFILER_PRECISE_TIMESTAMPS=1 turns estimates off.
 *
 * The order of events stays exact:
 *   1. An estimated time is not later than the true time: from one event of a lane to the next, a
 *      call of the program and its recording pass, which together take longer than a tick.
 *   2. An estimated time is later than the time of the event before it in the lane.
 *   3. In a program with one lane the order of the lane is the only order. clock_many_lanes
 *      (clock.h) is set before a second lane gets its first block.
 *   4. In a program with several lanes only events at addresses that the lane owns
 *      (address_owner.h) have estimated times. No other lane had an event at the address since the
 *      lane's last event there, so by 2 the event is in its right place; and by 1 the next lane to
 *      use the address reads the counter later.
 * The caller (capture.h) checks 3 and 4.
 *
 * How far an estimate may be from the truth:
 *   1. Usually about ESTIMATED_TIME_NEAR_TICKS. The reading after a group shows how late the
 *      estimates were: lag = time read - time of the event before. The lag sets the size of the
 *      next group:
 *
 *        lag, in ESTIMATED_TIME_NEAR_TICKS   size of the next group
 *        up to 1/2                           grows: 0, 1, 3, 7, 15
 *        up to 1                             as before
 *        up to 2                             half
 *        more                                0: the next event reads the counter, too
 *
 *   2. If the program pauses inside a group, the events after the pause would still have times from
 *      before. So each event compares the writer's heartbeat (clock.h) with the heartbeat at the
 *      last reading; if they differ, the event reads the counter. The writer changes the heartbeat
 *      every millisecond while events come fast. Otherwise, and before slow work such as a write to
 *      the disk, the writer sets the heartbeat to 0: all events read the counter.
 *   3. So a pause makes an estimate wrong by no more than the longest time for which the heartbeat
 *      stayed the same (clock_longest_heartbeat_ticks). The recording states this time. (Not if
 *      the thread loses its CPU just between reading the counter and reading the heartbeat.)
 *
 * Threads: a struct estimated_time belongs to one lane.
 */
#ifndef RECORD_ESTIMATED_TIME_H
#define RECORD_ESTIMATED_TIME_H

#include "record/clock.h"

#define ESTIMATED_TIME_MAX_EVENTS 15 /* between two readings */
#define ESTIMATED_TIME_NEAR_TICKS 256 /* 1 to 2 us */

/* Zeroed memory: no event may be estimated until the next reading. If heartbeat is 0, n_left is
 * 0. */
struct estimated_time {
	uint64_t heartbeat; /* at the last reading */
	uint32_t n_left; /* events that may still be estimated */
	uint32_t n_group; /* size of the group: n_left began with it */
	uint64_t n_estimated; /* events in all groups but the current one */
};

/* Only for estimated_time_on_reading(): begins a new group. */
NOINLINE void estimated_time_renew(struct estimated_time *e, uint64_t last_ticks, uint64_t ticks);

/* The caller read the counter as ticks for this event: after estimated_time_use() returned false,
 * or because the event must not be estimated. last_ticks: the time of the event before it in the
 * lane. Begins a new group, unless events of the group are left, the heartbeat is the same and the
 * event before is near: then the group goes on. */
static ALWAYS_INLINE void estimated_time_on_reading(struct estimated_time *e, uint64_t last_ticks,
						    uint64_t ticks)
{
	uint64_t heartbeat = atomic_load_explicit(&clock_heartbeat, memory_order_relaxed);
	bool is_near = ticks - last_ticks <= ESTIMATED_TIME_NEAR_TICKS;

	if (e->heartbeat != heartbeat || (heartbeat && !(e->n_left && is_near)))
		estimated_time_renew(e, last_ticks, ticks);
}

/* May this event be estimated? True: the event counts as estimated; its time is the time of the
 * event before plus one. False: the caller reads the counter and calls
 * estimated_time_on_reading(). */
static ALWAYS_INLINE bool estimated_time_use(struct estimated_time *e)
{
	if (!e->n_left ||
	    e->heartbeat != atomic_load_explicit(&clock_heartbeat, memory_order_relaxed))
		return false;
	e->n_left--;
	return true;
}

#endif
