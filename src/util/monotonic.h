/* util/monotonic.h - how much time has passed. */
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
