/* record/module_symbols.h - the symbol tables in a module's file.
 *
 * The file is mapped read-only while its symbols are looked through. Everything that is read of the
 * file is checked against its size; a file that makes no sense has no symbols.
 *
 * Threads: any; no state. Nothing here allocates from the heap or changes errno.
 */
#ifndef RECORD_MODULE_SYMBOLS_H
#define RECORD_MODULE_SYMBOLS_H

#include <link.h>

#include "base/compiler.h"

struct module_file {
	const uint8_t *data; /* NULL: not open */
	size_t n_bytes;
};

/* Maps the file of an ELF image of this machine. False: there is none, or it is something else. */
bool module_file_open(const char *path, struct module_file *ret);
void module_file_close(struct module_file *f); /* NULL data does nothing */

/* The program headers; *ret_n is their number. NULL: none. */
const ElfW(Phdr) * module_file_segments(const struct module_file *f, size_t *ret_n);

struct module_symbols {
	const ElfW(Sym) * symbol;
	size_t n;
	const char *names; /* ends with a zero byte */
	size_t names_bytes;
};

/* The table of this type: SHT_SYMTAB or SHT_DYNSYM. False: the file has none. */
bool module_file_symbols(const struct module_file *f, unsigned type, struct module_symbols *ret);

/* The name of a symbol; "" if it has none. Borrowed from the file. */
const char *module_symbols_name(const struct module_symbols *s, const ElfW(Sym) * symbol);

/* The bytes of the first section of this name; *ret_n is their number. NULL: the file has none.
 * Borrowed from the file. */
const uint8_t *module_file_section(const struct module_file *f, const char *name, size_t *ret_n);

#endif
