/* record/ending.h - the recording ends in order, where the program gives the time for it.
 *
 * Without it no event is lost: every event is in the file already. What is gained: the last blocks
 * are checked and compressed, binaries are embedded, and the recording says how the program ended.
 * Threads: the program's. Only in the process that is recorded (record_find_own()): a vfork child
 * is another.
 */
#ifndef RECORD_ENDING_H
#define RECORD_ENDING_H

#include "format/format.h"
#include "record/record.h"

/* The process ends, or becomes another program: records that. Waits for the writer, a second at
 * most, where the writer may be ended together with the process (a container), and longer for clients
 * of the server (MEMORY_PROFILER_SERVER_EXIT_WAIT). Recording goes on: there may be destructors to
 * run and other threads, or the exec may fail. */
void ending_begin(struct recorder *rec, enum format_end_how how, int status);

/* The exec failed: the recording goes on as if ending_begin() had not been called. */
void ending_take_back(struct recorder *rec);

/* The recorder ends, not the program: it could not go on without harm. Afterwards there is no
 * writer, and no hook makes a system call. why: a constant, which stays in the recording. */
void ending_give_up(struct recorder *rec, const char *why);

/* Hands over the blocks of the calling thread, so that the writer moves their events to the checked
 * and compressed part of the file. Does nothing in a signal handler that interrupted a hook: the
 * block is in use. */
void ending_hand_over(void);

#endif
