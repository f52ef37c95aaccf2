/* record/allocators.c - see allocators.h. */
#include "record/allocators.h"

#include <elf.h>
#include <link.h>
#include <string.h>

#include "record/allocator_findings.h"
#include "record/allocator_module.h"
#include "record/allocator_stats.h"
#include "record/allocator_table.h"
#include "record/options.h"
#include "record/program_path.h"
#include "record/real.h"
#include "record/record.h"
#include "record/redirect.h"
#include "record/sys.h"

#define MAX_MODULES 1024u

/* The modules that were looked at and are still loaded. Guarded by the dynamic linker's lock, which
 * whoever loads code holds. */
static struct known_module {
	const ElfW(Dyn) * dynamic; /* NULL: the slot is free */
	uintptr_t base;
	struct redirect_area area;
	bool is_loaded; /* while the list is being compared */
} known[MAX_MODULES];

static _Atomic bool may_open_no_files;

static void put_name(struct text *text, const struct allocator_verdict *v, const char *path)
{
	text_put(text, v->name);
	if (v->prefix[0]) {
		text_put(text, " (");
		text_put(text, v->prefix);
		text_put(text, "*)");
	}
	text_put(text, " in ");
	allocator_findings_put_path(text, path);
}

/* Allocators of what are not recorded, and why. */
static void warn(const char *what, const char *path, const char *why)
{
	struct text text;

	if (!allocator_findings_begin(&text))
		return;
	text_put(&text, what);
	allocator_findings_put_path(&text, path);
	text_put(&text, ": ");
	text_put(&text, why);
	allocator_findings_end(LOG_WARN);
}

static void report(const struct allocator_verdict *v, const char *path)
{
	struct text text;

	if (!v->why)
		allocator_findings_add_families(v->families);
	if (v->layer && !v->why)
		return; /* whether it is an allocator its first calls tell */
	if (!allocator_findings_begin(&text))
		return;
	if (v->why) {
		text_put(&text, NOTE_NOT_RECORDED);
		put_name(&text, v, path);
		text_put(&text, ": ");
		text_put(&text, v->function);
		text_put(&text, v->function[0] ? ": " : "");
		text_put(&text, v->why);
		if (v->layer)
			text_put(&text, "; blocks that it takes from malloc are recorded");
		allocator_findings_end(LOG_WARN);
		return;
	}
	text_put(&text, "recorded: ");
	put_name(&text, v, path);
	text_put(&text, ", ");
	text_put_u64(&text, v->n_functions);
	text_put(&text, " functions");
	allocator_findings_end(LOG_INFO);
}

/* Since glibc 2.32 a variable tells whether the process has made a thread. /proc tells it always: the
 * directory has a link for each thread. */
static bool has_other_threads(void)
{
	const char *is_single_threaded = real_find_variable("__libc_single_threaded");
	struct stat st;
	long ret;

	if (is_single_threaded && *is_single_threaded)
		return false;
	ret = arch_syscall4(SYS_newfstatat, AT_FDCWD, "/proc/self/task", &st, 0);

	return sys_failed(ret) || st.st_nlink > 2 + 1;
}

/* The path of a module's file; of the program, whose name is empty, by the link in /proc. */
static const char *path_of(const struct link_map *m, char *buffer, size_t n_bytes)
{
	long n;

	if (m->l_name[0])
		return m->l_name;
	n = arch_syscall4(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", buffer, n_bytes - 1);
	if (n <= 0)
		return program_file();
	if ((size_t)n >= n_bytes - 1)
		return "/proc/self/exe"; /* opens the file, only its folder is not known */
	buffer[n] = 0;
	return strstr(buffer, " (deleted)") ? "/proc/self/exe" : buffer;
}

static COLD NOINLINE void look_at(const struct link_map *m, struct known_module *slot)
{
	static struct allocator_verdict verdict[ALLOCATOR_MODULE_VERDICTS]; /* guarded as known */
	char buffer[384];
	const char *path = path_of(m, buffer, sizeof(buffer)); /* of a library: opens nothing */
	const char *name = m->l_name[0] ? path : "the program";
	unsigned n = 0;
	const char *why = "the program forbade itself to open files (seccomp)";

	if (!atomic_load(&may_open_no_files))
		why = allocator_module_hook(path, m, &slot->area, &n, verdict);

	if (why)
		warn("allocators are not looked for in ", name, why);
	for (unsigned i = 0; i < n; i++)
		report(&verdict[i], name);
}

static struct known_module *find_known(const struct link_map *m)
{
	struct known_module *slot = NULL;

	for (unsigned i = 0; i < MAX_MODULES; i++) {
		if (known[i].dynamic == m->l_ld && known[i].base == m->l_addr)
			return &known[i];
		if (!known[i].dynamic && !slot)
			slot = &known[i];
	}
	return slot;
}

/* The recorder, the dynamic linker, and the kernel's own module, whose name is no path. */
static bool is_left_alone(const struct link_map *m)
{
	return m->l_ld == _DYNAMIC || m->l_addr == _r_debug.r_ldbase ||
	       (m->l_name[0] && text_basename(m->l_name) == m->l_name);
}

/* Looks at modules that are new and forgets those that are gone. */
static void look_at_all(void)
{
	for (const struct link_map *m = _r_debug.r_map; m; m = m->l_next) {
		struct known_module *slot = m->l_ld ? find_known(m) : NULL;

		if (!slot && m->l_ld)
			warn("allocators are not looked for in some modules", "",
			     "more than 1024 are loaded");
		if (!slot)
			continue;
		slot->is_loaded = true;
		if (slot->dynamic)
			continue;
		slot->dynamic = m->l_ld;
		slot->base = m->l_addr;
		if (!is_left_alone(m))
			look_at(m, slot);
	}
	for (unsigned i = 0; i < MAX_MODULES; i++) {
		if (known[i].dynamic && !known[i].is_loaded) {
			redirect_area_close(&known[i].area);
			known[i].dynamic = NULL;
		}
		known[i].is_loaded = false;
	}
}

/* Reached from _dl_debug_state(), with the dynamic linker's lock held. */
static NOINLINE void on_loading(void)
{
	if (_r_debug.r_state == RT_CONSISTENT)
		look_at_all();
}

/* _dl_debug_state() does nothing but return: it is there to be trapped. */
static void watch_loading(void)
{
	static struct redirect_area area;
	struct redirect r = {
		.function = (uint8_t *)_r_debug.r_brk,
		.n_bytes = 1,
		.n_readable = 16,
	};
	struct arch_instruction first;
	const char *why;

	if (!r.function)
		return;
	if (arch_instruction_decode(r.function, r.n_readable, &first) && first.is_landing_pad)
		r.n_bytes += first.n_bytes;
	why = redirect_check(&r);
	if (!why && !(redirect_area_open(&area, (uintptr_t)r.function, (uintptr_t)r.function + 16,
					 PAGE_BYTES) &&
		      redirect_prepare(&r, &area, (const void *)on_loading, 0, NULL) &&
		      redirect_area_seal(&area) && redirect_apply(&r)))
		why = "the kernel refuses";
	if (why)
		warn("allocators in libraries that are loaded later are not recorded: ",
		     "_dl_debug_state", why);
}

static void hook_all(void)
{
	const char *bad;

	bad = allocator_table_init(options_active.HOOK_SYMBOLS);
	if (bad)
		warn("MEMORY_PROFILER_HOOK_SYMBOLS: makes no sense, or is too much", "", bad);
	if (has_other_threads()) {
		warn("allocators inside the program are not looked for", "",
		     "the program had threads before the recorder was loaded");
		return;
	}
	look_at_all();
	watch_loading();
}

void allocators_use_no_files(void)
{
	atomic_store(&may_open_no_files, true);
}

void allocators_init(void)
{
	if (!real_is_ready())
		real_init();
	if (real_is_glibc)
		allocator_stats_add(0, ALLOCATOR_STATS_MALLINFO2, real_find("mallinfo2"));
	if (options_active.HOOK_STATIC)
		hook_all();
	allocator_findings_complete();
}
