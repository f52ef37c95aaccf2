/* record/embed_cut.c - see embed_cut.h. */
#include "record/embed_cut.h"

#include <elf.h>
#include <string.h>

#include "record/sys.h"

#define MIN_CUT_BYTES 64
#define MAX_NAMES_BYTES (64 * KIB)

/* Sections that hold data only. Not here: .gopclntab, which names the functions of Go. */
static const char *const data_sections[] = {
	".rodata", ".data", ".data.rel.ro", ".data.rel.ro.local", ".lrodata", ".ldata", ".tdata",
};

static bool is_data(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(data_sections); i++) {
		if (!strcmp(name, data_sections[i]))
			return true;
	}
	return false;
}

static bool read_at(int fd, uint64_t offset, void *ret, size_t n_bytes)
{
	return sys_pread(fd, ret, n_bytes, offset) == (long)n_bytes;
}

static void add(struct embed_cut *c, const Elf64_Shdr *s)
{
	if (c->n == EMBED_CUT_MAX || s->sh_size < MIN_CUT_BYTES ||
	    s->sh_offset > UINT64_MAX - s->sh_size)
		return;
	c->range[c->n].begin = s->sh_offset;
	c->range[c->n].end = s->sh_offset + s->sh_size;
	c->n++;
}

void embed_cut_find(struct embed_cut *c, int fd, uint8_t *scratch, size_t n_bytes)
{
	const Elf64_Shdr *section = (const Elf64_Shdr *)scratch;
	char *names;
	size_t table_bytes, names_bytes;
	Elf64_Ehdr h;

	c->n = 0;
	if (!read_at(fd, 0, &h, sizeof(h)) || memcmp(h.e_ident, ELFMAG, SELFMAG) ||
	    h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_ident[EI_DATA] != ELFDATA2LSB ||
	    h.e_shentsize != sizeof(Elf64_Shdr) || h.e_shstrndx >= h.e_shnum)
		return;
	table_bytes = h.e_shnum * sizeof(Elf64_Shdr);
	if (table_bytes + MAX_NAMES_BYTES > n_bytes ||
	    !read_at(fd, h.e_shoff, scratch, table_bytes))
		return;
	names = (char *)scratch + table_bytes;
	names_bytes = section[h.e_shstrndx].sh_size;
	if (!names_bytes || names_bytes > MAX_NAMES_BYTES ||
	    !read_at(fd, section[h.e_shstrndx].sh_offset, names, names_bytes))
		return;
	names[names_bytes - 1] = 0;
	for (unsigned i = 0; i < h.e_shnum; i++) {
		const Elf64_Shdr *s = &section[i];

		if (s->sh_type != SHT_PROGBITS || !(s->sh_flags & SHF_ALLOC) ||
		    s->sh_name >= names_bytes)
			continue;
		if ((s->sh_flags & SHF_EXECINSTR) || is_data(names + s->sh_name))
			add(c, s);
	}
}

void embed_cut_apply(const struct embed_cut *c, uint64_t offset, uint8_t *bytes, size_t n_bytes)
{
	for (unsigned i = 0; i < c->n; i++) {
		uint64_t begin = c->range[i].begin, end = c->range[i].end;

		if (begin < offset)
			begin = offset;
		if (end > offset + n_bytes)
			end = offset + n_bytes;
		if (begin < end)
			memset(bytes + (begin - offset), 0, end - begin);
	}
}
