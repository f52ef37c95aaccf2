/* recording/timebase.h - event ticks to nanoseconds since the start of the recording.
 *
 * Two readings of (ticks, CLOCK_MONOTONIC), as far apart as possible, give the length of a tick.
 * One reading is always there, the file header's; later ones come with the status and samples.
 *
 * Of a recording that has not ended, not the latest sample counts but the first one after the last power
 * of two seconds (timebase_add_steadily()): so the time of what happened stays the same while it grows,
 * until it has become twice as long.
 */
#ifndef RECORDING_TIMEBASE_H
#define RECORDING_TIMEBASE_H

#include "base/compiler.h"

struct timebase {
	uint64_t start_ticks;
	uint64_t start_ns; /* CLOCK_MONOTONIC */
	uint64_t last_ticks; /* the latest reading; == start_ticks while there is none */
	uint64_t last_ns;
	bool is_ns; /* a tick is a nanosecond */
	uint64_t ns_per_tick; /* whole nanoseconds (1 while it is not known) ... */
	uint64_t fraction; /* ... and 1/2^64 of one */
	uint64_t
		next_ns; /* timebase_add_steadily(): what comes before does not count; 0: none did */
};

void timebase_init(struct timebase *t, uint64_t start_ticks, uint64_t start_ns, bool is_ns);

/* Adds a reading. One that is not later than the latest in both clocks is ignored. */
void timebase_add(struct timebase *t, uint64_t ticks, uint64_t monotonic_ns);

/* The same for one that shall count until the recording is twice as long. The first ones after the
 * start are too near. Readings come in order. */
void timebase_add_steadily(struct timebase *t, uint64_t ticks, uint64_t monotonic_ns);

/* Will the length of a tick stay what it is for some time? */
bool timebase_is_steady(const struct timebase *t);

/* Is the length of a tick known? If not, timebase_ns() takes 1 ns. */
bool timebase_is_known(const struct timebase *t);

/* Nanoseconds since the start; 0 for what lies before it. Every event asks. */
static inline uint64_t timebase_ns(const struct timebase *t, uint64_t ticks)
{
	uint64_t since = ticks > t->start_ticks ? ticks - t->start_ticks : 0;
	uint64_t part = (uint64_t)((unsigned __int128)since * t->fraction >> 64), whole;

	if (unlikely(__builtin_mul_overflow(since, t->ns_per_tick, &whole) ||
		     __builtin_add_overflow(whole, part, &whole)))
		return UINT64_MAX;
	return whole;
}

/* The same without care: the ticks are not before the start, and what timebase_ns() gives for them, or for
 * later ones, is less than UINT64_MAX. */
static inline uint64_t timebase_ns_plain(const struct timebase *t, uint64_t ticks)
{
	uint64_t since = ticks - t->start_ticks;

	return since * t->ns_per_tick + (uint64_t)((unsigned __int128)since * t->fraction >> 64);
}

#endif
