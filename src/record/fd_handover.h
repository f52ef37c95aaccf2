/* record/fd_handover.h - the writer's descriptors survive the writer.
 *
 * The writer thread has a descriptor table of its own, which ends with the thread. When the writer
 * must end for a moment (writer_stop.h), the thread of the program that asks for it holds the
 * writer's files meanwhile, and the next writer takes them over. The two threads meet in `state`:
 *
 *	program's thread                          writer
 *	fd_handover_request()     WANTED   ->     fd_handover_clear(), fd_handover_add() for each file
 *	fd_handover_wait_listed() LISTED   <-     fd_handover_offer() begins, and waits
 *	fd_handover_hold() opens each file
 *	fd_handover_go()          GO       ->     fd_handover_offer() returns true: the writer ends
 *	fd_handover_cancel()      NONE     ->     ... or false: the writer goes on as before
 *
 * Then a new writer is started, whose table is a copy of the program's:
 *	                                          fd_handover_adopt()
 *	fd_handover_close()
 */
#ifndef RECORD_FD_HANDOVER_H
#define RECORD_FD_HANDOVER_H

#include <stdatomic.h>

#include "base/compiler.h"

#define FD_HANDOVER_MAX 16

enum fd_handover_state {
	FD_HANDOVER_NONE,
	FD_HANDOVER_WANTED,
	FD_HANDOVER_LISTED,
	FD_HANDOVER_GO,
};

/* Zeroed memory: no handover is under way. */
struct fd_handover {
	_Atomic uint32_t state; /* futex: enum fd_handover_state */
	uint32_t n; /* files listed; more than FD_HANDOVER_MAX: not all of them are */
	int *number[FD_HANDOVER_MAX]; /* where the writer keeps its number of the file */
	int flags[FD_HANDOVER_MAX]; /* how the file is open */
	int fd[FD_HANDOVER_MAX]; /* the program's number for the same file; less than 0: none */
	int *stderr_number; /* where the writer keeps 2, which the program has as well; or NULL */
	uint64_t stderr_id[2]; /* device and inode: the program may have another stderr by now */
};

/* Program's thread: asks the writer, which must be woken after it, for its files. */
void fd_handover_request(struct fd_handover *h);

/* Program's thread: waits for the list, a second at most. False: the request is taken back. */
bool fd_handover_wait_listed(struct fd_handover *h);

/* Program's thread: opens all listed files through /proc. writer_tid: whose table they are in.
 * False: at least one of them could not be opened, or they are too many; then none is open. */
bool fd_handover_hold(struct fd_handover *h, uint32_t writer_tid);

/* Program's thread: the writer may end, or must go on (or be started again). */
void fd_handover_go(struct fd_handover *h);
void fd_handover_cancel(struct fd_handover *h);

/* Program's thread: closes what fd_handover_hold() opened. */
void fd_handover_close(struct fd_handover *h);

/* Writer: empties the list; adds the file whose number is *number. Less than 0: there is none. */
void fd_handover_clear(struct fd_handover *h);
void fd_handover_add(struct fd_handover *h, int *number);

/* Writer: the list is complete. Waits for the answer. True: the writer must end now, as it is. */
bool fd_handover_offer(struct fd_handover *h);

/* The next writer: closes all descriptors but those held for it, and stores their numbers. */
void fd_handover_adopt(struct fd_handover *h);

#endif
