/* gather/gather.h - receives the recordings of any number of recorders until they end: what
 * `memory-profiler-cli gather` and `memory-profiler-gather` do.
 *
 * With a target: one recorder, and the function returns when it is over. Without: listens for
 * announcements (UDP, port 43512), receives from every recorder that announces itself, and returns
 * when it is stopped. Threads: one runs it; gather_stop() may be called in a signal handler.
 */
#ifndef GATHER_GATHER_H
#define GATHER_GATHER_H

#include <stdio.h>

#include "gather/gather_link.h"

struct gather_options {
	const char *target; /* HOST, HOST:PORT, [IPV6]:PORT; NULL: whoever announces itself */
	struct gather_link_options link;
	FILE *out; /* what happens, and how fast; NULL: nothing is said */
	bool is_terminal; /* out is one: the rates stay in place */
};

/* Returns the number of recordings of which nothing is missing, or an error. ERR_REFUSED: the
 * target does not let us in. ERR_IO: cannot receive or write. *n_cut: recordings that are cut. */
int gather_run(const struct gather_options *options, unsigned *n_cut, struct err *err);

/* Makes gather_run() return soon. */
void gather_stop(void);

#endif
