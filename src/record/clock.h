/* record/clock.h - the time of events.
 *
 * A tick is the CPU's counter divided by 16 (about 6 ns: fine enough, and a byte shorter in the
 * recording) where CPU and kernel trust it to be the same on all CPUs; a nanosecond of
 * CLOCK_MONOTONIC elsewhere. Pairs of (ticks, CLOCK_MONOTONIC) in the recording give the length.
 */
#ifndef RECORD_CLOCK_H
#define RECORD_CLOCK_H

#include <stdatomic.h>

#include "arch/arch.h"
#include "base/units.h"

#define CLOCK_TICK_SHIFT 4

extern HIDDEN uint8_t clock_is_cpu; /* constant after clock_init() */
extern HIDDEN _Atomic uint8_t clock_many_lanes; /* a second lane makes events, or did */

/* Changes while events may carry the time on, at least every CLOCK_HEARTBEAT_NS as long as the writer gets a CPU;
 * 0: they may not. See estimated_time.h. */
extern HIDDEN _Atomic uint64_t clock_heartbeat;
#define CLOCK_HEARTBEAT_NS NS_PER_MS

/* The writer's: how long it stayed the same, and was not 0, at most. */
extern uint64_t clock_longest_heartbeat_ticks;

/* Decides which clock to use. */
void clock_init(void);

/* For the writer: the next heartbeat, until it rests. Nothing that may take long comes in between. False: all
 * times are to be read. */
bool clock_heartbeat_start(void);
void clock_heartbeat_stop(void);

/* At its start: of a parent's writer a heartbeat may be left. */
void clock_heartbeat_reset(void);

/* CLOCK_MONOTONIC through the vdso; leaves errno alone. */
uint64_t clock_monotonic_ns(void);

static ALWAYS_INLINE uint64_t clock_ticks(void)
{
	return likely(clock_is_cpu) ? arch_ticks() >> CLOCK_TICK_SHIFT : clock_monotonic_ns();
}

static ALWAYS_INLINE bool clock_has_many_lanes(void)
{
	return atomic_load_explicit(&clock_many_lanes, memory_order_relaxed);
}

/* Before the time of a release is read, when other threads make events: it must not be earlier than
 * that of the block's birth in one of them, so whatever handed the block over must be done. Without
 * this, several early stamps at once could not be told apart by any reader. Births do not wait: one
 * may be stamped before the release before it at that address, but then the first release
 * behind it is that one (unless it is earlier by more than the whole life of that block), and the
 * reader puts the two in order. */
static ALWAYS_INLINE void clock_fence(void)
{
	arch_ticks_fence();
}

#endif
