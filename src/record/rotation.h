/* record/rotation.h - when the recording goes on in a new file (a piece), and which pieces stay.
 *
 * A piece begins when recording is switched on again (control.c), when the piece has
 * MEMORY_PROFILER_ROTATE_SIZE bytes, and when it is MEMORY_PROFILER_ROTATE_INTERVAL seconds old. Of
 * the pieces of this process the newest MEMORY_PROFILER_KEEP stay; older ones are removed.
 *
 * Threads move to the new file one by one, each with its next event. So the file of an idle thread
 * may stay in use for days. To hold few descriptors, the files of all but the newest
 * ROTATION_MAX_OPEN old pieces are closed. What is in the mapped blocks of such a file stays there,
 * where readers find it.
 *
 * Threads: the writer only.
 */
#ifndef RECORD_ROTATION_H
#define RECORD_ROTATION_H

#include "record/record.h"

#define ROTATION_MAX_OPEN 4

struct rotation_page;

/* Zeroed: no piece yet. */
struct rotation {
	uint64_t began_ns; /* the current piece */
	uint64_t not_before_ns; /* a new piece could not be made; the next attempt */
	struct rotation_page *first, *last; /* paths of the pieces that are there, oldest first */
	uint64_t n_kept;
};

/* Is it time for a new piece? */
bool rotation_is_due(const struct rotation *r, const struct session *s, uint64_t now_ns);

/* A piece began at now_ns: removes pieces that are too many. */
void rotation_on_piece(struct rotation *r, struct recorder *rec, const struct session *s,
		       uint64_t now_ns);

/* A piece could not be made: the current one goes on for some time. */
void rotation_on_failure(struct rotation *r, uint64_t now_ns);

/* Shall this piece have the embedded files again? Earlier pieces that had them may be removed. */
bool rotation_embeds_again(uint32_t piece);

#endif
