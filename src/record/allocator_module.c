/* record/allocator_module.c - see allocator_module.h. */
#include "record/allocator_module.h"

#include <elf.h>
#include <string.h>

#include "base/units.h"
#include "record/allocator_numbers.h"
#include "record/allocator_references.h"
#include "record/allocator_rust.h"
#include "record/allocator_stats.h"
#include "record/debug_files.h"
#include "record/hooks_allocator.h"
#include "record/module_symbols.h"
#include "record/real.h"
#include "record/sys.h"

#define MAX_FUNCTIONS 512u
#define MAX_PARTS 128u
#define MAX_SEARCH_BYTES (512 * MIB) /* of code, for one function that cannot be redirected */

/* A function of an allocator in this module. Another name of the same function has no entry. */
struct found {
	const char *name; /* in the mapped file */
	const struct allocator_function *function;
	struct redirect redirect;
	unsigned group; /* lowest family that shares a function with this one's family */
	bool is_jump; /* a mere jump to another function of the table */
	bool is_exported; /* other modules may call it */
	bool is_unused; /* it cannot be redirected, and needs no hook: rule 4 of allocators.h */
	bool is_changed; /* somebody has changed its code, or the code is not mapped as expected */
	bool is_applied;
};

/* A piece of a function that the compiler put elsewhere (name.cold). */
struct part {
	const uint8_t *code;
	size_t n_bytes;
};

struct module {
	uintptr_t base;
	uintptr_t start, end; /* of its segments in memory */
	const char *path;
	struct module_file file;
	struct module_file debug; /* of a stripped file */
	const ElfW(Phdr) * segment;
	size_t n_segments;
	bool is_library; /* not the program itself */
	bool is_left_alone;
	bool is_overfull; /* there are more functions or parts than found and part can hold */
	unsigned n_found, n_parts;
	unsigned group_of[ALLOCATOR_MAX_FAMILIES]; /* families that are one have the same number */
	uint32_t has_any, has_malloc, has_free; /* bit for each family */
	bool has_mallocx; /* without a prefix */
	bool has_rust_system; /* the global allocator is Rust's default: malloc */
	const void *
		stats[ALLOCATOR_MAX_FAMILIES]; /* the function that tells about the allocator ... */
	enum allocator_stats_kind stats_kind[ALLOCATOR_MAX_FAMILIES]; /* ... and which one it is */
	size_t (*usable[ALLOCATOR_MAX_FAMILIES])(const void *block, int flags); /* by family */
	struct found found[MAX_FUNCTIONS];
	struct part part[MAX_PARTS];
};

/* The executable segment that holds the address of the file, or NULL. */
static const ElfW(Phdr) * find_code(const struct module *m, uintptr_t addr)
{
	for (size_t i = 0; i < m->n_segments; i++) {
		const ElfW(Phdr) *s = &m->segment[i];

		if (s->p_type == PT_LOAD && (s->p_flags & PF_X) && (s->p_flags & PF_R) &&
		    !(s->p_flags & PF_W) && addr >= s->p_vaddr && addr - s->p_vaddr < s->p_filesz)
			return s;
	}
	return NULL;
}

static bool is_same_in_file(const struct module *m, const ElfW(Phdr) * s, uintptr_t addr,
			    size_t n_bytes)
{
	size_t offset = addr - s->p_vaddr;

	return n_bytes <= s->p_filesz - offset && s->p_offset <= m->file.n_bytes &&
	       s->p_filesz <= m->file.n_bytes - s->p_offset &&
	       !memcmp((const void *)(m->base + addr), m->file.data + s->p_offset + offset,
		       n_bytes);
}

/* The functions by which Rust code reaches its global allocator, whatever that is. */
static bool is_rust(unsigned family)
{
	const struct allocator_family *f = allocator_table_family(family);

	return f && !strcmp(f->prefix, ALLOCATOR_PREFIX_RUST);
}

static struct found *find_at(struct module *m, const uint8_t *code)
{
	for (unsigned i = 0; i < m->n_found; i++) {
		if (m->found[i].redirect.function == code)
			return &m->found[i];
	}
	return NULL;
}

/* Families a and b are one from now on. */
static void join(struct module *m, unsigned a, unsigned b)
{
	unsigned from = m->group_of[a], to = m->group_of[b];

	if (from < to) {
		from = to;
		to = m->group_of[a];
	}
	for (unsigned i = 0; i < ALLOCATOR_MAX_FAMILIES; i++) {
		if (m->group_of[i] == from)
			m->group_of[i] = to;
	}
}

/* A function that tells something and is not redirected. */
static void add_question(struct module *m, const uint8_t *code, enum allocator_event event,
			 unsigned family)
{
	switch (event) {
	case ALLOCATOR_USABLE:
		if (!m->usable[family])
			m->usable[family] = (size_t(*)(const void *, int))(uintptr_t)code;
		return;
	case ALLOCATOR_MALLCTL:
		m->stats_kind[family] = ALLOCATOR_STATS_MALLCTL;
		break;
	case ALLOCATOR_PROCESS_INFO:
		m->stats_kind[family] = ALLOCATOR_STATS_PROCESS_INFO;
		break;
	case ALLOCATOR_PROPERTY:
		m->stats_kind[family] = ALLOCATOR_STATS_PROPERTY;
		break;
	default:
		return;
	}
	m->stats[family] = code;
}

static bool is_question(enum allocator_event event)
{
	return event >= ALLOCATOR_USABLE;
}

/* is_exported: the symbol is in .dynsym. */
static void add_function(struct module *m, const ElfW(Sym) * symbol, const char *name,
			 const struct allocator_function *function, unsigned family,
			 bool is_exported)
{
	const ElfW(Phdr) *s = find_code(m, symbol->st_value);
	uint8_t *code = (uint8_t *)(m->base + symbol->st_value);
	bool is_changed = !s || !is_same_in_file(m, s, symbol->st_value, symbol->st_size);
	struct found *f;

	if (is_question(function->event)) {
		if (!is_changed)
			add_question(m, code, function->event, family);
		return;
	}
	m->has_any |= 1u << family;
	m->has_mallocx |= !strcmp(name, "mallocx");
	m->has_malloc |= (uint32_t)!strcmp(function->name, "malloc") << family;
	m->has_free |= (uint32_t)!strcmp(function->name, "free") << family;
	f = find_at(m, code);
	if (f && is_rust(f->group) != is_rust(family)) {
		if (is_rust(f->group)) { /* the other allocator's function serves as Rust's */
			f->name = name;
			f->function = function;
			f->group = family;
		}
		return;
	}
	if (f) {
		f->is_exported |= is_exported;
		join(m, f->group, family);
		return;
	}
	if (m->n_found == MAX_FUNCTIONS) {
		m->is_overfull = true;
		return;
	}
	m->found[m->n_found++] = (struct found){
		.name = name,
		.function = function,
		.group = family,
		.is_changed = is_changed,
		.is_exported = is_exported,
		.redirect = {.function = code,
			     .n_bytes = symbol->st_size,
			     .n_readable =
				     is_changed ? 0 : s->p_vaddr + s->p_filesz - symbol->st_value},
	};
}

/* Is this name.cold or the like, of a name in the table? */
static bool is_part(const char *name)
{
	const char *dot = strstr(name, ".cold");
	char base[80];
	unsigned family;
	size_t n;

	if (!dot)
		dot = strstr(name, ".part.");
	n = dot ? (size_t)(dot - name) : 0;
	if (!n || n >= sizeof(base))
		return false;
	memcpy(base, name, n);
	base[n] = 0;
	return allocator_table_find(base, &family) != NULL;
}

static void add_part(struct module *m, const ElfW(Sym) * symbol)
{
	const ElfW(Phdr) *s = find_code(m, symbol->st_value);

	if (!s || m->n_parts == MAX_PARTS ||
	    !is_same_in_file(m, s, symbol->st_value, symbol->st_size)) {
		m->is_overfull = true;
		return;
	}
	m->part[m->n_parts++] = (struct part){.code = (const uint8_t *)(m->base + symbol->st_value),
					      .n_bytes = symbol->st_size};
}

/* Modules that are no allocators inside the program: the C library, and sanitizers, which are meant
 * to see what the program does. (Some allocators define __libc_malloc as well.) */
static bool is_name_of_others(const char *name)
{
	if (name[0] == 'g')
		return !strcmp(name, "gnu_get_libc_version");
	return name[0] == '_' && name[1] == '_' &&
	       (!strcmp(name, "__asan_init") || !strcmp(name, "__tsan_init") ||
		!strcmp(name, "__msan_init") || !strcmp(name, "__hwasan_init") ||
		!strcmp(name, "__lsan_init") || !strcmp(name, "__interceptor_malloc"));
}

static void gather(struct module *m, const struct module_file *file, unsigned type)
{
	const struct allocator_function *function;
	struct module_symbols symbols;
	unsigned family;

	if (!module_file_symbols(file, type, &symbols))
		return;
	for (size_t i = 0; i < symbols.n && !m->is_left_alone; i++) {
		const ElfW(Sym) *symbol = &symbols.symbol[i];
		const char *name = module_symbols_name(&symbols, symbol);

		if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF ||
		    !symbol->st_size)
			continue;
		m->is_left_alone = is_name_of_others(name);
		m->has_rust_system |= !strncmp(allocator_table_plain_name(name), "__rdl_alloc", 11);
		function = allocator_table_find(name, &family);
		if (function)
			add_function(m, symbol, name, function, family, type == SHT_DYNSYM);
		else if (allocator_table_may_begin(name) && is_part(name))
			add_part(m, symbol);
	}
}

/* Opens the module's file. NULL, or why the file is of no use. */
static const char *open_file(struct module *m)
{
	if (!module_file_open(m->path, &m->file))
		return "its file cannot be read";
	m->segment = module_file_segments(&m->file, &m->n_segments);
	return m->segment ? NULL : "its file makes no sense";
}

/* Finds all functions of the table. False: there is nothing to do. */
static bool gather_all(struct module *m)
{
	struct module_symbols symbols;

	for (unsigned i = 0; i < ALLOCATOR_MAX_FAMILIES; i++)
		m->group_of[i] = i;
	gather(m, &m->file, SHT_DYNSYM);
	if (module_file_symbols(&m->file, SHT_SYMTAB, &symbols))
		gather(m, &m->file, SHT_SYMTAB);
	else if (!m->is_left_alone && debug_files_open(&m->file, m->path, &m->debug))
		gather(m, &m->debug, SHT_SYMTAB);
	return m->n_found && !m->is_left_alone;
}

/* Which families are one, which functions are jumps to others. */
static void relate(struct module *m)
{
	for (unsigned i = 0; i < m->n_found; i++) {
		struct found *f = &m->found[i], *target;
		const uint8_t *to = f->is_changed ? NULL
						  : arch_detour_jump_target(f->redirect.function,
									    f->redirect.n_bytes);

		target = to && !is_rust(f->group) ? find_at(m, to) : NULL;
		if (target && target != f && !is_rust(target->group)) {
			f->is_jump = true;
			join(m, f->group, target->group);
		}
	}
	for (unsigned i = 0; i < m->n_found; i++)
		m->found[i].group = m->group_of[m->found[i].group];
}

static bool gives_blocks(const struct found *f)
{
	return f->function->event == ALLOCATOR_ALLOC || f->function->event == ALLOCATOR_ZERO;
}

/* Rule 2 of allocators.h. */
static bool is_allocator(const struct module *m, unsigned group)
{
	const uint32_t plain = 1u << ALLOCATOR_FAMILY_PLAIN;
	bool gives = false, takes = false;

	if (is_rust(group) && m->has_rust_system)
		return false;
	if (group == ALLOCATOR_FAMILY_PLAIN)
		return (m->has_malloc & plain) && (m->has_free & plain);
	for (unsigned i = 0; i < m->n_found; i++) {
		const struct found *f = &m->found[i];

		if (f->group != group)
			continue;
		gives |= gives_blocks(f);
		takes |= f->function->event == ALLOCATOR_FREE;
	}
	return gives && takes;
}

static const char *check(struct module *m, struct found *f)
{
	const char *why;

	if (m->is_overfull)
		return "the module has too many functions, or parts of them that cannot be read";
	if (f->is_changed)
		return "its code in memory is not the code in the file";
	why = redirect_check(&f->redirect);
	for (unsigned i = 0; !why && i < m->n_parts; i++)
		why = arch_detour_check_part(m->part[i].code, m->part[i].n_bytes,
					     f->redirect.function, &f->redirect.detour);
	return why;
}

static size_t (*usable_of(const struct module *m, unsigned group))(const void *, int)
{
	for (unsigned i = 0; i < ALLOCATOR_MAX_FAMILIES; i++) {
		if (m->group_of[i] == group && m->usable[i])
			return m->usable[i];
	}
	return NULL;
}

static bool prepare(struct module *m, struct found *f, struct redirect_area *area,
		    const struct allocator_verdict *v)
{
	struct allocator_hook *hook = redirect_area_take(area, sizeof(*hook));
	const void *entry = allocator_hook_entry(f->function->event, v->layer != NULL);

	if (!hook || !redirect_prepare(&f->redirect, area, entry, ALLOCATOR_HOOK_ARGUMENTS, hook))
		return false;
	*hook = (struct allocator_hook){
		.original = f->redirect.original,
		.usable = usable_of(m, f->group),
		.library_start = m->is_library ? m->start : 0,
		.library_bytes = m->is_library ? m->end - m->start : 0,
		.allocator = v->number,
		.layer = v->layer,
		.may_throw =
			!strncmp(f->function->name, "_Zn", 3) || strstr(f->function->name, "new"),
		.function = *f->function,
	};
	return true;
}

static void refuse(struct allocator_verdict *v, const char *name, const char *why)
{
	size_t n = strnlen(name, sizeof(v->function) - 1);

	memcpy(v->function, name, n);
	v->function[n] = 0;
	v->why = why;
}

static bool is_of(const struct found *f, unsigned group)
{
	return f->group == group && !f->is_jump && !f->is_unused;
}

struct family_code {
	const struct module *m;
	unsigned group;
};

/* Is the address in a function of the family? */
static bool is_of_family(const uint8_t *at, const void *arg)
{
	const struct family_code *c = arg;

	for (unsigned i = 0; i < c->m->n_found; i++) {
		const struct found *f = &c->m->found[i];

		if (f->group == c->group && at >= f->redirect.function &&
		    at - f->redirect.function < (ptrdiff_t)f->redirect.n_bytes)
			return true;
	}
	return false;
}

/* Does nobody call the function but the functions of its family? Of libraries, which are looked at
 * before they are relocated, that is not known. */
static bool is_unused(const struct module *m, const struct found *f)
{
	struct family_code code = {.m = m, .group = f->group};
	struct allocator_references r = {
		.base = m->base,
		.segment = m->segment,
		.n_segments = m->n_segments,
		.is_harmless = is_of_family,
		.arg = &code,
		.n_bytes_left = MAX_SEARCH_BYTES,
	};

	if (m->is_library || m->is_overfull || f->is_exported || f->is_changed)
		return false;
	module_file_symbols(m->debug.data ? &m->debug : &m->file, SHT_SYMTAB, &r.symbols);
	module_file_symbols(&m->file, SHT_DYNSYM, &r.exported);
	return !allocator_is_referenced(&r, f->redirect.function);
}

/* Can all functions of the group be redirected? Writes their stubs. */
static bool prepare_group(struct module *m, unsigned group, struct redirect_area *area,
			  struct allocator_verdict *v)
{
	for (unsigned i = 0; i < m->n_found; i++) {
		struct found *f = &m->found[i];
		const char *why;

		if (!is_of(f, group))
			continue;
		why = check(m, f);
		f->is_unused = why && is_unused(m, f);
		if (f->is_unused)
			continue;
		if (!why && !prepare(m, f, area, v))
			why = "no memory near the code";
		if (why) {
			refuse(v, f->name, why);
			return false;
		}
		v->n_functions++;
	}
	return true;
}

static void apply_group(struct module *m, unsigned group, struct allocator_verdict *v)
{
	for (unsigned i = 0; i < m->n_found && !v->why; i++) {
		struct found *f = &m->found[i];

		if (!is_of(f, group))
			continue;
		f->is_applied = redirect_apply(&f->redirect);
		if (!f->is_applied)
			refuse(v, f->name, "the kernel does not let its code be changed");
	}
	for (unsigned i = 0; i < m->n_found; i++) {
		struct found *f = &m->found[i];

		if (f->is_applied && f->group == group && v->why)
			redirect_undo(&f->redirect);
		else if (f->is_applied && f->group == group)
			real_replace(f->redirect.function, f->redirect.original);
	}
	if (v->why)
		return;
	if (v->layer) {
		v->layer->n_functions = v->n_functions;
		return;
	}
	allocator_numbers_publish(v->number, v->n_functions);
	for (unsigned i = 0; i < ALLOCATOR_MAX_FAMILIES; i++) {
		if (m->group_of[i] == group && m->stats[i])
			allocator_stats_add(v->number, m->stats_kind[i], m->stats[i]);
	}
}

static void find_range(struct module *m)
{
	m->start = UINTPTR_MAX;
	for (size_t i = 0; i < m->n_segments; i++) {
		const ElfW(Phdr) *s = &m->segment[i];
		uintptr_t start = m->base + s->p_vaddr;

		if (s->p_type != PT_LOAD)
			continue;
		if (start < m->start)
			m->start = start;
		if (start + s->p_memsz > m->end)
			m->end = start + s->p_memsz;
	}
}

static bool open_area(const struct module *m, struct redirect_area *area)
{
	const size_t each = ARCH_DETOUR_STUB_BYTES + sizeof(struct allocator_hook) + 16;

	return m->start < m->end && redirect_area_open(area, m->start, m->end, m->n_found * each);
}

/* Which allocator is it? The names with a prefix tell, or mallocx, which only jemalloc has. */
static void name_group(const struct module *m, struct allocator_verdict *v)
{
	const struct allocator_family *family = allocator_table_family(v->family);

	for (unsigned i = 0; i < ALLOCATOR_MAX_FAMILIES; i++) {
		v->families |= (uint32_t)(m->group_of[i] == v->family) << i;
		if (m->group_of[i] == v->family && (m->has_any >> i & 1))
			family = allocator_table_family(i);
	}
	v->name = family->name;
	v->prefix = family->prefix;
	if (v->family == ALLOCATOR_FAMILY_PLAIN && !v->prefix[0] && m->has_mallocx)
		v->name = "jemalloc";
	if (v->family == ALLOCATOR_FAMILY_PLAIN)
		v->prefix = "";
}

/* Does our hook of malloc() call a function of this group? Then the group is what the program reaches
 * by the names of the C library. */
static bool replaces_libc(const struct module *m, unsigned group)
{
	for (unsigned i = 0; i < m->n_found; i++) {
		if (m->found[i].group == group &&
		    m->found[i].redirect.function == (const uint8_t *)(uintptr_t)real.malloc)
			return true;
	}
	return false;
}

static void number_group(const struct module *m, struct allocator_verdict *v)
{
	const char *path = m->is_library ? m->path : "";

	if (replaces_libc(m, v->family))
		allocator_numbers_replace_libc(v->name, v->prefix, path);
	else
		v->number = allocator_numbers_reserve(v->name, v->prefix, path);
}

static bool is_any_recorded(const struct allocator_verdict *verdict, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		if (!verdict[i].why)
			return true;
	}
	return false;
}

/* Rule 5 of allocators.h. NULL: the functions can be redirected. */
static const char *check_rust(const struct module *m, struct allocator_verdict *v)
{
	struct allocator_rust r = {
		.base = m->base,
		.segment = m->segment,
		.n_segments = m->n_segments,
		.is_relocated = !m->is_library,
	};

	module_file_symbols(m->debug.data ? &m->debug : &m->file, SHT_SYMTAB, &r.symbols);
	for (unsigned i = 0; i < m->n_found && r.n < ALLOCATOR_RUST_FUNCTIONS; i++) {
		const struct found *f = &m->found[i];

		if (f->group == v->family && !f->is_changed)
			r.function[r.n++] = (struct allocator_rust_function){
				.code = f->redirect.function,
				.n_bytes = f->redirect.n_bytes,
				.event = f->function->event,
			};
	}
	v->layer = allocator_layer_create(v->number);
	return v->layer ? allocator_rust_check(&r) : "there are too many such allocators";
}

/* Hooks every group that is an allocator. */
static unsigned hook_groups(struct module *m, struct redirect_area *area,
			    struct allocator_verdict *verdict)
{
	unsigned n = 0;

	for (unsigned group = 0; group < ALLOCATOR_MAX_FAMILIES; group++) {
		struct allocator_verdict *v = &verdict[n];
		const char *why;

		if (!is_allocator(m, group) || (is_rust(group) && is_any_recorded(verdict, n)))
			continue;
		*v = (struct allocator_verdict){.family = group};
		name_group(m, v);
		number_group(m, v);
		n++;
		why = is_rust(group) ? check_rust(m, v) : NULL;
		if (why)
			refuse(v, "", why);
		else if (!area->memory && !open_area(m, area))
			refuse(v, "", "no memory near the code");
		else
			prepare_group(m, group, area, v);
	}
	if (!n)
		return 0;
	if (area->memory && !redirect_area_seal(area)) {
		for (unsigned i = 0; i < n; i++)
			refuse(&verdict[i], "", "the kernel allows no new code in this process");
	}
	for (unsigned i = 0; i < n; i++) {
		if (!verdict[i].why)
			apply_group(m, verdict[i].family, &verdict[i]);
	}
	return n;
}

const char *allocator_module_hook(const char *path, const struct link_map *map,
				  struct redirect_area *area, unsigned *ret_n,
				  struct allocator_verdict verdict[ALLOCATOR_MODULE_VERDICTS])
{
	struct module *m = sys_map_anonymous(sizeof(*m));
	const char *why;

	*ret_n = 0;
	if (!m)
		return "there is no memory";
	m->base = map->l_addr;
	m->is_library = map->l_name[0] != 0;
	m->path = path;
	why = open_file(m);
	if (!why && gather_all(m)) {
		find_range(m);
		relate(m);
		*ret_n = hook_groups(m, area, verdict);
	}
	module_file_close(&m->debug);
	module_file_close(&m->file);
	sys_unmap(m, sizeof(*m));
	return why;
}
