/* record/log.h - the log of the recorder (MEMORY_PROFILER_LOG, MEMORY_PROFILER_LOGFILE).
 *
 * A thread of the target only puts a line into the ring (log_ring.h). The writer, which has
 * descriptors of its own, writes the line out (writer_log.h). So logging never blocks the target on
 * a full pipe and never writes to a descriptor that now belongs to the program. A line that finds
 * no room is dropped and counted.
 *
 * Threads: any, also in signal handlers, unless a function says otherwise. errno stays.
 */
#ifndef RECORD_LOG_H
#define RECORD_LOG_H

#include "base/text.h"
#include "record/log_ring.h"
#include "record/options.h"

/* Does MEMORY_PROFILER_LOG ask for this level? Debug and trace lines are compiled in with
 * -Ddebug_logs=true only. */
bool log_wants(enum log_level level);

/* Puts a line, if its level is wanted and a recorder runs. */
void log_put(enum log_level level, const char *line);

/* Put "what: text", and "what: path: ENOSPC: no space left on device (errno 28)". error:
 * positive. */
void log_put_text(enum log_level level, const char *what, const char *text);
void log_put_error(enum log_level level, const char *what, const char *path, long error);

#define log_debug(line)                                                                            \
	do {                                                                                       \
		if (CONFIG_DEBUG_LOGS)                                                             \
			log_put(LOG_DEBUG, line);                                                  \
	} while (0)

/* For a recorder that could not even start: the calling thread writes the line itself, to stderr or
 * to the log file. */
void log_directly(const char *line);

/* Name and meaning of an errno value (positive), or "error". A constant. */
const char *log_errno_name(long error);

/* Writer: puts the next line of the ring into out, formatted and ended by a newline, and
 * frees its slot. pid: of the target. with_prefix: "memory-profiler: " comes first. False: there is none. */
bool log_take(struct log_ring *ring, uint32_t pid, struct text *out, bool with_prefix);

#endif
