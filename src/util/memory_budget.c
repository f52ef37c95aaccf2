/* util/memory_budget.c - see memory_budget.h. */
#include "util/memory_budget.h"

static size_t budget_bytes = MEMORY_BUDGET_DEFAULT;

void memory_budget_set(size_t n_bytes)
{
	budget_bytes = n_bytes;
}

size_t memory_budget_share(unsigned sixteenths)
{
	return budget_bytes / 16 * sixteenths;
}
