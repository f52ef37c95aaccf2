/* cli/filter_args.h - the conditions of a filter as options of a command: --size-min=1k.
 *
 * Each parameter of query/filter.h is an option of the same name; '-' may stand for '_'.
 */
#ifndef CLI_FILTER_ARGS_H
#define CLI_FILTER_ARGS_H

#include "cli/args.h"
#include "query/filter.h"

#define FILTER_ARGS_MAX 64

struct filter_args {
	struct filter filter;
	struct args_more
		more; /* for args_command.more; its user is this struct, which must not move */
	/* The n conditions that were set, in the order of the command line. name[] is static, value[]
	 * is borrowed from argv or points to owned[]. */
	const char *name[FILTER_ARGS_MAX];
	const char *value[FILTER_ARGS_MAX];
	size_t n;
	char *owned[2]; /* the two ends of --time */
};

void filter_args_init(struct filter_args *a);
void filter_args_fini(struct filter_args *a);

/* Sets the conditions `from` and `to` by the text "FROM..TO". Either end may be empty, not both.
 * Returns 0 or -ERR_x. */
int filter_args_set_time(struct filter_args *a, const char *range, struct err *err);

#endif
