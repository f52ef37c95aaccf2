/* record/module_symbols.c - see module_symbols.h. */
#include "record/module_symbols.h"

#include <elf.h>
#include <string.h>

#include "base/bits.h"
#include "record/sys.h"

/* The n_bytes at offset, or NULL where the file does not have them or they are not aligned. */
static const void *bytes_at(const struct module_file *f, uint64_t offset, uint64_t n_bytes,
			    size_t alignment)
{
	if (offset > f->n_bytes || n_bytes > f->n_bytes - offset || offset % alignment)
		return NULL;
	return f->data + offset;
}

static const ElfW(Ehdr) * header_of(const struct module_file *f)
{
	return (const ElfW(Ehdr) *)(const void *)f->data;
}

bool module_file_open(const char *path, struct module_file *ret)
{
	long fd = sys_open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK, 0);
	struct module_file f = {0};
	const ElfW(Ehdr) * header;
	struct stat st;

	if (fd < 0)
		return false;
	if (!sys_failed(arch_syscall2(SYS_fstat, fd, &st)) && S_ISREG(st.st_mode) &&
	    (size_t)st.st_size >= sizeof(*header)) {
		f.n_bytes = (size_t)st.st_size;
		f.data = sys_map(f.n_bytes, PROT_READ, MAP_PRIVATE | MAP_NORESERVE, (int)fd, 0);
	}
	sys_close((int)fd);
	if (!f.data)
		return false;
	header = header_of(&f);
	if (memcmp(header->e_ident, ELFMAG, SELFMAG) || header->e_machine != ARCH_ELF_MACHINE ||
	    header->e_ident[EI_CLASS] != ELFCLASS64) {
		module_file_close(&f);
		return false;
	}
	*ret = f;
	return true;
}

void module_file_close(struct module_file *f)
{
	if (f->data)
		sys_unmap((void *)(uintptr_t)f->data, f->n_bytes);
	*f = (struct module_file){0};
}

const ElfW(Phdr) * module_file_segments(const struct module_file *f, size_t *ret_n)
{
	const ElfW(Ehdr) *header = header_of(f);

	*ret_n = header->e_phnum;
	if (header->e_phentsize != sizeof(ElfW(Phdr)))
		return NULL;
	return bytes_at(f, header->e_phoff, header->e_phnum * sizeof(ElfW(Phdr)), 8);
}

static const ElfW(Shdr) * sections_of(const struct module_file *f, size_t *ret_n)
{
	const ElfW(Ehdr) *header = header_of(f);

	*ret_n = header->e_shnum;
	if (header->e_shentsize != sizeof(ElfW(Shdr)))
		return NULL;
	return bytes_at(f, header->e_shoff, header->e_shnum * sizeof(ElfW(Shdr)), 8);
}

bool module_file_symbols(const struct module_file *f, unsigned type, struct module_symbols *ret)
{
	size_t n;
	const ElfW(Shdr) *section = sections_of(f, &n);

	for (size_t i = 0; section && i < n; i++) {
		const ElfW(Shdr) *s = &section[i], *names;

		if (s->sh_type != type || s->sh_link >= n)
			continue;
		names = &section[s->sh_link];
		ret->symbol = bytes_at(f, s->sh_offset, s->sh_size, 8);
		ret->n = s->sh_size / sizeof(ElfW(Sym));
		ret->names = bytes_at(f, names->sh_offset, names->sh_size, 1);
		ret->names_bytes = names->sh_size;
		return ret->symbol && ret->names && ret->names_bytes &&
		       !ret->names[ret->names_bytes - 1];
	}
	return false;
}

const char *module_symbols_name(const struct module_symbols *s, const ElfW(Sym) * symbol)
{
	return s->names + (symbol->st_name < s->names_bytes ? symbol->st_name : s->names_bytes - 1);
}

const uint8_t *module_file_section(const struct module_file *f, const char *name, size_t *ret_n)
{
	size_t n, len = strlen(name) + 1;
	const ElfW(Shdr) *section = sections_of(f, &n), *names;

	if (!section || header_of(f)->e_shstrndx >= n)
		return NULL;
	names = &section[header_of(f)->e_shstrndx];
	for (size_t i = 0; i < n; i++) {
		const char *here = bytes_at(f, names->sh_offset + section[i].sh_name, len, 1);

		if (!here || memcmp(here, name, len) || section[i].sh_type == SHT_NOBITS)
			continue;
		*ret_n = section[i].sh_size;
		return bytes_at(f, section[i].sh_offset, section[i].sh_size, 1);
	}
	return NULL;
}
