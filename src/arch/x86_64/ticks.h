/* arch/x86_64/ticks.h - the time stamp counter. */
#ifndef ARCH_X86_64_TICKS_H
#define ARCH_X86_64_TICKS_H

#include <cpuid.h>

#include "base/compiler.h"

/* Unfenced: it may be read before what comes before it in the program is done. Behind a slow exchange
 * with another CPU that was seen to be 10 us. */
static inline uint64_t arch_ticks(void)
{
	return __builtin_ia32_rdtsc();
}

/* What comes before it in the program is done before what comes after it begins. Costs 10 ns. */
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
