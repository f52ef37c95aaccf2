/* cli/open_args.c - see open_args.h. */
#include "cli/open_args.h"

#include <string.h>

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

static int read_suppressions(struct open_args *a, struct err *err)
{
	int r = 0;

	if (a->suppression_files.n == 0)
		return a->no_built_in
			       ? err_set(err, ERR_USAGE,
					 "--no-built-in-suppressions goes with --suppressions")
			       : 0;
	for (size_t i = 0; i < a->suppression_files.n && r == 0; i++) {
		const char *path = a->suppression_files.item[i];

		if (strcmp(path, "built-in") != 0)
			r = suppressions_read(&a->suppressions, path, err);
	}
	if (r == 0 && !a->no_built_in)
		r = suppressions_add_built_in(&a->suppressions, err);
	a->options.suppressions = &a->suppressions;
	return r;
}

int open_args_finish(struct open_args *a, struct err *err)
{
	int r = read_suppressions(a, err);

	a->options.debug_path = a->debug.item;
	a->options.n_debug_paths = a->debug.n;
	return r < 0 ? r : open_args_set_memory(a->memory, err);
}

void open_args_fini(struct open_args *a)
{
	suppressions_fini(&a->suppressions);
}
