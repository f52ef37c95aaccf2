/* cli/open_args.c - see open_args.h. */
#include "cli/open_args.h"

#include "query/filter_value.h"
#include "util/memory_budget.h"

int open_args_set_memory(const char *size, struct err *err)
{
	uint64_t n_bytes;

	if (!size)
		return 0;
	if (!filter_value_size(size, &n_bytes) || n_bytes < MEMORY_BUDGET_MIN)
		return err_set(err, ERR_USAGE,
			       "--memory '%s' is no size of at least %zuM, such as 512M", size,
			       MEMORY_BUDGET_MIN >> 20);
	memory_budget_set(n_bytes);
	return 0;
}

int open_args_finish(struct open_args *a, struct err *err)
{
	a->options.debug_path = a->debug.item;
	a->options.n_debug_paths = a->debug.n;
	return open_args_set_memory(a->memory, err);
}
