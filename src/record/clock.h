/* record/clock.h - the time of events.
 *
 * A tick is the CPU's counter divided by 16 (about 6 ns: fine enough, and a byte shorter in the
 * recording) where CPU and kernel trust it to be the same on all CPUs; a nanosecond of
 * CLOCK_MONOTONIC elsewhere. Pairs of (ticks, CLOCK_MONOTONIC) in the recording give the length.
 */
#ifndef RECORD_CLOCK_H
#define RECORD_CLOCK_H

#include "arch/arch.h"

#define CLOCK_TICK_SHIFT 4

extern uint8_t clock_is_cpu; /* constant after clock_init() */

/* Decides which clock to use. */
void clock_init(void);

/* CLOCK_MONOTONIC through the vdso; leaves errno alone. */
uint64_t clock_monotonic_ns(void);

static ALWAYS_INLINE uint64_t clock_ticks(void)
{
	return likely(clock_is_cpu) ? arch_ticks() >> CLOCK_TICK_SHIFT : clock_monotonic_ns();
}

#endif
