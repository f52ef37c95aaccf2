/* symbol/symtab.c - see symtab_i.h. */
#include "symbol/symtab_i.h"

#include <stdlib.h>
#include <string.h>

#include "util/vec.h"

/* Names that a program's source would use come first. */
static uint8_t rank_of(const GElf_Sym *sym, const char *name)
{
	uint8_t rank = 0;

	if (sym->st_size == 0)
		rank += 64;
	if (GELF_ST_TYPE(sym->st_info) == STT_NOTYPE)
		rank += 32;
	if (GELF_ST_BIND(sym->st_info) == STB_LOCAL)
		rank += 16;
	if (GELF_ST_VISIBILITY(sym->st_other) == STV_HIDDEN)
		rank += 8;
	if (name[0] == '_' && strncmp(name, "_Z", 2) != 0 && strncmp(name, "_R", 2) != 0)
		rank += name[1] == '_' ? 4 : 2;
	if (GELF_ST_BIND(sym->st_info) == STB_WEAK)
		rank += 1;
	return rank;
}

static bool is_function(const GElf_Sym *sym)
{
	unsigned type = GELF_ST_TYPE(sym->st_info);

	return type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE;
}

/* Whether the symbol is a function with a name, at an address in its section, which must hold
 * code. */
static bool is_usable(struct elf_file *f, const GElf_Sym *sym, const char *name, GElf_Shdr *shdr)
{
	Elf_Scn *scn;

	/* $x, $d and the like mark pieces of code for disassemblers */
	if (!is_function(sym) || !*name || *name == '$' || sym->st_shndx == SHN_UNDEF ||
	    sym->st_shndx >= SHN_LORESERVE)
		return false;
	scn = elf_getscn(f->elf, sym->st_shndx);
	if (!scn || !gelf_getshdr(scn, shdr) || !(shdr->sh_flags & SHF_EXECINSTR))
		return false;
	return sym->st_value >= shdr->sh_addr && sym->st_value - shdr->sh_addr < shdr->sh_size &&
	       shdr->sh_size <= UINT64_MAX - shdr->sh_addr;
}

static int add_symbol(struct symtab *t, struct elf_file *f, const GElf_Sym *sym, const char *name,
		      struct err *err)
{
	struct symtab_entry e = {.start = sym->st_value, .name = {.raw = name}};
	GElf_Shdr shdr;
	int r;

	if (!is_usable(f, sym, name, &shdr))
		return 0;
	e.end = shdr.sh_addr + shdr.sh_size;
	e.is_sized = sym->st_size > 0;
	if (e.is_sized && sym->st_size < e.end - e.start)
		e.end = e.start + sym->st_size;
	e.rank = rank_of(sym, name);
	r = vec_reserve(&t->entry, &t->cap, t->n + 1, sizeof(e), err);
	if (r == 0)
		t->entry[t->n++] = e;
	return r;
}

/* The next symbol table after scn, with its header. */
static Elf_Scn *next_table(struct elf_file *f, Elf_Scn *scn, GElf_Shdr *shdr)
{
	while ((scn = elf_nextscn(f->elf, scn))) {
		if (gelf_getshdr(scn, shdr) &&
		    (shdr->sh_type == SHT_SYMTAB || shdr->sh_type == SHT_DYNSYM))
			break;
	}
	return scn;
}

int symtab_add(struct symtab *t, struct elf_file *f, struct err *err)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	GElf_Sym sym;

	while ((scn = next_table(f, scn, &shdr))) {
		Elf_Data *data = elf_getdata(scn, NULL);

		for (int i = 0; data && gelf_getsym(data, i, &sym); i++) {
			const char *name = elf_strptr(f->elf, shdr.sh_link, sym.st_name);
			int r = name ? add_symbol(t, f, &sym, name, err) : 0;

			if (r < 0)
				return r;
		}
	}
	return 0;
}

bool symtab_has_functions(struct elf_file *f)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr, code;
	GElf_Sym sym;

	while ((scn = next_table(f, scn, &shdr))) {
		Elf_Data *data = elf_getdata(scn, NULL);

		for (int i = 0; data && gelf_getsym(data, i, &sym); i++) {
			const char *name = elf_strptr(f->elf, shdr.sh_link, sym.st_name);

			if (name && is_usable(f, &sym, name, &code))
				return true;
		}
	}
	return false;
}

static int by_start(const void *a, const void *b)
{
	const struct symtab_entry *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return strcmp(x->name.raw, y->name.raw); /* the same result whatever the order was */
}

/* Asserts what a sealed table promises. */
static void symtab_check(const struct symtab *t)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct symtab_entry *e = &t->entry[i];

		ASSERT(e->name.raw && e->max_end >= e->end);
		ASSERT(i == 0 || (e[-1].start < e->start && e[-1].max_end <= e->max_end));
	}
}

void symtab_seal(struct symtab *t)
{
	size_t n = 0;

	if (t->n == 0)
		return;
	qsort(t->entry, t->n, sizeof(*t->entry), by_start);
	for (size_t i = 0; i < t->n; i++) {
		if (n == 0 || t->entry[n - 1].start != t->entry[i].start)
			t->entry[n++] = t->entry[i];
	}
	t->n = n;
	for (size_t i = 0; i < n; i++) {
		struct symtab_entry *e = &t->entry[i];

		if (!e->is_sized && i + 1 < n && e[1].start < e->end)
			e->end = e[1].start;
		e->max_end = i > 0 && e[-1].max_end > e->end ? e[-1].max_end : e->end;
	}
	if (CONFIG_CHECKS > 1)
		symtab_check(t);
}

void symtab_fini(struct symtab *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->entry[i].name.demangled);
	free(t->entry);
	*t = (struct symtab){0};
}

const struct dwarf_name *symtab_find(struct symtab *t, uint64_t addr)
{
	size_t low = 0, high = t->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (t->entry[mid].start <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	/* the last function that starts at or before addr and still contains it */
	for (; low > 0 && t->entry[low - 1].max_end > addr; low--) {
		struct symtab_entry *e = &t->entry[low - 1];

		if (e->end <= addr)
			continue;
		if (!e->is_demangled)
			e->name.demangled = symbol_demangle(e->name.raw);
		e->is_demangled = true;
		return &e->name;
	}
	return NULL;
}
