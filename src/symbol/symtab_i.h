/* symbol/symtab_i.h - functions by address, from ELF symbol tables.
 *
 * Add the tables of all files of a module, seal, then find.
 */
#ifndef SYMBOL_SYMTAB_I_H
#define SYMBOL_SYMTAB_I_H

#include "symbol/dwarf_i.h"
#include "symbol/elf_file_i.h"

struct symtab_entry {
	uint64_t start;
	uint64_t end; /* as the symbol says; without a size: the next symbol or the section's end */
	uint64_t max_end; /* the greatest end of this and all entries before */
	struct dwarf_name name; /* demangled when first found */
	uint8_t rank; /* of several symbols at one address the lowest is shown */
	bool is_sized; /* end is the symbol's own */
	bool is_demangled; /* demangling was tried */
};

/* After symtab_seal(): starts ascend strictly, and max_end does not descend. */
struct symtab {
	struct symtab_entry *entry;
	size_t n, cap;
};

/* Adds the functions of .symtab and .dynsym. Names are borrowed: f must live longer. */
int symtab_add(struct symtab *t, struct elf_file *f, struct err *err);

/* Whether there is anything to add: an executable's .dynsym may name only what it imports. */
bool symtab_has_functions(struct elf_file *f);

/* Sorts, and keeps the best name of each start. Nothing may be added afterwards. */
void symtab_seal(struct symtab *t);
void symtab_fini(struct symtab *t);

/* The function that contains addr, or NULL. Borrowed until symtab_fini(). Demangles on first
 * use. */
const struct dwarf_name *symtab_find(struct symtab *t, uint64_t addr);

#endif
