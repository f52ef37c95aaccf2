/* recording/timebase.h - event ticks to nanoseconds since the start of the recording.
 *
 * Two readings of (ticks, CLOCK_MONOTONIC), as far apart as possible, give the length of a tick.
 * One reading is always there, in the file header; later ones come with the status and with
 * samples.
 *
 * While a recording grows, the latest sample changes all the time, and the length of a tick with
 * it. Times of events that were read before must stay. So time has pieces, each with a length of a
 * tick of its own (timebase_add_steadily()). A piece begins with the first sample after each power
 * of two seconds, where the piece before it ends:
 *
 *	start           1 s   2 s      4 s              8 s
 *	|-- piece 0 ---------- | ------ | -------------- | ---->
 *	   length from the     2 s's    4 s's            8 s's sample and the start
 *	   first sample
 *
 * Threads: one writer, then any number of readers.
 */
#ifndef RECORDING_TIMEBASE_H
#define RECORDING_TIMEBASE_H

#include "base/compiler.h"
#include "base/units.h"

/* No clock runs that long: later times are damage. */
#define TIMEBASE_MAX_NS (100ull * 365 * 24 * 3600 * NS_PER_S)

/* One for each power of two seconds below TIMEBASE_MAX_NS, and the first. */
#define TIMEBASE_MAX_PIECES 34u

struct timebase_piece {
	uint64_t ticks; /* where it begins ... */
	uint64_t at_ns; /* ... in nanoseconds since the start */
	uint64_t ns_per_tick; /* whole nanoseconds (1 while it is not known) ... */
	uint64_t fraction; /* ... and 1/2^64 of one */
};

struct timebase {
	uint64_t start_ticks;
	uint64_t start_ns; /* CLOCK_MONOTONIC */
	uint64_t last_ticks; /* the latest reading; == start_ticks while there is none */
	uint64_t last_ns;
	bool is_ns; /* a tick is a nanosecond */
	struct timebase_piece
		piece[TIMEBASE_MAX_PIECES]; /* in order; the first from start_ticks on */
	uint32_t n_pieces; /* at least 1 */
	uint64_t next_ns; /* timebase_add_steadily() ignores earlier readings; 0: none yet */
};

void timebase_init(struct timebase *t, uint64_t start_ticks, uint64_t start_ns, bool is_ns);

/* Adds a reading. Ignores one that is not later than the latest in both clocks, and one that is later
 * than TIMEBASE_MAX_NS. */
void timebase_add(struct timebase *t, uint64_t ticks, uint64_t monotonic_ns);

/* Adds a reading of a recording that grows: it counts for later ticks, until the recording is twice
 * as long. The first one counts for all ticks. Ignores those that are too near to the start.
 * Readings come in order. */
void timebase_add_steadily(struct timebase *t, uint64_t ticks, uint64_t monotonic_ns);

/* Will the times of ticks so far stay the same? True for a clock in nanoseconds, and once a
 * reading of timebase_add_steadily() counts. */
bool timebase_is_steady(const struct timebase *t);

/* Is the length of a tick known? If not, timebase_ns() takes 1 ns. */
bool timebase_is_known(const struct timebase *t);

/* The piece of ticks that are before the last piece. */
const struct timebase_piece *timebase_find_piece(const struct timebase *t, uint64_t ticks);

static inline const struct timebase_piece *timebase_piece_of(const struct timebase *t,
							     uint64_t ticks)
{
	const struct timebase_piece *p = &t->piece[t->n_pieces - 1];

	return likely(ticks >= p->ticks) ? p : timebase_find_piece(t, ticks);
}

/* Nanoseconds since the start; 0 for ticks before it, UINT64_MAX when the result has no room.
 * Inline: for every event. */
static inline uint64_t timebase_ns(const struct timebase *t, uint64_t ticks)
{
	const struct timebase_piece *p = timebase_piece_of(t, ticks);
	uint64_t since = ticks > p->ticks ? ticks - p->ticks : 0;
	uint64_t part = (uint64_t)((unsigned __int128)since * p->fraction >> 64), whole;

	if (unlikely(__builtin_mul_overflow(since, p->ns_per_tick, &whole) ||
		     __builtin_add_overflow(whole, part, &whole) ||
		     __builtin_add_overflow(whole, p->at_ns, &whole)))
		return UINT64_MAX;
	return whole;
}

/* Can something have happened at these ticks? */
static inline bool timebase_is_possible(const struct timebase *t, uint64_t ticks)
{
	return timebase_ns(t, ticks) <= TIMEBASE_MAX_NS;
}

/* As timebase_ns(), without checks: the ticks are not before the piece, not after its end, and
 * timebase_ns() of them, or of later ticks, is less than UINT64_MAX. */
static inline uint64_t timebase_ns_plain(const struct timebase_piece *p, uint64_t ticks)
{
	uint64_t since = ticks - p->ticks;

	return p->at_ns + since * p->ns_per_tick +
	       (uint64_t)((unsigned __int128)since * p->fraction >> 64);
}

#endif
