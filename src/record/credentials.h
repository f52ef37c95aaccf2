/* record/credentials.h - the writer gives up the privileges that the program gave up.
 *
 * The kernel keeps user and group ids per thread. libc changes them for the threads that it knows,
 * and it does not know the writer. A program that drops root must not keep a thread that has it.
 */
#ifndef RECORD_CREDENTIALS_H
#define RECORD_CREDENTIALS_H

/* Takes on the ids of the main thread if they differ. Writer thread only, once a second. */
void credentials_follow(void);

#endif
