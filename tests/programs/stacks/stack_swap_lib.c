/* programs/stacks/stack_swap_lib.c - built twice, as libraries of the same size and layout: the
 * function of the one lies where the function of the other lay, with another frame. SWAP_NAME and
 * SWAP_FRAME_BYTES come from the build. */
#include "mark.h"

#define PASTE(a, b) a##b
#define NAME(a, b) PASTE(a, b)

/* Locals make the frames different; the code around them is the same. */
SEPARATE static void NAME(inner_, SWAP_NAME)(size_t size)
{
	char local[SWAP_FRAME_BYTES];

	KEEP(local);
	MARK(size);
	KEEP(local);
}

void swap_call(size_t size);
void swap_call(size_t size)
{
	char local[SWAP_FRAME_BYTES];

	KEEP(local);
	NAME(inner_, SWAP_NAME)(size);
	KEEP(local);
}

__attribute__((constructor)) static void NAME(loaded_, SWAP_NAME)(void)
{
	MARK(SWAP_FRAME_BYTES + 4100);
}
