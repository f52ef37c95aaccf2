/* record/describe.c - see describe.h. */
#include "record/describe.h"

#include <string.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>

#include "format/field.h"
#include "record/allocator_stats.h"
#include "record/clock.h"
#include "record/initial_stack.h"
#include "record/lane.h"
#include "record/memory_limit.h"
#include "record/program_path.h"
#include "record/sys.h"

#pragma GCC diagnostic ignored "-Wframe-larger-than=" /* the writer's own stack, not the target's */

static void append_fields(struct describer *f, struct session *s, unsigned type,
			  const struct field_writer *w)
{
	struct session_chunk c = {
		.type = type,
		.data = w->data,
		.data_bytes = w->len,
	};
	long ret = session_append(s, f->buffers, &c);

	if (ret < 0)
		session_count_lost(s, 0, 0, ret);
}

/* The control group, and how much memory it may use. */
static void put_cgroup(struct describer *f, struct field_writer *w)
{
	long n = sys_read_file("/proc/self/cgroup", f->scratch, 64 * KIB - 1);
	uint64_t limit;

	if (n <= 0)
		return;
	f->scratch[n] = 0;
	field_put_bytes(w, PROCESS_CGROUP, f->scratch, (size_t)n);
	limit = memory_limit_read((const char *)f->scratch, "/sys/fs/cgroup");
	if (limit)
		field_put_u64(w, PROCESS_MEMORY_LIMIT_BYTES, limit);
}

/* A file of /proc as one field, cut after 64 KiB (an environment may be megabytes). */
static void put_file(struct describer *f, struct field_writer *w, unsigned tag, const char *path)
{
	long n = sys_read_file(path, f->scratch, 64 * KIB);

	if (n > 0)
		field_put_bytes(w, tag, f->scratch, (size_t)n);
}

/* Whoever reads the recording must not learn the token: it opens the recordings of other programs
 * that have the same one. */
static void hide_token(char *env, size_t len)
{
	static const char name[] = "MEMORY_PROFILER_SERVER_TOKEN=";
	size_t name_len = sizeof(name) - 1;

	for (size_t at = 0; at < len; at += strnlen(env + at, len - at) + 1) {
		size_t n = strnlen(env + at, len - at);

		if (n > name_len && memcmp(env + at, name, name_len) == 0)
			memset(env + at + name_len, '*', n - name_len);
	}
}

/* Reads a file of /proc into f->scratch, 64 KiB at most; where there is no /proc, the strings that the
 * file would show. Returns the number of bytes. */
static size_t read_strings(struct describer *f, const char *path, struct initial_strings instead)
{
	long n = sys_read_file(path, f->scratch, 64 * KIB);

	if (n > 0)
		return (size_t)n;
	if (!instead.bytes)
		return 0;
	n = instead.n_bytes < 64 * KIB ? (long)instead.n_bytes : (long)(64 * KIB);
	memcpy(f->scratch, instead.bytes, (size_t)n);
	return (size_t)n;
}

static void put_command(struct describer *f, struct field_writer *w)
{
	size_t n = read_strings(f, "/proc/self/cmdline", initial_stack_arguments());

	if (n > 0)
		field_put_bytes(w, PROCESS_CMDLINE, f->scratch, n);
}

/* What is read from /proc is missing in the recording, and says so. */
static void note_missing_proc(struct describer *f, struct session *s)
{
	struct stat st;

	if (sys_failed(arch_syscall4(SYS_newfstatat, AT_FDCWD, "/proc/self/statm", &st, 0)))
		session_put_note(
			s, f->buffers, LOG_WARN,
			"there is no /proc: memory as the kernel counts it (RSS), mappings "
			"and thread names are not known, and allocators inside the program "
			"are not recorded");
}

static void put_environment(struct describer *f, struct field_writer *w)
{
	size_t n = read_strings(f, "/proc/self/environ", initial_stack_environment());

	if (n == 0)
		return;
	hide_token((char *)f->scratch, n);
	field_put_bytes(w, PROCESS_ENVIRONMENT, f->scratch, n);
}

static void put_link(struct field_writer *w, unsigned tag, const char *path)
{
	char target[1024];
	long n = arch_syscall4(SYS_readlinkat, AT_FDCWD, path, target, sizeof(target));

	if (n > 0)
		field_put_bytes(w, tag, target, (size_t)n);
}

void describe_process(struct describer *f, struct session *s)
{
	struct field_writer w = field_writer_make(f->fields, SESSION_MAX_DATA);
	struct utsname uts = {0};
	struct sysinfo info = {0};
	char exe[1024];

	field_put_u64(&w, PROCESS_PID, f->rec->pid);
	field_put_u64(&w, PROCESS_PPID, f->rec->ppid);
	field_put_u64(&w, PROCESS_UID, (uint64_t)arch_syscall0(SYS_getuid));
	field_put_u64(&w, PROCESS_GID, (uint64_t)arch_syscall0(SYS_getgid));
	field_put_bytes(&w, PROCESS_EXECUTABLE, exe, program_path(exe, sizeof(exe)));
	put_link(&w, PROCESS_CWD, "/proc/self/cwd");
	put_command(f, &w);
	put_environment(f, &w);
	put_cgroup(f, &w);
	put_file(f, &w, PROCESS_LIMITS, "/proc/self/limits");
	if (arch_syscall1(SYS_uname, &uts) == 0) {
		field_put_text(&w, PROCESS_HOST, uts.nodename);
		field_put_text(&w, PROCESS_KERNEL, uts.release);
	}
	field_put_text(&w, PROCESS_ARCH, ARCH_NAME);
	field_put_u64(&w, PROCESS_PAGE_BYTES, 4096);
	field_put_u64(&w, PROCESS_N_CPUS, sys_count_cpus());
	field_put_text(&w, PROCESS_RECORDER, "memory-profiler " MEMORY_PROFILER_VERSION);
	if (f->rec->parent_pid)
		field_put_u64(&w, PROCESS_PARENT, f->rec->parent_pid);
	if (arch_syscall1(SYS_sysinfo, &info) == 0)
		field_put_u64(&w, PROCESS_MEMORY_BYTES, info.totalram * info.mem_unit);
	append_fields(f, s, CHUNK_PROCESS, &w);
	note_missing_proc(f, s);
}

static const char *parse_pages(const char *p, uint64_t *ret)
{
	uint64_t value = 0;

	while (*p == ' ')
		p++;
	for (; *p >= '0' && *p <= '9'; p++)
		value = value * 10 + (uint64_t)(*p - '0');
	*ret = value * 4096;
	return p;
}

/* The most memory that was resident so far; 0: not known. The kernel keeps it, so that a peak between
 * two samples counts, too. */
static uint64_t read_peak_rss(char *buffer, size_t capacity)
{
	static const char name[] = "VmHWM:";
	uint64_t kib = 0;
	const char *p;
	long n = sys_read_file("/proc/self/status", buffer, capacity - 1);

	buffer[n > 0 ? n : 0] = 0;
	p = strstr(buffer, name);
	if (!p)
		return 0;
	for (p += sizeof(name) - 1; *p == ' ' || *p == '\t'; p++)
		;
	for (; *p >= '0' && *p <= '9'; p++)
		kib = kib * 10 + (uint64_t)(*p - '0');
	return kib * KIB;
}

/* The clock of the CPU time of a process, as the kernel numbers it. */
static int cpu_clock_of(uint32_t pid)
{
	return (int)(~pid << 3 | 2);
}

uint64_t describe_sample(struct describer *f, struct session *s)
{
	uint8_t fields[128];
	struct field_writer w = field_writer_make(fields, sizeof(fields));
	char text[128] = {0};
	uint64_t virtual_bytes, rss_bytes, shared_bytes;
	const char *p = text;

	if (sys_read_file("/proc/self/statm", text, sizeof(text) - 1) <= 0)
		return 0;
	p = parse_pages(p, &virtual_bytes);
	p = parse_pages(p, &rss_bytes);
	parse_pages(p, &shared_bytes);
	field_put_u64(&w, SAMPLE_MONOTONIC_NS, sys_clock_ns(CLOCK_MONOTONIC));
	field_put_u64(&w, SAMPLE_TICKS, clock_is_cpu ? clock_ticks() : clock_monotonic_ns());
	field_put_u64(&w, SAMPLE_RSS_BYTES, rss_bytes);
	field_put_u64(&w, SAMPLE_VIRTUAL_BYTES, virtual_bytes);
	field_put_u64(&w, SAMPLE_SHARED_BYTES, shared_bytes);
	field_put_u64(&w, SAMPLE_CPU_NS, sys_clock_ns(cpu_clock_of(f->rec->pid)));
	field_put_u64(&w, SAMPLE_PEAK_RSS_BYTES,
		      read_peak_rss((char *)f->scratch, SESSION_MAX_DATA));
	append_fields(f, s, CHUNK_SAMPLE, &w);
	return rss_bytes;
}

void describe_maps_text(struct describer *f, struct session *s, size_t len)
{
	uint8_t head[8];
	struct session_chunk c = {
		.type = CHUNK_MAPS,
		.head = head,
		.head_bytes = sizeof(head),
		.data = f->scratch,
		.data_bytes = len,
		.effort = COMPRESS_WELL,
	};
	long n;

	store_le64(head, clock_ticks());
	n = session_append(s, f->buffers, &c);
	if (n < 0)
		session_count_lost(s, 0, 0, n);
}

void describe_maps(struct describer *f, struct session *s)
{
	long n;

	if (!options_active.GATHER_MAPS)
		return;
	n = sys_read_file("/proc/self/maps", f->scratch, SESSION_MAX_DATA);
	if (n > 0)
		describe_maps_text(f, s, (size_t)n);
}

void describe_end(struct describer *f, struct session *s, enum format_end_how how, int status)
{
	uint8_t fields[64];
	struct field_writer w = field_writer_make(fields, sizeof(fields));

	field_put_u64(&w, END_TICKS, clock_ticks());
	field_put_u64(&w, END_HOW, how);
	if (status >= 0)
		field_put_u64(&w, END_STATUS, (uint64_t)status);
	append_fields(f, s, CHUNK_END, &w);
}

static void put_module(struct describer *f, struct session *s, uint32_t id)
{
	const struct module_entry *e = &f->rec->modules.entry[id];
	struct field_writer w = field_writer_make(f->fields, SESSION_MAX_DATA);
	char exe[1024];
	size_t n = 0;

	field_put_u64(&w, MODULE_ID, id + 1);
	if (!e->path[0])
		n = program_path(exe, sizeof(exe));
	if (n > 0)
		field_put_bytes(&w, MODULE_PATH, exe, n);
	else
		field_put_text(&w, MODULE_PATH, e->path);
	field_put_u64(&w, MODULE_BASE, e->base);
	field_put_u64(&w, MODULE_START, e->start);
	field_put_u64(&w, MODULE_END, e->end);
	field_put_bytes(&w, MODULE_BUILD_ID, e->build_id, e->build_id_bytes);
	field_put_u64(&w, MODULE_GENERATION, e->generation);
	field_put_u64(&w, MODULE_TICKS, e->ticks);
	field_put_u64(&w, MODULE_FILE, options_active.WRITE_BINARIES_TO_OUTPUT ? id + 1 : 0);
	append_fields(f, s, CHUNK_MODULE, &w);
}

uint32_t describe_modules(struct describer *f, struct session *s)
{
	uint32_t n = atomic_load(&f->rec->modules.n), n_new = 0;

	while (s->n_modules_written < n && s->n_modules_written < MODULE_LIST_MAX &&
	       atomic_load(&f->rec->modules.entry[s->n_modules_written].is_ready)) {
		put_module(f, s, s->n_modules_written++);
		n_new++;
	}
	return n_new;
}

void describe_allocator_stats(struct describer *f, struct session *s, uint64_t now_ns)
{
	struct allocator_stats stats;
	uint8_t fields[128];

	for (uint32_t i = 0; i < ALLOCATOR_NUMBERS; i++) {
		struct field_writer w = field_writer_make(fields, sizeof(fields));

		if (!allocator_stats_get(i, now_ns, &stats))
			continue;
		field_put_u64(&w, ALLOCATOR_SAMPLE_NUMBER, i);
		field_put_u64(&w, ALLOCATOR_SAMPLE_TICKS, stats.ticks);
		field_put_u64(&w, ALLOCATOR_SAMPLE_COST_NS, stats.cost_ns);
		for (unsigned k = 0; k < ALLOCATOR_N_VALUES; k++) {
			if (stats.value[k] != UINT64_MAX)
				field_put_u64(&w, ALLOCATOR_SAMPLE_ALLOCATED + k, stats.value[k]);
		}
		append_fields(f, s, CHUNK_ALLOCATOR_SAMPLE, &w);
	}
}

void describe_allocators(struct describer *f, struct session *s)
{
	const struct allocator_number *a;

	_Static_assert(ALLOCATOR_NUMBERS <= 32, "a bit for each");
	for (uint32_t i = 0; i < ALLOCATOR_NUMBERS; i++) {
		struct field_writer w = field_writer_make(f->fields, SESSION_MAX_DATA);

		a = allocator_numbers_get(i);
		if (!a || s->allocators_described >> i & 1)
			continue;
		s->allocators_described |= 1u << i;
		field_put_u64(&w, ALLOCATOR_NUMBER, i);
		field_put_text(&w, ALLOCATOR_NAME, a->name);
		field_put_text(&w, ALLOCATOR_PREFIX, a->prefix);
		field_put_text(&w, ALLOCATOR_MODULE, a->module);
		field_put_u64(&w, ALLOCATOR_N_FUNCTIONS, a->n_functions);
		append_fields(f, s, CHUNK_ALLOCATOR, &w);
	}
}

void describe_thread(struct describer *f, struct session *s, const struct thread *t, uint32_t tid,
		     uint64_t ended_ticks)
{
	uint8_t fields[128];
	struct field_writer w = field_writer_make(fields, sizeof(fields));
	char path[64], name[32];
	struct text text = text_make(path, sizeof(path));
	long n;

	field_put_u64(&w, THREAD_NUMBER, t->number);
	field_put_u64(&w, THREAD_TID, tid);
	field_put_u64(&w, THREAD_START, t->start_ticks);
	if (ended_ticks)
		field_put_u64(&w, THREAD_END, ended_ticks);
	text_put(&text, "/proc/");
	text_put_u64(&text, f->rec->pid);
	text_put(&text, "/task/");
	text_put_u64(&text, tid);
	text_put(&text, "/comm");
	n = sys_read_file(path, name, sizeof(name));
	if (n > 1)
		field_put_bytes(&w, THREAD_NAME, name, (size_t)n - 1);
	append_fields(f, s, CHUNK_THREAD, &w);
}
