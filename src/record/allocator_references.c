/* record/allocator_references.c - see allocator_references.h. */
#include "record/allocator_references.h"

#include <string.h>

#include "base/bits.h"

#define MAX_DEPTH 4 /* of functions that call the function */
#define NEAR_BYTES 130 /* as far as a short jump can reach, and its own bytes */

/* A branch or an address relative to the end of a field of four bytes; or, in a program at fixed
 * addresses, the address itself. */
static bool is_reference(const uint8_t *field, const uint8_t *function)
{
	uint32_t value;

	memcpy(&value, field, sizeof(value));
	return field + sizeof(value) + (int32_t)value == function || value == (uintptr_t)function;
}

static bool is_short_jump(const uint8_t *at, const uint8_t *function)
{
	return (at[0] == 0xeb || (at[0] & 0xf0) == 0x70 || (at[0] & 0xfc) == 0xe0) &&
	       at + 2 + (int8_t)at[1] == function;
}

static bool is_referenced(struct allocator_references *r, const uint8_t *function, unsigned depth);

static bool is_exported(const struct allocator_references *r, const ElfW(Sym) * function)
{
	for (size_t i = 0; i < r->exported.n; i++) {
		if (r->exported.symbol[i].st_value == function->st_value)
			return true;
	}
	return false;
}

/* A reference at this place of the code is no harm if the function around it is the caller's, or if
 * nobody else can call that one. */
static bool is_harmless(struct allocator_references *r, const uint8_t *at, unsigned depth)
{
	uintptr_t addr = (uintptr_t)at - r->base;

	if (r->is_harmless(at, r->arg))
		return true;
	for (size_t i = 0; depth < MAX_DEPTH && i < r->symbols.n; i++) {
		const ElfW(Sym) *s = &r->symbols.symbol[i];

		if (ELF64_ST_TYPE(s->st_info) == STT_FUNC && s->st_shndx != SHN_UNDEF &&
		    addr - s->st_value < s->st_size)
			return !is_exported(r, s) &&
			       !is_referenced(r, (const uint8_t *)(r->base + s->st_value),
					      depth + 1);
	}
	return false;
}

static bool is_in_code(struct allocator_references *r, const uint8_t *code, size_t n_bytes,
		       const uint8_t *function, unsigned depth)
{
	for (size_t i = 0; i + sizeof(uint32_t) <= n_bytes; i++) {
		const uint8_t *at = code + i;

		if (unlikely(is_reference(at, function)) && !is_harmless(r, at, depth))
			return true;
		if (unlikely((uintptr_t)(at - function + NEAR_BYTES) < 2 * NEAR_BYTES) &&
		    is_short_jump(at, function) && !is_harmless(r, at, depth))
			return true;
	}
	return false;
}

static bool is_in_data(const uint8_t *data, size_t n_bytes, const uint8_t *function)
{
	for (size_t i = 0; i + sizeof(uintptr_t) <= n_bytes; i += sizeof(uintptr_t)) {
		if (*(const uintptr_t *)(const void *)(data + i) == (uintptr_t)function)
			return true;
	}
	return false;
}

static bool is_in_segment(struct allocator_references *r, const ElfW(Phdr) * s,
			  const uint8_t *function, unsigned depth)
{
	uintptr_t start = r->base + s->p_vaddr, aligned = align_up(start, sizeof(uintptr_t));

	if (s->p_type != PT_LOAD || s->p_filesz < sizeof(uintptr_t))
		return false;
	if (!(s->p_flags & PF_R) || s->p_filesz > r->n_bytes_left)
		return true;
	r->n_bytes_left -= s->p_filesz;
	if ((s->p_flags & PF_X) &&
	    is_in_code(r, (const uint8_t *)start, s->p_filesz, function, depth))
		return true;
	return is_in_data((const uint8_t *)aligned, s->p_filesz - (aligned - start), function);
}

static bool is_referenced(struct allocator_references *r, const uint8_t *function, unsigned depth)
{
	for (size_t i = 0; i < r->n_segments; i++) {
		if (is_in_segment(r, &r->segment[i], function, depth))
			return true;
	}
	return false;
}

bool allocator_is_referenced(struct allocator_references *r, const uint8_t *function)
{
	return is_referenced(r, function, 0);
}
