/* record/unrecorded.h - forked children that cannot be recorded, counted where their parent sees it.
 *
 * A sandbox (Landlock, a seccomp filter that refuses), or fewer rights after a setuid(), may let a
 * forked child create no file. The child says nothing itself: its stderr may be anything. A process
 * whose children are to be recorded has one shared page, which a fork does not wipe. A child that
 * fails counts itself there with an atomic addition, and the parent's writer makes a note. What such
 * a child forks is not counted.
 *
 * Threads: the one that starts the recorder (start.c), and the writer, which only reads.
 */
#ifndef RECORD_UNRECORDED_H
#define RECORD_UNRECORDED_H

#include <stdatomic.h>

#include "base/text.h"

struct unrecorded {
	_Atomic uint32_t n_children;
	_Atomic uint32_t error; /* of one of them: an errno value; 0: another reason, or none yet */
};

/* A recorder is about to start here. Returns what the parent shares, if this is a forked child of a
 * process that shares it, else NULL; from now on it is not what unrecorded_children() shows. */
struct unrecorded *unrecorded_take(void);

/* The recorder has started: maps a page for the children of this process, and unmaps the parent's.
 * Where there is no memory, nothing is counted. */
void unrecorded_share(struct unrecorded *of_parent);

/* The recorder has not started: counts this process for its parent. error: an errno value or 0. */
void unrecorded_count(struct unrecorded *of_parent, uint32_t error);

/* Writer: puts a note into text, if there is more to say than when n_reported children were reported.
 * is_last: the recording ends; before that a note comes when the number has doubled. Returns the
 * number of children that are now reported. */
uint32_t unrecorded_report(uint32_t n_reported, bool is_last, struct text *text);

#endif
