/* util/memory_budget.h - how much memory this program may use for recordings.
 *
 * One number for the process: what modules keep in memory is a share of it, and what is more lies in
 * files. --memory sets it, once, before the first recording is opened. Below MEMORY_BUDGET_MIN
 * questions become slow, so less is not taken.
 */
#ifndef UTIL_MEMORY_BUDGET_H
#define UTIL_MEMORY_BUDGET_H

#include "base/compiler.h"

#define MEMORY_BUDGET_DEFAULT ((size_t)512 << 20)
#define MEMORY_BUDGET_MIN ((size_t)64 << 20)

/* n_bytes is at least MEMORY_BUDGET_MIN. Threads: none but the caller's yet. */
void memory_budget_set(size_t n_bytes);

/* sixteenths of the budget. */
size_t memory_budget_share(unsigned sixteenths);

#endif
