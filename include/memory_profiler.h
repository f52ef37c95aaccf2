/* memory_profiler.h - control of the memory profiler from the profiled program.
 *
 * The functions are in libmemory_profiler.so, which is preloaded. They are declared weak: a program
 * that uses them links and runs without the library if it checks each function first:
 *
 *	if (memory_profiler_set_marker)
 *		memory_profiler_set_marker(42);
 *
 * All functions are thread-safe and never fail visibly.
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

/* Starts recording, or continues after a stop. With %n in MEMORY_PROFILER_OUTPUT a new file begins;
 * otherwise the recording continues in the same file. */
MEMORY_PROFILER_API void memory_profiler_start(void);

/* Pauses: allocations are not recorded until the next start; frees are. */
MEMORY_PROFILER_API void memory_profiler_stop(void);

/* Waits, ten seconds at most, until the calling thread's events so far are in the compressed part
 * of the recording. Not needed for safety: an event is in the file when the call that made it
 * returns. */
MEMORY_PROFILER_API void memory_profiler_sync(void);

/* Puts a number into the recording, which marks this moment. */
MEMORY_PROFILER_API void memory_profiler_set_marker(uint32_t value);

/* The next event of the calling thread is shown at this time, in microseconds. For tests of tools
 * that read recordings. */
MEMORY_PROFILER_API void memory_profiler_override_next_timestamp(uint64_t timestamp_us);

#ifdef __cplusplus
}
#endif

#endif
