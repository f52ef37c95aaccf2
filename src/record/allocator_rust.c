/* record/allocator_rust.c - see allocator_rust.h. */
#include "record/allocator_rust.h"

#include <elf.h>
#include <string.h>

#include "arch/arch.h"
#include "base/bits.h"

#define NAME_OF_SHIM "__rust_no_alloc_shim_is_unstable"
#define MAX_SLOTS 8u /* words that hold an address, such as entries of the GOT */

/* A symbol, and where its address is kept. */
struct target {
	const uint8_t *addr;
	unsigned n_slots;
	const uint8_t *slot[MAX_SLOTS];
};

static const struct allocator_rust_function *find(const struct allocator_rust *r, unsigned event)
{
	for (unsigned i = 0; i < r->n; i++) {
		if (r->function[i].event == event)
			return &r->function[i];
	}
	return NULL;
}

static bool is_shared(const struct allocator_rust *r, const struct allocator_rust_function *f)
{
	for (size_t i = 0; i < r->symbols.n; i++) {
		const ElfW(Sym) *s = &r->symbols.symbol[i];
		const char *name;

		if (s->st_value != (uintptr_t)f->code - r->base ||
		    ELF64_ST_TYPE(s->st_info) != STT_FUNC)
			continue;
		name = allocator_table_plain_name(module_symbols_name(&r->symbols, s));
		if (strncmp(name, "__r", 3))
			return true;
	}
	return false;
}

static bool are_jumps(const struct allocator_rust *r)
{
	for (unsigned i = 0; i < r->n; i++) {
		if (!arch_detour_jump_target(r->function[i].code, r->function[i].n_bytes))
			return false;
	}
	return true;
}

/* Finds the words of the module's data that hold the address. False: there are too many. */
static bool find_slots(const struct allocator_rust *r, struct target *t)
{
	for (size_t i = 0; i < r->n_segments; i++) {
		const ElfW(Phdr) *s = &r->segment[i];
		uintptr_t start = align_up(r->base + s->p_vaddr, sizeof(uintptr_t));
		uintptr_t end = r->base + s->p_vaddr + s->p_filesz;

		if (s->p_type != PT_LOAD || !(s->p_flags & PF_W) || !(s->p_flags & PF_R))
			continue;
		for (; start + sizeof(uintptr_t) <= end; start += sizeof(uintptr_t)) {
			if (*(const uintptr_t *)start != (uintptr_t)t->addr)
				continue;
			if (t->n_slots == MAX_SLOTS)
				return false;
			t->slot[t->n_slots++] = (const uint8_t *)start;
		}
	}
	return true;
}

static bool set_target(const struct allocator_rust *r, const uint8_t *addr, struct target *ret)
{
	*ret = (struct target){.addr = addr};
	return find_slots(r, ret);
}

/* Does the code refer to the target, by its address or by a word that holds the address? Any four
 * bytes may be the field of an instruction. */
static bool refers_to(const uint8_t *code, size_t n_bytes, const struct target *t)
{
	for (size_t i = 0; i + sizeof(int32_t) <= n_bytes; i++) {
		const uint8_t *to;
		int32_t field;

		memcpy(&field, code + i, sizeof(field));
		to = code + i + sizeof(field) + field;
		if (unlikely(to == t->addr))
			return true;
		for (unsigned k = 0; k < t->n_slots; k++) {
			if (unlikely(to == t->slot[k]))
				return true;
		}
	}
	return false;
}

static bool is_code(const struct allocator_rust *r, const ElfW(Sym) * s)
{
	if (ELF64_ST_TYPE(s->st_info) != STT_FUNC || s->st_shndx == SHN_UNDEF)
		return false;
	for (size_t i = 0; i < r->n_segments; i++) {
		const ElfW(Phdr) *p = &r->segment[i];

		if (p->p_type == PT_LOAD && (p->p_flags & PF_X) && (p->p_flags & PF_R) &&
		    s->st_value >= p->p_vaddr && s->st_value - p->p_vaddr < p->p_filesz)
			return s->st_size <= p->p_filesz - (s->st_value - p->p_vaddr);
	}
	return false;
}

static const uint8_t *find_shim(const struct allocator_rust *r)
{
	for (size_t i = 0; i < r->symbols.n; i++) {
		const ElfW(Sym) *s = &r->symbols.symbol[i];
		const char *name = module_symbols_name(&r->symbols, s);

		if (!strncmp(allocator_table_plain_name(name), NAME_OF_SHIM, strlen(NAME_OF_SHIM)))
			return (const uint8_t *)(r->base + s->st_value);
	}
	return NULL;
}

/* Is there a function that allocates and refers to no function of the allocator? */
static bool is_inlined(const struct allocator_rust *r, const struct target *shim)
{
	struct target alloc, zeroed;

	if (!find(r, ALLOCATOR_ALLOC) || !find(r, ALLOCATOR_ZERO) ||
	    !set_target(r, find(r, ALLOCATOR_ALLOC)->code, &alloc) ||
	    !set_target(r, find(r, ALLOCATOR_ZERO)->code, &zeroed))
		return true;
	for (size_t i = 0; i < r->symbols.n; i++) {
		const ElfW(Sym) *s = &r->symbols.symbol[i];
		const uint8_t *code = (const uint8_t *)(r->base + s->st_value);

		if (is_code(r, s) && refers_to(code, s->st_size, shim) &&
		    !refers_to(code, s->st_size, &alloc) && !refers_to(code, s->st_size, &zeroed))
			return true;
	}
	return false;
}

const char *allocator_rust_check(const struct allocator_rust *r)
{
	struct target shim;
	const uint8_t *at;

	if (!find(r, ALLOCATOR_ALLOC) || !find(r, ALLOCATOR_FREE) || !find(r, ALLOCATOR_REALLOC))
		return "the compiler has put its functions into their callers";
	for (unsigned i = 0; i < r->n; i++) {
		if (is_shared(r, &r->function[i]))
			return "the linker has merged a function of it with another one";
	}
	if (are_jumps(r))
		return NULL;
	at = r->is_relocated ? find_shim(r) : NULL;
	if (!at || !set_target(r, at, &shim))
		return "it is not known whether all calls pass its functions";
	return is_inlined(r, &shim) ? "the compiler has put its functions into their callers"
				    : NULL;
}
