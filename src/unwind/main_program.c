/* unwind/main_program.c - the one image that is always there.
 *
 * The program headers of the main program are where the kernel says (AT_PHDR), so nothing has to be
 * found or copied. The main program cannot be unloaded, so no care is needed when something points
 * into it. That also covers programs linked at a fixed address with holes between their segments
 * (node): _dl_find_object() names each of their segments as an image of its own, and no ELF header
 * lies at the start of the segment that holds the code.
 */
#include "unwind/tables_i.h"

#include <elf.h>
#include <sys/auxv.h>

#include "base/bits.h"

static struct {
	const ElfW(Phdr) * phdr;
	unsigned n_phdrs; /* 0 = nothing is known */
	uintptr_t base;
	uintptr_t hdr;
	struct memory_range at; /* from the first segment to the last, with the holes */
} program;

void main_program_init(void)
{
	const ElfW(Phdr) *phdr = (const void *)getauxval(AT_PHDR);
	unsigned n = (unsigned)getauxval(AT_PHNUM);
	bool is_based = false;

	if (program.n_phdrs || !phdr || getauxval(AT_PHENT) != sizeof(*phdr))
		return;
	for (unsigned i = 0; i < n; i++) {
		if (phdr[i].p_type != PT_PHDR)
			continue;
		program.base = (uintptr_t)phdr - phdr[i].p_vaddr;
		is_based = true;
	}
	program.at = (struct memory_range){UINTPTR_MAX, 0};
	for (unsigned i = 0; i < n; i++) {
		uintptr_t lo = program.base + phdr[i].p_vaddr;

		if (phdr[i].p_type == PT_GNU_EH_FRAME)
			program.hdr = lo;
		if (phdr[i].p_type != PT_LOAD)
			continue;
		if (lo < program.at.lo)
			program.at.lo = align_down(lo, PAGE_BYTES);
		if (lo + phdr[i].p_memsz > program.at.hi)
			program.at.hi = lo + phdr[i].p_memsz;
	}
	program.phdr = phdr;
	program.n_phdrs = is_based ? n : 0; /* without PT_PHDR nobody knows where it lies */
}

bool main_program_is(const struct image_map *map)
{
	return program.n_phdrs && map->base == program.base && map->hdr == program.hdr &&
	       map->start >= program.at.lo && map->start < program.at.hi;
}

const ElfW(Phdr) * main_program_phdrs(unsigned *ret_n)
{
	*ret_n = program.n_phdrs;
	return program.phdr;
}

struct memory_range main_program_extent(void)
{
	return program.at;
}

bool main_program_has_code(uintptr_t addr, size_t n)
{
	if (addr < program.at.lo || addr >= program.at.hi)
		return false;
	for (unsigned i = 0; i < program.n_phdrs; i++) {
		const ElfW(Phdr) *ph = &program.phdr[i];
		uintptr_t at = addr - (program.base + ph->p_vaddr);

		if (ph->p_type == PT_LOAD && (ph->p_flags & PF_R) && (ph->p_flags & PF_X) &&
		    at < ph->p_filesz)
			return n <= ph->p_filesz - at;
	}
	return false;
}
