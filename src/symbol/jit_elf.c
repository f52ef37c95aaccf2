/* symbol/jit_elf.c - reads the functions of an ELF image that a JIT compiler announced to GDB. See
 * perf_map.h.
 *
 * The image is of the same machine and lies as it did in memory. Compilers write the run-time address
 * of each section into its header. A symbol of a relocatable image (LLVM) counts from its section. Of
 * any other image its value should be the address, but wasmtime counts from the section here too:
 * such a value is no address in the section. */
#include <elf.h>
#include <string.h>

#include "symbol/perf_map_i.h"

struct image {
	const uint8_t *bytes;
	size_t len;
	Elf64_Ehdr head;
};

/* Copies n bytes at an offset. False: they are not in the image. */
static bool read_at(const struct image *im, uint64_t offset, void *ret, size_t n)
{
	if (offset > im->len || n > im->len - offset)
		return false;
	memcpy(ret, im->bytes + offset, n);
	return true;
}

static bool read_section(const struct image *im, uint64_t i, Elf64_Shdr *ret)
{
	return i < im->head.e_shnum && i < UINT16_MAX && im->head.e_shoff < im->len &&
	       read_at(im, im->head.e_shoff + i * sizeof(*ret), ret, sizeof(*ret));
}

/* The name at an offset of a string table; NULL: it does not end in the table. */
static const char *read_name(const struct image *im, const Elf64_Shdr *names, uint32_t offset,
			     size_t *ret_len)
{
	const char *name, *end;

	if (names->sh_offset > im->len || names->sh_size > im->len - names->sh_offset ||
	    offset >= names->sh_size)
		return NULL;
	name = (const char *)im->bytes + names->sh_offset + offset;
	end = memchr(name, 0, names->sh_size - offset);
	*ret_len = end ? (size_t)(end - name) : 0;
	return *ret_len ? name : NULL;
}

static int add_function(struct perf_map *m, const struct image *im, const Elf64_Sym *symbol,
			const Elf64_Shdr *names, uint64_t time_ns, struct err *err)
{
	struct perf_map_code code = {.time_ns = time_ns, .start = symbol->st_value};
	Elf64_Shdr section;
	size_t len = 0;
	const char *name = read_name(im, names, symbol->st_name, &len);
	int r;

	if (!name || !read_section(im, symbol->st_shndx, &section)) {
		m->n_bad++;
		return 0;
	}
	if (im->head.e_type == ET_REL ||
	    (code.start < section.sh_size && code.start < section.sh_addr))
		code.start += section.sh_addr;
	if (symbol->st_size > UINT64_MAX - code.start) {
		m->n_bad++;
		return 0;
	}
	code.end = code.start + symbol->st_size;
	r = perf_map_add_name(m, name, len, &code.name, err);
	return r < 0 ? r : perf_map_add_code(m, &code, err);
}

static int add_table(struct perf_map *m, const struct image *im, const Elf64_Shdr *table,
		     uint64_t time_ns, struct err *err)
{
	Elf64_Shdr names;
	Elf64_Sym symbol;
	int r = 0;

	if (!read_section(im, table->sh_link, &names)) {
		m->n_bad++;
		return 0;
	}
	for (uint64_t at = 0; r == 0 && at < table->sh_size && at < im->len; at += sizeof(symbol)) {
		if (!read_at(im, table->sh_offset + at, &symbol, sizeof(symbol))) {
			m->n_bad++;
			return 0;
		}
		if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_size &&
		    symbol.st_shndx != SHN_UNDEF)
			r = add_function(m, im, &symbol, &names, time_ns, err);
	}
	return r;
}

int perf_map_add_elf(struct perf_map *m, const void *bytes, size_t len, uint64_t time_ns,
		     struct err *err)
{
	struct image im = {.bytes = bytes, .len = len};
	Elf64_Shdr section;

	if (!read_at(&im, 0, &im.head, sizeof(im.head)) ||
	    memcmp(im.head.e_ident, ELFMAG, SELFMAG) != 0 ||
	    im.head.e_ident[EI_CLASS] != ELFCLASS64 || im.head.e_ident[EI_DATA] != ELFDATA2LSB ||
	    im.head.e_shentsize != sizeof(Elf64_Shdr))
		return err_set(err, ERR_FOREIGN, "this is not an ELF image of a 64-bit machine");
	for (uint64_t i = 0; i < im.head.e_shnum; i++) {
		if (!read_section(&im, i, &section)) {
			m->n_bad++;
			return 0;
		}
		if (section.sh_type == SHT_SYMTAB) /* there is one at most */
			return add_table(m, &im, &section, time_ns, err);
	}
	return 0;
}
