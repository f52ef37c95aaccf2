/* record/start.h - when the recorder of a process begins: at its first hook, and again after a
 * fork.
 *
 * The first hook of a process decides once: it reads the environment, maps the recorder's memory
 * and starts the writer, or refuses; afterwards record_mode is not RECORD_UNSET. A forked child
 * finds the memory wiped; its next hook notices, and the child starts a recording of its own or
 * none (TRACK_CHILD_PROCESSES). Errors: a recorder that cannot start says why in the log, and the
 * program runs unrecorded. Threads: any.
 */
#ifndef RECORD_START_H
#define RECORD_START_H

#include "base/compiler.h"

/* Starts the recorder or refuses, once; a thread that comes meanwhile waits. */
void start_recorder(void);

/* Did this process come into being by a fork since the last call? If so, record_mode becomes
 * RECORD_UNSET (children are tracked) or RECORD_OFF, and the calling thread is unknown. */
void start_check_fork(void);

/* Recording was disabled by MEMORY_PROFILER_DISABLE_BY_DEFAULT and has never begun: lets the next
 * hook start the recorder. False: there is nothing to start. Safe in signal handlers. */
bool start_enable(void);

/* Forked children are not recorded from now on: a filter of system calls, which they inherit, may kill
 * for what the start of a recording needs. */
void start_never_in_children(void);

/* No hook that begins from now on records anything or makes a system call, and nothing switches
 * recording on again. */
void start_never(void);

#endif
