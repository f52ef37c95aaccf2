/* cli/open_args.c - see open_args.h. */
#include "cli/open_args.h"

void open_args_finish(struct open_args *a)
{
	a->options.debug_path = a->debug.item;
	a->options.n_debug_paths = a->debug.n;
}
