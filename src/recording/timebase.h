/* recording/timebase.h - event ticks to nanoseconds since the start of the recording.
 *
 * Two readings of (ticks, CLOCK_MONOTONIC), as far apart as possible, give the length of a tick.
 * One reading is always there, in the file header; later ones come with the status and with
 * samples.
 *
 * While a recording grows, the latest sample changes all the time, and the length of a tick with
 * it. So not the latest sample counts, but the first one after the last power of two seconds
 * (timebase_add_steadily()). Times of events then stay the same until the recording has become
 * twice as long. Threads: one writer, then any number of readers.
 */
#ifndef RECORDING_TIMEBASE_H
#define RECORDING_TIMEBASE_H

#include "base/compiler.h"
#include "base/units.h"

/* No clock runs that long: later times are damage. */
#define TIMEBASE_MAX_NS (100ull * 365 * 24 * 3600 * NS_PER_S)

struct timebase {
	uint64_t start_ticks;
	uint64_t start_ns; /* CLOCK_MONOTONIC */
	uint64_t last_ticks; /* the latest reading; == start_ticks while there is none */
	uint64_t last_ns;
	bool is_ns; /* a tick is a nanosecond */
	uint64_t ns_per_tick; /* whole nanoseconds (1 while it is not known) ... */
	uint64_t fraction; /* ... and 1/2^64 of one */
	uint64_t next_ns; /* timebase_add_steadily() ignores earlier readings; 0: none yet */
};

void timebase_init(struct timebase *t, uint64_t start_ticks, uint64_t start_ns, bool is_ns);

/* Adds a reading. Ignores one that is not later than the latest in both clocks, and one that is later
 * than TIMEBASE_MAX_NS. */
void timebase_add(struct timebase *t, uint64_t ticks, uint64_t monotonic_ns);

/* Adds a reading of a recording that grows: it counts until the recording is twice as long. Ignores
 * the first ones, which are too near to the start. Readings come in order. */
void timebase_add_steadily(struct timebase *t, uint64_t ticks, uint64_t monotonic_ns);

/* Will the length of a tick stay the same for some time? True for a clock in nanoseconds, and once a
 * reading of timebase_add_steadily() counts. */
bool timebase_is_steady(const struct timebase *t);

/* Is the length of a tick known? If not, timebase_ns() takes 1 ns. */
bool timebase_is_known(const struct timebase *t);

/* Nanoseconds since the start; 0 for ticks before it, UINT64_MAX when the result has no room.
 * Inline: for every event. */
static inline uint64_t timebase_ns(const struct timebase *t, uint64_t ticks)
{
	uint64_t since = ticks > t->start_ticks ? ticks - t->start_ticks : 0;
	uint64_t part = (uint64_t)((unsigned __int128)since * t->fraction >> 64), whole;

	if (unlikely(__builtin_mul_overflow(since, t->ns_per_tick, &whole) ||
		     __builtin_add_overflow(whole, part, &whole)))
		return UINT64_MAX;
	return whole;
}

/* Can something have happened at these ticks? */
static inline bool timebase_is_possible(const struct timebase *t, uint64_t ticks)
{
	return timebase_ns(t, ticks) <= TIMEBASE_MAX_NS;
}

/* As timebase_ns(), without checks: the ticks are not before the start, and timebase_ns() of them, or of
 * later ticks, is less than UINT64_MAX. */
static inline uint64_t timebase_ns_plain(const struct timebase *t, uint64_t ticks)
{
	uint64_t since = ticks - t->start_ticks;

	return since * t->ns_per_tick + (uint64_t)((unsigned __int128)since * t->fraction >> 64);
}

#endif
