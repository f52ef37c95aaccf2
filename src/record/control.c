/* record/control.c - what starts, stops and ends recording from outside: signals, the C API
 * (memory_profiler.h), the loading and unloading of the library.
 */
#include <link.h>
#include <signal.h>
#include <string.h>

#include "memory_profiler.h"
#include "record/allocators.h"
#include "record/capture.h"
#include "record/ending.h"
#include "record/hooks_signal.h"
#include "record/log.h"
#include "record/real.h"
#include "record/start.h"
#include "record/sys.h"
#include "record/writer.h"

#define SYNC_PATIENCE_NS (10 * NS_PER_S)

/* Switches recording on or off. Safe in signal handlers. */
static void switch_recording(bool on)
{
	uint32_t mode = atomic_load(&record_mode);

	if (on && start_enable())
		return; /* the next hook starts the recorder */
	if (on && mode == RECORD_PAUSED) {
		struct recorder *rec = record_get();

		if (rec) /* each time in a new file */
			atomic_fetch_add(&rec->want_session, 1);
		atomic_store(&record_mode, RECORD_ON);
		atomic_fetch_add(&record_epoch, 1);
		capture_standalone(EVENT_SWITCH, (uint64_t[]){1}, 1);
		log_put(LOG_INFO, "recording goes on");
	} else if (!on && mode == RECORD_ON) {
		capture_standalone(EVENT_SWITCH, (uint64_t[]){0}, 1);
		atomic_store(&record_mode, RECORD_PAUSED);
		atomic_fetch_add(&record_epoch, 1);
		log_put(LOG_INFO,
			"recording is switched off: frees of recorded blocks are still recorded");
	}
}

/* SIGUSR1 and SIGUSR2. */
static void toggle(void)
{
	uint32_t mode = atomic_load(&record_mode);

	switch_recording(mode == RECORD_OFF || mode == RECORD_PAUSED);
}

/* The base name of this library, whatever it was renamed to. */
static const char *own_name(void)
{
	for (const struct link_map *m = _r_debug.r_map; m; m = m->l_next) {
		if (m->l_ld == _DYNAMIC && m->l_name[0])
			return text_basename(m->l_name);
	}
	return "libmemory_profiler.so";
}

/* Takes our own entry out of LD_PRELOAD, in the environment itself, so that programs which this one
 * executes are not profiled. Without other entries the whole variable goes, as if it had never been
 * there. */
static void leave_ld_preload(char **envp)
{
	char **entry = envp, *from, *to;
	bool is_empty = true;

	while (*entry && strncmp(*entry, "LD_PRELOAD=", 11))
		entry++;
	if (!*entry)
		return;
	from = to = *entry + 11;
	while (*from) {
		size_t len = strcspn(from, ": ");
		char end = from[len];

		from[len] = 0;
		if (len && strcmp(text_basename(from), own_name())) {
			memmove(to, from, len);
			to += len;
			*to++ = end ? end : ':';
			is_empty = false;
		}
		from += len + (end != 0);
	}
	if (is_empty) {
		for (; *entry; entry++)
			entry[0] = entry[1];
		return;
	}
	to[-1] = 0;
}

static __attribute__((constructor)) void on_load(int argc, char **argv, char **envp)
{
	(void)argc;
	(void)argv;
	if (!real_is_ready())
		real_init();
	start_check_fork();
	if (atomic_load(&record_mode) == RECORD_UNSET)
		start_recorder();
	allocators_init();
	if (options_active.REGISTER_SIGUSR1)
		hooks_signal_register(SIGUSR1, toggle);
	if (options_active.REGISTER_SIGUSR2)
		hooks_signal_register(SIGUSR2, toggle);
	if (!options_active.TRACK_CHILD_PROCESSES)
		leave_ld_preload(envp);
}

/* The program called exit(). Recording goes on: other libraries still have destructors to run. */
static __attribute__((destructor)) void on_exit_program(void)
{
	struct recorder *rec;

	start_check_fork();
	rec = record_get();
	if (rec && rec->pid == sys_getpid())
		ending_begin(rec, END_BY_EXIT, 0);
}

EXPORT void memory_profiler_start(void)
{
	switch_recording(true);
	if (atomic_load(&record_mode) == RECORD_UNSET)
		start_recorder();
}

EXPORT void memory_profiler_stop(void)
{
	switch_recording(false);
}

EXPORT void memory_profiler_sync(void)
{
	struct recorder *rec = record_get();

	if (!rec || rec->pid != sys_getpid())
		return;
	ending_hand_over();
	writer_sync(rec, SYNC_PATIENCE_NS);
}

EXPORT void memory_profiler_set_marker(uint32_t value)
{
	capture_standalone(EVENT_MARKER, (uint64_t[]){value}, 1);
}

EXPORT void memory_profiler_override_next_timestamp(uint64_t timestamp_us)
{
	capture_standalone(EVENT_TIMESTAMP_OVERRIDE, (uint64_t[]){timestamp_us}, 1);
}
