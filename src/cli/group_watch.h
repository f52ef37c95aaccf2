/* cli/group_watch.h - was a signal sent to this process alone, or to its whole process group?
 *
 * `run` passes signals on to a child in the same process group. A signal to the group reaches the
 * child directly and must not be passed on as well, but the kernel does not say how a signal was
 * sent. So a second process joins the group and keeps all signals blocked: a signal to the group is
 * pending there, a signal to this process alone is not.
 *
 *	memory-profiler-cli ----- socket ------ watcher (all signals blocked)
 *	        |       "is signal N pending?"     |
 *	        +------ same process group --------+---- the program
 */
#ifndef CLI_GROUP_WATCH_H
#define CLI_GROUP_WATCH_H

#include <sys/types.h>

#include "base/compiler.h"

struct group_watch {
	pid_t pid; /* of the watcher; 0: none, then every signal counts as sent to us alone */
	int fd; /* questions and answers */
};

#define GROUP_WATCH_NONE ((struct group_watch){.fd = -1})

/* Starts the watcher; *w is GROUP_WATCH_NONE if no process can be started. The caller has blocked
 * all signals; they stay blocked in the watcher. */
void group_watch_open(struct group_watch *w);

/* Ends the watcher. It also ends by itself when this process ends. */
void group_watch_close(struct group_watch *w);

/* A signal has arrived here: has it arrived in the whole group? Must be asked exactly once for each
 * arrival, because the answer consumes the pending signal of the watcher. */
bool group_watch_has(const struct group_watch *w, int signal_number);

#endif
