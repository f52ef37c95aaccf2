/* memory_profiler.h - control of the memory profiler from the profiled program.
 *
 * The functions live in libmemory_profiler.so, which is preloaded. They are declared weak: a
 * program that uses them links and runs without the library, if it asks first:
 *
 *	if (memory_profiler_set_marker)
 *		memory_profiler_set_marker(42);
 *
 * All are thread-safe and never fail visibly.
 */
#ifndef MEMORY_PROFILER_H
#define MEMORY_PROFILER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef MEMORY_PROFILER_API
#define MEMORY_PROFILER_API __attribute__((weak))
#endif

/* Starts recording, or goes on after a stop. With %n in MEMORY_PROFILER_OUTPUT going on begins a
 * new file, otherwise the same file is continued. */
MEMORY_PROFILER_API void memory_profiler_start(void);

/* Pauses: allocations are not recorded until the next start, releases of recorded blocks are. */
MEMORY_PROFILER_API void memory_profiler_stop(void);

/* Waits until all events so far have been moved to their final place in the recording. Not needed
 * for safety: an event is in the file when the call that made it returns. */
MEMORY_PROFILER_API void memory_profiler_sync(void);

/* Puts a number into the recording that divides it: "from here on". */
MEMORY_PROFILER_API void memory_profiler_set_marker(uint32_t value);

/* The next event of the calling thread is shown at this time, in microseconds. For tests of tools
 * that read recordings. */
MEMORY_PROFILER_API void memory_profiler_override_next_timestamp(uint64_t timestamp_us);

#ifdef __cplusplus
}
#endif

#endif
