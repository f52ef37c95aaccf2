/* record/ending.h - the recording ends in order, where the program gives us the time.
 *
 * Nothing is lost without it: every event is in the file already. What is gained: the last blocks
 * are checked and compressed, binaries have been embedded, and the recording says that it ended.
 */
#ifndef RECORD_ENDING_H
#define RECORD_ENDING_H

#include "format/format.h"
#include "record/record.h"

/* The process ends, or becomes another program: notes that, and waits for the writer for a second
 * at most. For the process that is recorded only (a vfork child is another). Recording goes on:
 * there may be destructors to run, threads, or the exec may fail. */
void ending_begin(struct recorder *rec, enum format_end_how how, int status);

/* It did not come to the end: the exec failed. */
void ending_take_back(struct recorder *rec);

/* Not the program ends but the recorder: it could not go on without harm. Afterwards there is no
 * writer, and no hook makes a system call. why: stays with the recording; a constant. */
void ending_give_up(struct recorder *rec, const char *why);

/* What this thread wrote goes to its final, checked place now. Not when a handler that interrupted
 * a hook asks for it: then the block is in use. */
void ending_hand_over(void);

#endif
