/* arch/x86_64/ticks.h - the time stamp counter. */
#ifndef ARCH_X86_64_TICKS_H
#define ARCH_X86_64_TICKS_H

#include <cpuid.h>

#include "base/compiler.h"

/* Unfenced on purpose: fencing costs 12 ns an event. What is read early, behind a slow exchange with
 * another CPU by up to 10 us, is put in order by the reader: the events of one address alternate. */
static inline uint64_t arch_ticks(void)
{
	return __builtin_ia32_rdtsc();
}

static inline bool arch_ticks_usable(void)
{
	unsigned a, b, c, d;

	return __get_cpuid(0x80000007u, &a, &b, &c, &d) && (d & (1u << 8)); /* invariant TSC */
}

#endif
