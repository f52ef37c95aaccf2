/* record/start.c - see start.h. */
#include "record/start.h"

#include <string.h>
#include <sys/resource.h>

#include "record/clock.h"
#include "record/debug_files.h"
#include "record/initial_stack.h"
#include "record/log.h"
#include "record/own_memory.h"
#include "record/real.h"
#include "record/record.h"
#include "record/sys.h"
#include "record/thread.h"
#include "record/unrecorded.h"
#include "record/writer.h"
#include "unwind/unwind.h"

#define MIN_FREE_ADDRESS_BYTES (24 * MIB)
#define BUFFER_BYTES (4 * MIB) /* for a file of /proc */

/* What a fork does not wipe. */
static bool options_are_parsed;
static uint32_t recorded_pid;
static bool are_children_left_out;

/* Lines about settings that cannot be used, until there is a recorder that takes them. */
static char complaint[RECORD_N_COMPLAINTS][RECORD_COMPLAINT_BYTES];
static unsigned n_complaints;

static struct text next_complaint(void)
{
	unsigned n = n_complaints < RECORD_N_COMPLAINTS ? n_complaints++ : n_complaints - 1;

	return text_make(complaint[n], sizeof(complaint[n]));
}

static void complain(const char *name, const char *value, const char *default_text)
{
	struct text text = next_complaint();

	text_put(&text, name);
	text_put(&text, ": invalid value '");
	text_put_bytes(&text, value, strnlen(value, 100));
	if (default_text[0]) {
		text_put(&text, "', the default '");
		text_put(&text, default_text);
		text_put(&text, "' is used");
	} else {
		text_put(&text, "', the variable counts as not set");
	}
}

static void complain_unknown(const char *name, size_t name_len, const char *similar)
{
	struct text text = next_complaint();

	text_put_bytes(&text, name, name_len < 80 ? name_len : 80);
	text_put(&text, ": there is no such setting");
	if (similar) {
		text_put(&text, "; did you mean ");
		text_put(&text, similar);
		text_put_char(&text, '?');
	}
}

static void complain_unread(void)
{
	struct text text = next_complaint();

	text_put(&text, "the settings (MEMORY_PROFILER_*) cannot be read, there is no /proc: the "
			"defaults are used");
}

/* Is the parent recorded, too? Then it has reported the same. */
static bool is_parent_recorded(void)
{
	char *buffer = sys_map_anonymous(BUFFER_BYTES), path[64];
	struct text text = text_make(path, sizeof(path));
	bool is_recorded;
	long n;

	if (!buffer)
		return false;
	text_put(&text, "/proc/");
	text_put_u64(&text, (uint64_t)arch_syscall0(SYS_getppid));
	text_put(&text, "/maps");
	n = sys_read_file(path, buffer, BUFFER_BYTES - 1);
	buffer[n > 0 ? n : 0] = 0;
	is_recorded = strstr(buffer, "libmemory_profiler.so") != NULL;
	sys_unmap(buffer, BUFFER_BYTES);
	return is_recorded;
}

static void parse_environment(const char *env, size_t n_bytes)
{
	options_parse(&options_active, env, n_bytes, complain);
	debug_files_init(env, n_bytes);
	options_find_unknown(env, n_bytes, complain_unknown);
}

/* A program that loads the recorder late may have changed its list of strings: /proc still has them. */
static void parse_environment_of_proc(void)
{
	char *env = sys_map_anonymous(BUFFER_BYTES);
	long len = env ? sys_read_file("/proc/self/environ", env, BUFFER_BYTES - 1) : 0;

	parse_environment(len > 0 ? env : "", len > 0 ? (size_t)len : 0);
	if (len <= 0)
		complain_unread();
	if (env)
		sys_unmap(env, BUFFER_BYTES);
}

/* Parses the environment as the kernel gave it: libc's environ is not set up yet at the first
 * malloc. Once: forked children have the settings in their memory, and the program may overwrite its
 * environment (many do, to show a title). */
static void read_environment(void)
{
	struct initial_strings env = initial_stack_environment();

	if (env.bytes)
		parse_environment(env.bytes, env.n_bytes);
	else
		parse_environment_of_proc();
	if (n_complaints && is_parent_recorded())
		n_complaints = 0;
}

/* Hands the complaints to the recorder: the writer makes notes of them. */
static void pass_complaints_on(struct recorder *rec)
{
	memcpy(rec->complaint, complaint, sizeof(complaint));
	rec->n_complaints = n_complaints;
	for (unsigned i = 0; i < n_complaints && !log_wants(LOG_WARN); i++)
		log_put(LOG_MUST, complaint[i]);
	n_complaints = 0;
}

static void log_refused_features(void)
{
	if (options_active.ENABLE_BROADCAST && !options_active.ENABLE_SERVER)
		log_put(LOG_WARN, "MEMORY_PROFILER_ENABLE_BROADCAST: announces nothing without "
				  "MEMORY_PROFILER_ENABLE_SERVER");
}

/* Does RLIMIT_AS leave room for the recorder? A program close to its limit needs the rest for
 * itself. */
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

/* Maps the recorder and starts the writer, which creates the first session. The new mode:
 * RECORD_ON, or RECORD_OFF and the log says why. is_late: the program may hold blocks from
 * before. */
static enum record_mode start_recording(bool is_late)
{
	struct recorder *rec = record_get_memory();

	if (arch_is_in_valgrind()) { /* valgrind ends a program that makes such a process */
		log_directly("nothing is recorded: valgrind cannot run the recorder's "
			     "writer, a process with the memory of the program");
		return RECORD_OFF;
	}
	if (!has_address_space()) {
		log_directly("nothing is recorded: the limit of address space leaves less than "
			     "24 MiB; raise it (ulimit -v)");
		return RECORD_OFF;
	}
	if (!rec)
		rec = own_memory_map(sizeof(*rec));
	if (!rec) {
		log_directly("nothing is recorded: no memory, or a kernel before 4.14 "
			     "(MADV_WIPEONFORK)");
		return RECORD_OFF;
	}
	rec->pid = sys_getpid();
	rec->ppid = (uint32_t)arch_syscall0(SYS_getppid);
	rec->parent_pid = recorded_pid != rec->pid ? recorded_pid : 0;
	rec->is_late = is_late || rec->parent_pid;
	atomic_store(&rec->want_session, 1);
	atomic_store(&rec->is_alive, 1);
	record_set(rec);
	recorded_pid = rec->pid;
	pass_complaints_on(rec);
	log_refused_features();
	unwind_use_find_object(real_find("_dl_find_object"));
	unwind_init();
	if (!writer_start(rec)) {
		atomic_store(&rec->is_alive, 0);
		return RECORD_OFF;
	}
	return RECORD_ON;
}

/* The same. A forked child that cannot be recorded tells its parent. */
static enum record_mode start_recording_in_family(bool is_late)
{
	struct unrecorded *of_parent = unrecorded_take();
	enum record_mode mode = start_recording(is_late);
	struct recorder *rec = record_get_memory();

	if (mode != RECORD_ON)
		unrecorded_count(of_parent, rec ? atomic_load(&rec->start_error) : 0);
	else if (options_active.TRACK_CHILD_PROCESSES)
		unrecorded_share(of_parent);
	return mode;
}

/* MEMORY_PROFILER_DISABLE_BY_DEFAULT: start_enable() may start a recording later, which is then a
 * late one. */
static bool was_disabled;

void start_recorder(void)
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
		read_environment();
		options_are_parsed = true;
		was_disabled = options_active.DISABLE_BY_DEFAULT;
		mode = was_disabled ? RECORD_OFF : start_recording_in_family(false);
	} else {
		mode = start_recording_in_family(was_disabled);
	}
	atomic_fetch_add(&record_epoch, 1);
	atomic_store(&record_mode, mode);
	sys_futex_wake_all(&record_mode);
}

void start_check_fork(void)
{
	struct recorder *rec = record_get_memory();
	bool on;

	if (!rec || atomic_load(&rec->is_alive) || atomic_load(&record_mode) <= RECORD_OFF)
		return;
	on = options_active.TRACK_CHILD_PROCESSES && atomic_load(&record_mode) == RECORD_ON &&
	     !are_children_left_out;
	thread_self = NULL;
	atomic_store(&own_memory_bytes, 0);
	atomic_fetch_add(&record_epoch, 1);
	atomic_store(&record_mode, on ? RECORD_UNSET : RECORD_OFF);
}

void start_never_in_children(void)
{
	are_children_left_out = true;
}

void start_never(void)
{
	was_disabled = false;
	atomic_store(&record_mode, RECORD_OFF);
	atomic_fetch_add(&record_epoch, 1);
}

bool start_enable(void)
{
	if (!was_disabled || record_get() || atomic_load(&record_mode) != RECORD_OFF)
		return false;
	atomic_store(&record_mode, RECORD_UNSET);
	atomic_fetch_add(&record_epoch, 1);
	return true;
}
