/* record/real.c - see real.h. */
#include "record/real.h"

#include <elf.h>
#include <link.h>
#include <string.h>

#include "base/compiler.h"

_Alignas(64) struct real_functions real; /* the malloc family comes first */
struct real_front real_front;
uint8_t real_is_glibc;
uint8_t real_has_chunks;

/* The C library, the dynamic linker, and in old versions of glibc the library of threads. */
static struct {
	uintptr_t start;
	size_t n_bytes;
} libc_code[3];

/* What a lookup needs of one library. Addresses are absolute. */
struct symbols {
	const ElfW(Sym) * table;
	const char *names;
	const uint32_t *gnu_hash;
	const uint16_t *versions;
};

/* Some libraries (the vdso) keep unrelocated addresses in their dynamic section. */
static uintptr_t absolute(const struct link_map *map, uintptr_t value)
{
	return value < map->l_addr ? value + map->l_addr : value;
}

static bool read_dynamic(const struct link_map *map, struct symbols *ret)
{
	*ret = (struct symbols){0};
	if (!map->l_ld)
		return false;
	for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
		uintptr_t at = absolute(map, d->d_un.d_ptr);

		if (d->d_tag == DT_SYMTAB)
			ret->table = (const void *)at;
		else if (d->d_tag == DT_STRTAB)
			ret->names = (const void *)at;
		else if (d->d_tag == DT_GNU_HASH)
			ret->gnu_hash = (const void *)at;
		else if (d->d_tag == DT_VERSYM)
			ret->versions = (const void *)at;
	}
	return ret->table && ret->names && ret->gnu_hash;
}

static uint32_t gnu_hash(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (uint8_t)*name;
	return h;
}

/* The symbol of this name, or NULL. The default version wins (bit 15 of its version is clear); an
 * old version is better than none. */
static const ElfW(Sym) * find_symbol(const struct symbols *s, const char *name, uint32_t hash)
{
	uint32_t n_buckets = s->gnu_hash[0], first = s->gnu_hash[1], n_bloom = s->gnu_hash[2];
	const uint32_t *buckets =
		s->gnu_hash + 4 + n_bloom * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
	const uint32_t *chain = buckets + n_buckets;
	const ElfW(Sym) *found = NULL;
	uint32_t i;

	if (n_buckets == 0)
		return NULL;
	i = buckets[hash % n_buckets];
	if (i < first)
		return NULL;
	for (;; i++) {
		const ElfW(Sym) *sym = &s->table[i];

		if ((chain[i - first] | 1) == (hash | 1) && sym->st_shndx != SHN_UNDEF &&
		    !strcmp(s->names + sym->st_name, name)) {
			found = sym;
			if (!s->versions || !(s->versions[i] & 0x8000))
				return sym;
		}
		if (chain[i - first] & 1)
			return found;
	}
}

static const struct link_map *own_map(void)
{
	for (const struct link_map *m = _r_debug.r_map; m; m = m->l_next) {
		if (m->l_ld == _DYNAMIC)
			return m;
	}
	return NULL;
}

/* What a file defines under this name, if that is of this type (STT_FUNC, STT_OBJECT), or NULL. */
static void *find_typed(const struct link_map *m, const char *name, uint32_t hash, unsigned type)
{
	const ElfW(Sym) * sym;
	struct symbols s;

	if (!read_dynamic(m, &s))
		return NULL;
	sym = find_symbol(&s, name, hash);
	if (!sym || ELF64_ST_TYPE(sym->st_info) != type)
		return NULL;
	return (void *)(m->l_addr + sym->st_value);
}

/* The function of this name that a file defines, or NULL. */
static void *find_in(const struct link_map *m, const char *name, uint32_t hash)
{
	return find_typed(m, name, hash, STT_FUNC);
}

/* The first definition of name in a library after ours, or NULL. */
static void *find_next(const struct link_map *own, const char *name)
{
	uint32_t hash = gnu_hash(name);
	void *found = NULL;

	for (const struct link_map *m = own ? own->l_next : NULL; m && !found; m = m->l_next)
		found = find_in(m, name, hash);
	return found;
}

/* The first file in front of us that defines name, or NULL. */
static const struct link_map *front_map(const struct link_map *own, const char *name)
{
	const struct link_map *m = own ? _r_debug.r_map : NULL;
	uint32_t hash = gnu_hash(name);

	while (m && m != own && !find_in(m, name, hash))
		m = m->l_next;
	return m == own ? NULL : m;
}

static void *find_in_front(const struct link_map *own, const char *name)
{
	const struct link_map *m = front_map(own, name);

	return m ? find_in(m, name, gnu_hash(name)) : NULL;
}

const char *real_hidden_by(const char *name)
{
	const struct link_map *m = front_map(own_map(), name);

	return m ? m->l_name : NULL;
}

void *real_find(const char *name)
{
	return find_next(own_map(), name);
}

void *real_find_variable(const char *name)
{
	uint32_t hash = gnu_hash(name);
	void *found = NULL;

	for (const struct link_map *m = _r_debug.r_map; m && !found; m = m->l_next)
		found = find_typed(m, name, hash, STT_OBJECT);
	return found;
}

void real_replace(const void *function, const void *original)
{
#define HOOK(name, type)                                                                           \
	if ((const void *)real.name == function)                                                   \
		real.name = (__typeof__(real.name))(uintptr_t)original;
#include "record/hooks.def"
#undef HOOK
}

static bool is_of_libc(const struct link_map *m)
{
	const char *slash = strrchr(m->l_name, '/'), *name = slash ? slash + 1 : m->l_name;

	return m->l_addr && (m->l_addr == _r_debug.r_ldbase || !strcmp(name, "libc.so.6") ||
			     !strcmp(name, "libpthread.so.0"));
}

/* A library's ELF header is the first that is mapped of it. */
static void find_libc_code(void)
{
	size_t n = 0;

	for (const struct link_map *m = _r_debug.r_map; m && n < ARRAY_LEN(libc_code);
	     m = m->l_next) {
		const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)m->l_addr;
		const ElfW(Phdr) * p;
		size_t end = 0;

		if (!is_of_libc(m) || memcmp(header->e_ident, ELFMAG, SELFMAG))
			continue;
		p = (const ElfW(Phdr) *)(m->l_addr + header->e_phoff);
		for (size_t i = 0; i < header->e_phnum; i++) {
			if (p[i].p_type == PT_LOAD && p[i].p_vaddr + p[i].p_memsz > end)
				end = p[i].p_vaddr + p[i].p_memsz;
		}
		libc_code[n].start = m->l_addr;
		libc_code[n++].n_bytes = end;
	}
}

bool real_is_libc_code(uintptr_t addr)
{
	for (size_t i = 0; i < ARRAY_LEN(libc_code); i++) {
		if (addr - libc_code[i].start < libc_code[i].n_bytes)
			return true;
	}
	return false;
}

void real_init(void)
{
	const struct link_map *own = own_map();
	struct real_functions found;
	void *(*found_malloc)(size_t);
	uint8_t is_glibc, has_chunks;

#define HOOK(name, type) found.name = (__typeof__(found.name))find_next(own, #name);
#include "record/hooks.def"
#undef HOOK
	found_malloc = found.malloc;
	if (real_is_ready())
		return; /* another thread was faster, and others may be reading */
	is_glibc = found_malloc && (void *)found_malloc == find_next(own, "__libc_malloc");
	/* Until glibc 2.33 a program could make __libc_malloc() call functions of its own. Versions
	 * with _dl_find_object() are later. */
	has_chunks = is_glibc && sizeof(size_t) == 8 && find_next(own, "_dl_find_object") &&
		     (void *)found.calloc == find_next(own, "__libc_calloc") &&
		     (void *)found.realloc == find_next(own, "__libc_realloc");
	real_front = (struct real_front){
		.realloc = (__typeof__(real_front.realloc))find_in_front(own, "realloc"),
		.free = (__typeof__(real_front.free))find_in_front(own, "free"),
	};
	__atomic_store_n(&real_is_glibc, is_glibc, __ATOMIC_RELAXED);
	__atomic_store_n(&real_has_chunks, has_chunks, __ATOMIC_RELAXED);
	find_libc_code();
	/* real_is_ready() looks at malloc, so malloc comes last. */
	found.malloc = NULL;
	real = found;
	__atomic_store_n(&real.malloc, found_malloc, __ATOMIC_RELEASE);
}
