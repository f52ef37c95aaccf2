/* record/clock.c - see clock.h. */
#include "record/clock.h"

#include <string.h>

#include "record/options.h"
#include "record/sys.h"

uint8_t clock_is_cpu;
HOT_DATA _Atomic uint8_t clock_many_lanes;
HOT_DATA _Atomic uint64_t clock_heartbeat;
uint64_t clock_longest_heartbeat_ticks;

void clock_init(void)
{
	static const char path[] =
		"/sys/devices/system/clocksource/clocksource0/current_clocksource";
	char source[32] = {0};
	long n = sys_read_file(path, source, sizeof(source) - 1);

	/* The kernel uses "tsc" only after it has checked that the counters of all CPUs agree.
	 * Where the kernel does not say (no /sys), the CPU's own statement must do. */
	if (n > 0)
		clock_is_cpu =
			!strncmp(source, "tsc", 3) || !strncmp(source, "arch_sys_counter", 16);
	else
		clock_is_cpu = arch_ticks_usable();
}

/* The time is read again after the store: the kernel may have kept the writer from its CPU just
 * before the store, and events went on with the old heartbeat until then. */
static void set_heartbeat(uint64_t heartbeat)
{
	uint64_t last = atomic_load_explicit(&clock_heartbeat, memory_order_relaxed);
	uint64_t lasted_ticks;

	atomic_store(&clock_heartbeat, heartbeat);
	lasted_ticks = last ? clock_ticks() - last : 0;
	if (lasted_ticks > clock_longest_heartbeat_ticks)
		clock_longest_heartbeat_ticks = lasted_ticks;
}

bool clock_heartbeat_start(void)
{
	if (!clock_is_cpu || options_active.PRECISE_TIMESTAMPS)
		return false;
	set_heartbeat(clock_ticks());
	return true;
}

void clock_heartbeat_stop(void)
{
	set_heartbeat(0);
}

void clock_heartbeat_reset(void)
{
	atomic_store_explicit(&clock_heartbeat, 0, memory_order_relaxed);
	clock_longest_heartbeat_ticks = 0;
}

uint64_t clock_monotonic_ns(void)
{
	struct timespec ts = {0};

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}
