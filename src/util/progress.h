/* util/progress.h - how far a long job is, on the user's terminal.
 *
 *	progress_start(&p, "reading app.dat", n_bytes, PROGRESS_BYTES);
 *	while (...)
 *		progress_set(&p, done);
 *	progress_end(&p);
 *
 * One line on stderr with a bar, percent, rate and remaining time:
 *	reading app.dat [#######---------]  43%  212 MiB/s  0:42 left
 * The line appears only when stderr is a terminal that can erase a line (not TERM=dumb), the
 * process is in the terminal's foreground and progress_disable() was not called. It appears after
 * half a second, so short jobs show nothing, and is drawn at most ten times a second.
 * progress_end() erases the line: call it before printing anything else. Of several jobs at the
 * same time, or one inside another, only the first is shown. Threads: one at a time per struct
 * progress.
 */
#ifndef UTIL_PROGRESS_H
#define UTIL_PROGRESS_H

#include "base/compiler.h"

#define PROGRESS_LABEL_BYTES 96

enum progress_unit {
	PROGRESS_BYTES, /* 212 MiB/s */
	PROGRESS_EVENTS, /* 3.1 M events/s */
	PROGRESS_ITEMS, /* 3.1 M/s: the label says of what */
};

struct progress {
	char label[PROGRESS_LABEL_BYTES]; /* without control characters */
	uint64_t total; /* 0: not known, and no bar */
	uint64_t done;
	uint64_t start_ns;
	uint64_t looked_ns; /* when the clock was read last */
	uint64_t drawn_ns; /* 0: not on the screen */
	uint64_t drawn_done;
	double per_second; /* smoothed; 0 before the second drawing */
	uint32_t n_skip; /* calls of progress_set() between two looks at the clock */
	uint32_t n_left; /* of these */
	bool is_on;
	enum progress_unit unit;
};

/* Shows nothing from now on (--quiet). */
void progress_disable(void);

/* label is copied. total is in units; 0 when it is not known. */
void progress_start(struct progress *p, const char *label, uint64_t total, enum progress_unit unit);

/* Reads the clock and draws when it is time. For progress_set(). */
void progress_look(struct progress *p);

/* done units of total are finished. Costs a nanosecond: may be called for each event. */
static inline void progress_set(struct progress *p, uint64_t done)
{
	p->done = done;
	if (unlikely(p->is_on) && p->n_left-- == 0)
		progress_look(p);
}

static inline void progress_add(struct progress *p, uint64_t more)
{
	progress_set(p, p->done + more);
}

/* Erases the line. A zeroed struct, or one that has ended, does nothing. */
void progress_end(struct progress *p);

#endif
