/* record/credentials.h - the writer gives up the privileges that the program gave up.
 *
 * The kernel keeps user and group ids per thread; libc changes those of the threads it knows, and
 * it does not know the writer. A program that drops root must not keep a thread that has it.
 */
#ifndef RECORD_CREDENTIALS_H
#define RECORD_CREDENTIALS_H

/* Compares with the main thread and follows. Writer thread only; cheap, once a second. */
void credentials_follow(void);

#endif
