/* base/units.h - names for powers: bytes and nanoseconds. */
#ifndef BASE_UNITS_H
#define BASE_UNITS_H

#define KIB 1024ull
#define MIB (1024ull * KIB)
#define GIB (1024ull * MIB)

#define NS_PER_US 1000ull
#define NS_PER_MS (1000ull * NS_PER_US)
#define NS_PER_S (1000ull * NS_PER_MS)

#endif
