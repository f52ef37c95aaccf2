/* cli/top_table.h - who holds memory, and who allocates now: the table that `top` shows.
 *
 * A line is a function of the program: the frame to blame of the stacks that allocated. */
#ifndef CLI_TOP_TABLE_H
#define CLI_TOP_TABLE_H

#include "open/open.h"

enum top_sort {
	TOP_HELD, /* bytes alive */
	TOP_RATE, /* bytes per second */
};

struct top_line {
	char *function; /* owned */
	uint64_t held_bytes;
	uint64_t held_count;
	uint64_t now_bytes; /* allocated in the last window_ns */
	uint64_t now_count;
	uint64_t all_bytes; /* since the start */
	uint64_t all_count;
};

struct top_table {
	struct top_line *line; /* owned; greatest first */
	size_t n;
	uint64_t window_ns; /* what "now" means: this much before the newest event; not 0 */
	struct top_line total; /* without a function */
};

/* What each function had allocated, culled blocks too, when the recorder last counted these. */
struct top_counts {
	uint64_t at_ns; /* 0: nothing was counted */
	struct top_line *line; /* owned; by name of the function */
	size_t n;
	struct top_line total;
};

/* Of earlier tables of the same recording: zeroed before the first. */
struct top_history {
	struct top_counts before, latest;
};

/* Makes the table of a recording as it is now. window_ns: of the table; less where the recording is
 * shorter. Where blocks are culled, which the recorder counts from time to time, what is allocated now is
 * the mean between its last two counts, or at first since the start; `history` keeps them. ERR_MEMORY, or
 * the error of a query. Free with top_table_fini() in every case. */
int top_table_make(struct open_recording *o, uint64_t window_ns, enum top_sort sort,
		   struct top_history *history, struct top_table *ret, struct err *err);
void top_table_fini(struct top_table *t);
void top_history_fini(struct top_history *h);

#endif
