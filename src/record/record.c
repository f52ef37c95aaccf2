/* record/record.c - see record.h: starting, switching, noticing a fork. */
#include "record/record.h"

#include <string.h>
#include <sys/resource.h>

#include "record/capture.h"
#include "record/clock.h"
#include "record/sys.h"
#include "record/writer.h"

#define MIN_FREE_ADDRESS_BYTES (24 * MIB)

struct options record_options;
HOT_DATA _Atomic uint32_t record_epoch = 1;
_Atomic uint32_t record_mode;
_Atomic uint64_t record_own_bytes;

/* Published when is_alive is set, so a reader that finds it 0 is in a forked child. */
static _Atomic(struct recorder *) the_recorder;

/* What a fork does not wipe: facts for the child. */
static bool options_are_parsed;
static uint32_t recorded_pid;

/* Kernels before 4.14 cannot wipe. Then a child would write into its parent's recording, so it is
 * better not to record at all. */
void *record_map(size_t bytes)
{
	void *memory;

	bytes = align_up(bytes, PAGE_BYTES);
	memory = sys_map_anonymous(bytes);
	if (memory && sys_failed(sys_madvise(memory, bytes, MADV_WIPEONFORK))) {
		sys_unmap(memory, bytes);
		return NULL;
	}
	if (memory)
		atomic_fetch_add(&record_own_bytes, bytes);
	return memory;
}

void record_unmap(void *memory, size_t bytes)
{
	bytes = align_up(bytes, PAGE_BYTES);
	sys_unmap(memory, bytes);
	atomic_fetch_sub(&record_own_bytes, bytes);
}

void record_touch(void *memory, size_t bytes)
{
	_Atomic uint8_t *page = (_Atomic uint8_t *)align_down((uintptr_t)memory, PAGE_BYTES);
	_Atomic uint8_t *end = (_Atomic uint8_t *)memory + bytes;

	for (; page < end; page += PAGE_BYTES)
		atomic_fetch_or_explicit(page, 0, memory_order_relaxed);
}

struct recorder *record_get(void)
{
	struct recorder *rec = atomic_load(&the_recorder);

	return rec && atomic_load(&rec->is_alive) ? rec : NULL;
}

struct recorder *record_find_own(void)
{
	struct recorder *rec = record_get();

	return rec && rec->pid == sys_getpid() ? rec : NULL;
}

void record_wake_writer(struct recorder *rec)
{
	atomic_fetch_add(&rec->work, 1);
	if (atomic_exchange(&rec->is_writer_asleep, 0))
		sys_futex_wake_all(&rec->work);
}

/* Complaints about options come before there is a log; they are kept until the writer runs. */
static void complain(const char *name, const char *value, const char *default_text)
{
	char line[LOG_LINE_BYTES];
	struct text text = text_make(line, sizeof(line));

	text_put(&text, name);
	text_put(&text, ": invalid value '");
	text_put_bytes(&text, value, strnlen(value, 200));
	text_put(&text, "', the default '");
	text_put(&text, default_text);
	text_put(&text, "' is used");
	log_put(LOG_WARN, line);
}

static void complain_early(const char *name, const char *value, const char *default_text)
{
	(void)name;
	(void)value;
	(void)default_text;
}

/* The environment as the kernel gave it: libc's environ is not set up yet at the first malloc. */
static void read_environment(options_complain_fn complain_fn)
{
	size_t capacity = 4 * MIB;
	char *env = sys_map_anonymous(capacity);
	long len;

	if (!env)
		return;
	len = sys_read_file("/proc/self/environ", env, capacity - 1);
	options_parse(&record_options, env, len > 0 ? (size_t)len : 0, complain_fn);
	sys_unmap(env, capacity);
}

static void log_refused_features(void)
{
	if (record_options.CULL_TEMPORARY_ALLOCATIONS)
		log_put(LOG_WARN,
			"MEMORY_PROFILER_CULL_TEMPORARY_ALLOCATIONS: not in this version; "
			"every allocation is recorded");
	if (record_options.ENABLE_SERVER)
		log_put(LOG_WARN, "MEMORY_PROFILER_ENABLE_SERVER: not in this version; "
				  "the recording goes to the output file only");
	if (record_options.ENABLE_BROADCAST)
		log_put(LOG_WARN, "MEMORY_PROFILER_ENABLE_BROADCAST: not in this version");
}

/* A program that runs close to its address space limit needs what is left of it for itself. */
static bool has_address_space(void)
{
	struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
	char text[64] = {0};
	uint64_t n_pages = 0;

	arch_syscall2(SYS_getrlimit, RLIMIT_AS, &limit);
	if (limit.rlim_cur == RLIM_INFINITY)
		return true;
	sys_read_file("/proc/self/statm", text, sizeof(text) - 1);
	for (const char *p = text; *p >= '0' && *p <= '9'; p++)
		n_pages = n_pages * 10 + (uint64_t)(*p - '0');
	return limit.rlim_cur / 4096 > n_pages + MIN_FREE_ADDRESS_BYTES / 4096;
}

/* Gets memory for the recorder and starts the writer, which makes the first session. */
static enum record_mode start_recording(bool is_late)
{
	struct recorder *rec = atomic_load(&the_recorder);

	if (arch_is_in_valgrind()) { /* which ends a program that starts a thread as we do */
		log_directly("nothing is recorded: valgrind cannot run the recorder's own thread");
		return RECORD_OFF;
	}
	if (!has_address_space()) {
		log_directly("nothing is recorded: the address space limit (RLIMIT_AS) leaves less "
			     "than 24 MiB");
		return RECORD_OFF;
	}
	if (!rec)
		rec = record_map(sizeof(*rec));
	if (!rec) {
		log_directly("nothing is recorded: no memory that a fork wipes (MADV_WIPEONFORK)");
		return RECORD_OFF;
	}
	rec->pid = sys_getpid();
	rec->parent_pid = recorded_pid != rec->pid ? recorded_pid : 0;
	rec->is_late = is_late || rec->parent_pid;
	atomic_store(&rec->want_session, 1);
	atomic_store(&rec->is_alive, 1);
	atomic_store(&the_recorder, rec);
	recorded_pid = rec->pid;
	read_environment(complain);
	log_refused_features();
	unwind_init();
	if (!writer_start(rec)) {
		atomic_store(&rec->is_alive, 0);
		return RECORD_OFF;
	}
	return RECORD_ON;
}

/* Decides once per process. is_late_start is remembered across DISABLE_BY_DEFAULT. */
static bool was_disabled;

void record_start(void)
{
	uint32_t expected = RECORD_UNSET;
	enum record_mode mode;

	if (!atomic_compare_exchange_strong(&record_mode, &expected, RECORD_STARTING)) {
		for (unsigned i = 0; i < 600 && atomic_load(&record_mode) == RECORD_STARTING; i++)
			sys_futex_wait(&record_mode, RECORD_STARTING, 10 * NS_PER_MS);
		return;
	}
	if (!options_are_parsed) {
		clock_init();
		read_environment(complain_early);
		options_are_parsed = true;
		was_disabled = record_options.DISABLE_BY_DEFAULT;
		mode = was_disabled ? RECORD_OFF : start_recording(false);
	} else {
		mode = start_recording(was_disabled);
	}
	atomic_fetch_add(&record_epoch, 1);
	atomic_store(&record_mode, mode);
	sys_futex_wake_all(&record_mode);
}

void record_check_fork(void)
{
	struct recorder *rec = atomic_load(&the_recorder);
	bool on;

	if (!rec || atomic_load(&rec->is_alive) || atomic_load(&record_mode) <= RECORD_OFF)
		return;
	on = record_options.TRACK_CHILD_PROCESSES && atomic_load(&record_mode) == RECORD_ON;
	thread_self = NULL;
	atomic_store(&record_own_bytes, 0);
	atomic_fetch_add(&record_epoch, 1);
	atomic_store(&record_mode, on ? RECORD_UNSET : RECORD_OFF);
}

void record_end_for_good(void)
{
	was_disabled = false;
	atomic_store(&record_mode, RECORD_OFF);
	atomic_fetch_add(&record_epoch, 1);
}

void record_switch(bool on)
{
	uint32_t mode = atomic_load(&record_mode);

	if (on && mode == RECORD_OFF && was_disabled && !record_get()) {
		/* First time: the next hook starts the recorder. */
		atomic_store(&record_mode, RECORD_UNSET);
		atomic_fetch_add(&record_epoch, 1);
	} else if (on && mode == RECORD_PAUSED) {
		struct recorder *rec = record_get();

		if (rec && options_has_placeholder(record_options.OUTPUT, 'n'))
			atomic_fetch_add(&rec->want_session, 1);
		atomic_store(&record_mode, RECORD_ON);
		atomic_fetch_add(&record_epoch, 1);
		capture_note(EVENT_SWITCH, (uint64_t[]){1}, 1);
		log_put(LOG_INFO, "recording goes on");
	} else if (!on && mode == RECORD_ON) {
		capture_note(EVENT_SWITCH, (uint64_t[]){0}, 1);
		atomic_store(&record_mode, RECORD_PAUSED);
		atomic_fetch_add(&record_epoch, 1);
		log_put(LOG_INFO, "recording pauses: frees are still recorded");
	}
}

void record_toggle(void)
{
	uint32_t mode = atomic_load(&record_mode);

	record_switch(mode == RECORD_OFF || mode == RECORD_PAUSED);
}
