/* util/scratch.h - large arrays of zeroes for a short time, from memory that is used again.
 *
 * A pass over rows needs some megabytes for sums, and so does the next one. Fresh memory costs a page fault
 * for each page; in a virtual machine that gives free memory back to its host it costs ten times as much.
 * What is given back is kept for the next one: at most a sixteenth of the memory budget, the oldest goes first.
 * Threads: any.
 */
#ifndef UTIL_SCRATCH_H
#define UTIL_SCRATCH_H

#include <stddef.h>

/* n_bytes of zeroes, at an address that is a multiple of 64. NULL: no memory. */
void *scratch_take(size_t n_bytes);

/* What scratch_take() gave. NULL does nothing. */
void scratch_give(void *data);

#endif
