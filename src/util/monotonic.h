/* util/monotonic.h - a clock for measuring durations: nanoseconds since an arbitrary start. */
#ifndef UTIL_MONOTONIC_H
#define UTIL_MONOTONIC_H

#include <stdint.h>
#include <time.h>

#include "base/units.h"

static inline uint64_t monotonic_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

#endif
