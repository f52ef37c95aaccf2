/* record/log.h - the log of the recorder (MEMORY_PROFILER_LOG, MEMORY_PROFILER_LOGFILE).
 *
 * Threads of the target only put a line into a slot; the writer thread, which has descriptors of
 * its own, writes it out. So logging never blocks the target on a full pipe and never writes to a
 * descriptor that is not ours any more. Without a free slot the line is counted as dropped.
 */
#ifndef RECORD_LOG_H
#define RECORD_LOG_H

#include <stdatomic.h>

#include "base/text.h"
#include "record/options.h"

#define LOG_LINE_BYTES 448
#define LOG_N_SLOTS 64

struct log_slot {
	_Atomic uint32_t state; /* 0 free, 1 being filled, 2 ready */
	uint32_t level;
	uint64_t order;
	uint32_t tid;
	char line[LOG_LINE_BYTES];
};

/* Lies in memory that a fork wipes. */
struct log {
	_Atomic uint64_t next_order;
	_Atomic uint64_t n_dropped;
	struct log_slot slot[LOG_N_SLOTS];
};

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

/* Writer thread: the next ready line in order, formatted with its ending newline, or false. */
bool log_take(struct log *l, struct text *out, enum log_level *level, bool with_prefix);

#endif
