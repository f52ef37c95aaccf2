/* record/clock.h - the time of events.
 *
 * A tick is the CPU's counter divided by 16 (about 6 ns: fine enough, and a byte shorter in the
 * recording) where CPU and kernel trust the counter to be the same on all CPUs; elsewhere a
 * nanosecond of CLOCK_MONOTONIC. Pairs of (ticks, CLOCK_MONOTONIC) in the recording give the length
 * of a tick.
 *
 * Heartbeat. While events come fast, the writer stores a new value in clock_heartbeat every
 * millisecond. Events use it to notice that time has passed since their lane's last clock reading
 * (estimated_time.h).
 */
#ifndef RECORD_CLOCK_H
#define RECORD_CLOCK_H

#include <stdatomic.h>

#include "arch/arch.h"
#include "base/units.h"

#define CLOCK_TICK_SHIFT 4

/* Ticks come from the CPU's counter. Constant after clock_init(). */
extern HIDDEN uint8_t clock_is_cpu;

/* A second lane makes events, or did: a second thread, or a signal handler that interrupted a hook.
 * Never back to 0. Set before the second lane can hand over a block or get one. */
extern HIDDEN _Atomic uint8_t clock_many_lanes;

/* Not 0: times may be estimated, and the value changes at least every CLOCK_HEARTBEAT_NS as long as
 * the writer gets a CPU. 0: all times must be read. Only the writer changes it. */
extern HIDDEN _Atomic uint64_t clock_heartbeat;
#define CLOCK_HEARTBEAT_NS NS_PER_MS

/* The longest time for which clock_heartbeat kept one value that is not 0. The writer's. */
extern uint64_t clock_longest_heartbeat_ticks;

/* Decides which clock to use. Once, before the first event. */
void clock_init(void);

/* Writer: stores the next heartbeat. The writer must store another one within CLOCK_HEARTBEAT_NS,
 * or call clock_heartbeat_stop() before it does something that may take longer. False: this process
 * estimates no times (MEMORY_PROFILER_PRECISE_TIMESTAMPS, or no counter of the CPU), and no
 * heartbeat is needed. */
bool clock_heartbeat_start(void);

/* Writer: from now on all times are read. */
void clock_heartbeat_stop(void);

/* Writer, when it starts: a forked child may find a heartbeat that its parent's writer left. */
void clock_heartbeat_reset(void);

/* CLOCK_MONOTONIC through the vdso; leaves errno alone. */
uint64_t clock_monotonic_ns(void);

/* The time now. */
static ALWAYS_INLINE uint64_t clock_ticks(void)
{
	return likely(clock_is_cpu) ? arch_ticks() >> CLOCK_TICK_SHIFT : clock_monotonic_ns();
}

static ALWAYS_INLINE bool clock_has_many_lanes(void)
{
	return atomic_load_explicit(&clock_many_lanes, memory_order_relaxed);
}

/* Waits until all earlier loads are done. A CPU may read its counter before them, out of order.
 *
 * Where several lanes make events, the fence comes before the time of a release is read:
 *   1. The release must not be earlier than the allocation of the block in another lane. So
 *      whatever handed the block over must be done before the reading.
 *   2. Without the fence several releases could be early at once, and no reader could put them in
 *      order.
 *
 * An allocation needs no fence. Its time may come out earlier than the time of the release before
 * it at the same address. Then a reader finds two allocations in a row there, and the first release
 * after them is the release that belongs between them, unless the second allocation is early by
 * more than the whole lifetime of the block that was released. The reader puts the two in order. */
static ALWAYS_INLINE void clock_fence(void)
{
	arch_ticks_fence();
}

#endif
