/* record/cull.h - leaves short-lived allocations out of the recording
 * (MEMORY_PROFILER_CULL_TEMPORARY_ALLOCATIONS).
 *
 * The hooks know nothing of culling. Threads fill their blocks as always. Instead of compressing
 * these blocks the writer decodes them, drops the allocations that were freed soon, and writes what
 * is left into blocks of its own:
 *
 *	blocks that threads fill --decode, in order of time--> slots --older than the limit--> output
 *	                                                         |                             blocks
 *	                                                         +--freed soon--> sums per stack
 *
 * An allocation and all that realloc() made of it are a chain; the chain is left out if it is freed
 * before it is MEMORY_PROFILER_TEMPORARY_ALLOCATION_LIFETIME_THRESHOLD old. What is left out counts
 * in sums per stack, which are written as events (EVENT_CULLED). Definitions of stacks stay.
 *
 * Slots lie in the file (format/pending.h), so nothing is lost when the process is killed, except
 * the sums of the last seconds. At most MEMORY_PROFILER_TEMPORARY_ALLOCATION_PENDING_THRESHOLD
 * events are undecided; beyond it the oldest are written.
 *
 * Doubt keeps an allocation in the recording: where clocks of CPUs may have the order of events at
 * an address wrong, both allocations and both frees are written, and readers pair them.
 *
 * Threads: the writer only.
 */
#ifndef RECORD_CULL_H
#define RECORD_CULL_H

#include "record/session.h"

struct cull; /* opaque: defined in cull_i.h */

/* Does this process cull? */
bool cull_is_wanted(void);

/* Writes a block out and gives it back, as the writer does with any full block. */
typedef void (*cull_write_block)(void *user, struct session *s, struct area *area, uint32_t slot);

/* Begins to cull a session without events. NULL: no memory, or no room in the file; the log says
 * so, and everything is recorded. */
struct cull *cull_create(struct recorder *rec, struct session *s, struct session_buffers *b,
			 cull_write_block write_block, void *user);

/* Unmaps everything; the blocks were written (cull_flush()). */
void cull_destroy(struct cull *c);

/* Takes what threads have published. False: there was nothing. *is_lively: events come fast. */
bool cull_step(struct cull *c, bool *is_lively);

/* The writer that culled so far was killed, at any moment, also in here: another one goes on, and each
 * event is in the recording or in a sum exactly once. Allocations that were undecided stay. */
void cull_resume(struct cull *c);

/* The session ends: from now on nothing is left out, and cull_flush() writes what is pending. */
void cull_close(struct cull *c);

/* Takes what threads have published, decides that everything pending stays, and writes all.
 * is_final: there will be no further step; nothing is left in blocks of the writer. */
void cull_flush(struct cull *c, bool is_final);

#endif
