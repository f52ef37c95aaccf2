/* cli/group_watch.h - was a signal sent to us alone, or to our whole process group?
 *
 * The kernel does not tell, and it matters to who passes signals on to a child in the same group:
 * the child has got what the group got. So a process without any other purpose is a member of the
 * group, too. What was sent to the group is pending there; what was sent to us alone is not.
 */
#ifndef CLI_GROUP_WATCH_H
#define CLI_GROUP_WATCH_H

#include <sys/types.h>

#include "base/compiler.h"

struct group_watch {
	pid_t pid; /* 0: there is none, everything counts as sent to us alone */
	int fd; /* questions and answers */
};

#define GROUP_WATCH_NONE ((struct group_watch){.fd = -1})

/* Starts the process in our group, or gives none when there cannot be another process. All signals
 * must be blocked already; its are for ever. */
void group_watch_open(struct group_watch *w);

/* It ends, too, when we end without this. */
void group_watch_close(struct group_watch *w);

/* A signal has arrived here: did it arrive in the whole group? To be asked once for each arrival,
 * whatever else is known about it. */
bool group_watch_has(const struct group_watch *w, int signal_number);

#endif
