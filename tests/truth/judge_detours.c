/* judge_detours FILE - what the recorder would decide about the allocators' functions of an ELF file.
 *
 * One line for each function of the tables (record/allocators.def) in .symtab and .dynsym:
 * address, bytes, name, jump_at, end, and why not ("" = it can be led elsewhere); separated by tabs.
 */
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "arch/arch.h"
#include "record/allocator_table.h"

static const uint8_t *data;

static const ElfW(Ehdr) * header(void)
{
	return (const ElfW(Ehdr) *)data;
}

/* The code at this address of the file; *ret_n: how many bytes may be read. NULL: it is no code. */
static const uint8_t *find_code(uint64_t addr, size_t *ret_n)
{
	const ElfW(Phdr) *s = (const ElfW(Phdr) *)(data + header()->e_phoff);

	for (unsigned i = 0; i < header()->e_phnum; i++, s++) {
		if (s->p_type != PT_LOAD || !(s->p_flags & PF_X) || addr < s->p_vaddr ||
		    addr - s->p_vaddr >= s->p_filesz)
			continue;
		*ret_n = s->p_vaddr + s->p_filesz - addr;
		return data + s->p_offset + (addr - s->p_vaddr);
	}
	return NULL;
}

struct table {
	const ElfW(Sym) * symbol;
	size_t n;
	const char *names;
};

static bool find_table(unsigned type, struct table *ret)
{
	const ElfW(Shdr) *section = (const ElfW(Shdr) *)(data + header()->e_shoff);

	for (unsigned i = 0; i < header()->e_shnum; i++) {
		if (section[i].sh_type != type)
			continue;
		ret->symbol = (const ElfW(Sym) *)(data + section[i].sh_offset);
		ret->n = section[i].sh_size / sizeof(ElfW(Sym));
		ret->names = (const char *)(data + section[section[i].sh_link].sh_offset);
		return true;
	}
	return false;
}

/* Parts that the compiler put elsewhere: NAME.cold and the like. */
static const char *check_parts(const struct table *t, const char *name, const uint8_t *code,
			       const struct arch_detour *d)
{
	const char *why = NULL;

	for (size_t i = 0; i < t->n && !why; i++) {
		const char *other = t->names + t->symbol[i].st_name;
		size_t n = strlen(name), n_readable;
		const uint8_t *part;

		if (strncmp(other, name, n) != 0 || other[n] != '.' || !t->symbol[i].st_size)
			continue;
		part = find_code(t->symbol[i].st_value, &n_readable);
		if (part)
			why = arch_detour_check_part(part, t->symbol[i].st_size, code, d);
	}
	return why;
}

static void judge(const struct table *t, const ElfW(Sym) * symbol)
{
	const char *name = t->names + symbol->st_name, *why;
	const struct allocator_function *function;
	struct arch_detour d = {0};
	const uint8_t *code;
	unsigned family;
	size_t n_readable;

	if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF ||
	    !symbol->st_size)
		return;
	function = allocator_table_find(name, &family);
	if (!function || function->event >= ALLOCATOR_USABLE)
		return;
	code = find_code(symbol->st_value, &n_readable);
	if (!code)
		return;
	why = arch_detour_check(code, symbol->st_size, n_readable, &d);
	if (!why)
		why = check_parts(t, name, code, &d);
	printf("%lx\t%lu\t%s\t%u\t%u\t%s\n", symbol->st_value, symbol->st_size, name, d.jump_at,
	       d.end, why ? why : "");
}

int main(int argc, char **argv)
{
	int fd = argc == 2 ? open(argv[1], O_RDONLY) : -1;
	struct stat st;
	struct table t;

	if (fd < 0 || fstat(fd, &st))
		return 2;
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED || memcmp(data, ELFMAG, SELFMAG) != 0)
		return 2;
	allocator_table_init("");
	for (unsigned pass = 0; pass < 2; pass++) {
		if (!find_table(pass ? SHT_DYNSYM : SHT_SYMTAB, &t))
			continue;
		for (size_t i = 0; i < t.n; i++)
			judge(&t, &t.symbol[i]);
	}
	return 0;
}
