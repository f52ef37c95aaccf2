/* record/rotation.h - when the recording goes on in a new file (a piece), and which pieces stay.
 *
 * A new piece begins when recording is switched on again (control.c), when the current piece has
 * MEMORY_PROFILER_ROTATE_SIZE bytes (embedded files do not count), and when it is
 * MEMORY_PROFILER_ROTATE_INTERVAL seconds old. Of the pieces of this process the newest
 * MEMORY_PROFILER_KEEP stay; older ones are removed. Settings that are unset or 0 do nothing.
 *
 * Threads move to the new file one by one, each with its next event. So an idle thread may use the
 * blocks of an old file for days. To hold few descriptors, the writer closes the files of all old
 * pieces but the newest ROTATION_MAX_OPEN. The blocks of a closed file stay mapped, and readers find
 * the events in these blocks in the file.
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
	uint64_t not_before_ns; /* when to try again, after a new piece could not be made */
	struct rotation_page *first, *last; /* paths of the pieces that are kept, oldest first */
	uint64_t n_kept; /* number of these paths */
};

/* Is it time for a new piece? s: the current one. Then the writer creates a session and calls one
 * of the next two. */
bool rotation_is_due(const struct rotation *r, const struct session *s, uint64_t now_ns);

/* The piece s began at now_ns: removes the oldest pieces beyond MEMORY_PROFILER_KEEP. */
void rotation_on_piece(struct rotation *r, struct recorder *rec, const struct session *s,
		       uint64_t now_ns);

/* A piece could not be made: the current one goes on, for 10 s at least. */
void rotation_on_failure(struct rotation *r, uint64_t now_ns);

/* Shall the piece of this number carry the embedded files (binaries) again? Every piece whose number
 * MEMORY_PROFILER_KEEP divides does, so there is always one among the pieces that are kept. */
bool rotation_embeds_again(uint32_t piece);

#endif
