/* gather/remote_copy.h - a recording on another host as a file here, while it is written there: what
 * `--connect HOST:PORT` of the commands does.
 *
 * A child process receives into a temporary folder, keeps receiving as long as this process wants,
 * and removes the folder at the end, also when this process is killed. Threads: open the copy before
 * the process has any.
 */
#ifndef GATHER_REMOTE_COPY_H
#define GATHER_REMOTE_COPY_H

#include <sys/types.h>

#include "util/err.h"

struct remote_copy {
	pid_t pid; /* of the child; 0: none */
	char *folder; /* owned */
	char *path; /* of the recording; owned */
};

/* Connects, and waits until all that the recorder had written by then is here. The token is that of
 * MEMORY_PROFILER_SERVER_TOKEN. ERR_REFUSED, ERR_IO, ERR_USAGE: the text names the target. */
int remote_copy_open(const char *target, struct remote_copy *ret, struct err *err);
void remote_copy_close(struct remote_copy *c); /* a zeroed struct is closed */

#endif
