/* record/park.h - the writer steps aside for a moment.
 *
 * Some calls are open to processes with a single thread only (another user namespace). The writer
 * is a second one that the program did not make, so it ends, the call is made, and it is started
 * again where it was. Its descriptors are in a table of its own, which ends with it: meanwhile the
 * calling thread holds them, the only one there is, with signals blocked.
 *
 * Order: park_begin() asks; the writer lists its descriptors and waits; the caller opens each anew
 * through /proc and says "go"; the writer ends. If anything fails before that, all is as before.
 */
#ifndef RECORD_PARK_H
#define RECORD_PARK_H

#include <stdatomic.h>

#include "base/compiler.h"

#define PARK_MAX_FDS 16

enum park_state {
	PARK_NONE,
	PARK_WANTED, /* by the program's thread */
	PARK_LISTED, /* the writer has said what it has open */
	PARK_GO, /* it may end */
};

struct park {
	_Atomic uint32_t state; /* futex: enum park_state */
	uint32_t n;
	int *slot[PARK_MAX_FDS]; /* where the writer keeps the number */
	int flags[PARK_MAX_FDS]; /* how it is open */
	int fd[PARK_MAX_FDS]; /* the caller's number for the same file */
	int *stderr_slot; /* likewise of stderr, which the caller has as well; or NULL */
	uint64_t stderr_id[2]; /* device and inode, should it have another one by now */
	uint64_t signal_mask; /* of the caller */
};

struct recorder;

/* For the program's thread: the writer is gone until park_end(). False, with nothing changed, when
 * the process has more threads than this one and the writer, or the files cannot be held. */
bool park_begin(struct recorder *rec);
void park_end(struct recorder *rec);

/* For the program's thread: the writer ends and does not come back. */
void park_for_good(struct recorder *rec);

/* For the writer: what it has open, one by one. Forgotten by park_forget_files(). */
void park_forget_files(struct park *p);
void park_add_file(struct park *p, int *slot);

/* For the writer, after that. True: it must end now, as it is. */
bool park_step_aside(struct park *p);

/* For the writer that was started again: all descriptors but its own are closed, its own have new
 * numbers. */
void park_take_over(struct park *p);

#endif
