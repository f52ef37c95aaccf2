/* gather/gather_text.h - what `gather` tells its user: what happens, and how fast it is.
 *
 * On a terminal the rates are the last lines and stay in place; elsewhere each is a line of its own
 * now and then. Threads: one.
 */
#ifndef GATHER_GATHER_TEXT_H
#define GATHER_GATHER_TEXT_H

#include <stdio.h>

#include "gather/gather_link.h"

struct gather_text {
	FILE *out; /* NULL: nothing is said */
	bool is_terminal;
	unsigned n_lines; /* of rates, on the terminal */
	uint64_t shown_ns; /* when the rates were shown last */
};

void gather_text_init(struct gather_text *t, FILE *out, bool is_terminal);
void gather_text_event(struct gather_text *t, const struct gather_link *l,
		       enum gather_link_event event);
void gather_text_rates(struct gather_text *t, struct gather_link *const *link, size_t n);
void gather_text_end(struct gather_text *t);

#endif
