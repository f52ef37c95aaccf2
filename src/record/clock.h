/* record/clock.h - the time of events.
 *
 * Where the kernel trusts the CPU's counter to be the same on all CPUs, a tick is 16 steps of the
 * counter (about 6 ns at 2.7 GHz: fine enough, and a byte shorter in the recording). If the kernel
 * does not say, the CPU's own statement decides. Elsewhere a tick is a nanosecond of
 * CLOCK_MONOTONIC. Pairs of (ticks, CLOCK_MONOTONIC) in the recording give the length of a tick.
 *
 * A lane is one stream of events: of a thread, or of a signal handler that interrupted a hook
 * (lane.h). The writer is the process that writes the recording (writer.h).
 *
 * Heartbeat. While events come fast, the writer stores a new value in clock_heartbeat every
 * millisecond. An event compares clock_heartbeat with the value at its lane's last clock reading.
 * If the values differ, time has passed, and the event reads the clock (estimated_time.h).
 */
#ifndef RECORD_CLOCK_H
#define RECORD_CLOCK_H

#include <stdatomic.h>

#include "arch/arch.h"
#include "base/units.h"

#define CLOCK_TICK_SHIFT 4

/* Ticks come from the CPU's counter. Constant after clock_init(). */
extern HIDDEN uint8_t clock_is_cpu;

/* 1: a second lane makes events, or did. Never back to 0, not even in a forked child.
 *
 * thread.c (a second thread) and capture.c (a signal handler) set it before the second lane's first
 * event. A lane that gets an address from another lane got it through a lock or an atomic of the
 * allocator or the program, and so sees the 1. Hence relaxed loads are enough. */
extern HIDDEN _Atomic uint8_t clock_many_lanes;

/* Not 0: times may be estimated, and the value changes at least every CLOCK_HEARTBEAT_NS, or later
 * if the writer does not get a CPU. 0: all times must be read. Only the writer changes it. */
extern HIDDEN _Atomic uint64_t clock_heartbeat;
#define CLOCK_HEARTBEAT_NS NS_PER_MS

/* The longest time for which clock_heartbeat kept one value that is not 0: no estimated time is
 * further from the truth. Only the writer uses it, and stores it in the recording. */
extern uint64_t clock_longest_heartbeat_ticks;

/* Decides which clock to use. Once, before the first event. */
void clock_init(void);

/* Writer: stores the first or the next heartbeat. The writer must call this again within
 * CLOCK_HEARTBEAT_NS, or call clock_heartbeat_stop() before anything that may take longer. False:
 * this process estimates no times (MEMORY_PROFILER_PRECISE_TIMESTAMPS, or no counter of the CPU),
 * and no heartbeat is needed. */
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

/* Waits until all earlier loads are done. Without the fence a CPU may read its counter before
 * earlier loads are done, and the time comes out early.
 *
 * A lane calls clock_fence() before it reads the time of a release at an address that it does not
 * own (address_owner.h). So the release is not earlier than the allocation of the block in another
 * lane: whatever handed the block over was done before the reading. A release at an address that
 * the lane owns needs no fence, because the order within the lane decides.
 *
 * An allocation needs no fence: a reader of the recording (ingest/pairing.h) repairs the order of
 * events at one address if only allocations are early. Example, with A1 R1 A2 R2 as the true order
 * of allocations and releases:
 *
 *	A1 A2 R1 R2   A2 is early: a reader sees two allocations in a row, moves A2 behind R1
 *	A1 R2 R1 A2   R2 is early: a reader would take R2 for the end of A1; the fence prevents it
 *	A2 A1 R1 R2   A2 is early by more than the lifetime of the first block: may stay wrong
 */
static ALWAYS_INLINE void clock_fence(void)
{
	arch_ticks_fence();
}

#endif
