/* record/clock.c - see clock.h. */
#include "record/clock.h"

#include <string.h>

#include "record/sys.h"

uint8_t clock_is_cpu;
HOT_DATA _Atomic uint8_t clock_is_shared;

void clock_init(void)
{
	static const char path[] =
		"/sys/devices/system/clocksource/clocksource0/current_clocksource";
	char source[32] = {0};
	long n = sys_read_file(path, source, sizeof(source) - 1);

	/* The kernel takes "tsc" only after having checked that the counters agree. Where it does
	 * not tell (no /sys), the CPU's own word must do. */
	if (n > 0)
		clock_is_cpu =
			!strncmp(source, "tsc", 3) || !strncmp(source, "arch_sys_counter", 16);
	else
		clock_is_cpu = arch_ticks_usable();
}

uint64_t clock_monotonic_ns(void)
{
	struct timespec ts = {0};

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}
