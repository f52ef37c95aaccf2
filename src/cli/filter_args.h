/* cli/filter_args.h - the conditions of a filter as options of a command: --size-min=1k.
 *
 * Every parameter of query/filter.h is an option of the same name; '-' stands for '_' as well.
 */
#ifndef CLI_FILTER_ARGS_H
#define CLI_FILTER_ARGS_H

#include "cli/args.h"
#include "query/filter.h"

#define FILTER_ARGS_MAX 64

struct filter_args {
	struct filter filter;
	struct args_more more; /* for args_command.more */
	const char *name[FILTER_ARGS_MAX]; /* what was set, in the order of the command line ... */
	const char *value[FILTER_ARGS_MAX]; /* ... borrowed from argv */
	size_t n;
	char *owned[2]; /* values that are no words of argv: the ends of --time */
};

void filter_args_init(struct filter_args *a);
void filter_args_fini(struct filter_args *a);

/* "FROM..TO" as the conditions from and to; either end may be left out. */
int filter_args_set_time(struct filter_args *a, const char *range, struct err *err);

#endif
