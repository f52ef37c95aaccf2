/* record/log.h - the log of the recorder (MEMORY_PROFILER_LOG, MEMORY_PROFILER_LOGFILE).
 *
 * Threads of the target only put a line into a slot; the writer thread, which has descriptors of
 * its own, writes it out. So logging never blocks the target on a full pipe and never writes to a
 * descriptor that is not ours any more. Without a free slot the line is counted as dropped.
 */
#ifndef RECORD_LOG_H
#define RECORD_LOG_H

#include "base/text.h"
#include "record/log_ring.h"
#include "record/options.h"

/* Is this level wanted? Debug and trace lines are compiled in with -Ddebug_logs=true only. */
bool log_wants(enum log_level level);

/* Puts a line. Safe anywhere. */
void log_put(enum log_level level, const char *line);

/* Common shapes: "what: text" and "what: path: ENOSPC: no space left on device (errno 28)". */
void log_put_text(enum log_level level, const char *what, const char *text);
void log_put_error(enum log_level level, const char *what, const char *path, long error);

#define log_debug(line)                                                                            \
	do {                                                                                       \
		if (CONFIG_DEBUG_LOGS)                                                             \
			log_put(LOG_DEBUG, line);                                                  \
	} while (0)

/* For a recorder that could not even start: one line, written by the calling thread itself. */
void log_directly(const char *line);

/* Short name of an errno value (positive), or "error". */
const char *log_errno_name(long error);

/* Writer thread: puts the next line of the ring into out, formatted and ended by a newline, and frees its
 * slot. with_prefix: "memory-profiler: " comes first. False: there is none. */
bool log_take(struct log_ring *ring, struct text *out, bool with_prefix);

#endif
