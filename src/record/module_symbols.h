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

/* Finds the file with the symbols of a stripped file: by build id below /usr/lib/debug, or by the
 * name in .gnu_debuglink, beside the file at path or below /usr/lib/debug. The build ids of both
 * files are the same. False: there is none. */
bool module_file_open_debug(const struct module_file *stripped, const char *path,
			    struct module_file *ret);

#endif
