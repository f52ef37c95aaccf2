/* harness/random.h - numbers that look random and are the same in every run (xorshift64). */
#ifndef HARNESS_RANDOM_H
#define HARNESS_RANDOM_H

#include <stdint.h>

#define RANDOM_SEED 88172645463325252ull /* any but 0 will do */

static inline uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

#endif
