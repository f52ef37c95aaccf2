/* arch/x86_64/ticks.h - the time stamp counter. */
#ifndef ARCH_X86_64_TICKS_H
#define ARCH_X86_64_TICKS_H

#include <cpuid.h>

#include "base/compiler.h"

/* Unfenced: the CPU may read the counter before earlier instructions are done. After a slow
 * exchange of a cache line with another CPU the reading was seen to be 10 us early. */
static inline uint64_t arch_ticks(void)
{
	return __builtin_ia32_rdtsc();
}

/* Instructions before the fence are done before instructions after it begin. Costs 10 ns. */
static inline void arch_ticks_fence(void)
{
	__builtin_ia32_lfence();
}

static inline bool arch_ticks_usable(void)
{
	unsigned a, b, c, d;

	return __get_cpuid(0x80000007u, &a, &b, &c, &d) && (d & (1u << 8)); /* invariant TSC */
}

#endif
