/* record/credentials.h - the writer gives up the privileges that the program gave up.
 *
 * A program that drops root must not leave a process behind that shares its memory and has root.
 */
#ifndef RECORD_CREDENTIALS_H
#define RECORD_CREDENTIALS_H

#include <stdint.h>

/* Takes on the ids of the process pid if they differ. Writer only. */
void credentials_follow(uint32_t pid);

#endif
