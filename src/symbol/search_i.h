/* symbol/search_i.h - which files describe a module: search.c has the order of the search. */
#ifndef SYMBOL_SEARCH_I_H
#define SYMBOL_SEARCH_I_H

#include "symbol/elf_file_i.h"
#include "symbol/symbol.h"

#define SEARCH_MAX_PATH_BYTES 4096
#define SEARCH_MAX_BUILD_ID_HEX (2 * ELF_MAX_BUILD_ID_BYTES + 1)

struct search {
	const struct symbol_module *module;
	const struct symbol_options *options;
	struct elf_file *binary; /* the module itself; NULL: not found */
	struct elf_file *debug; /* a separate file with its DWARF or its symbols; NULL: none */
	struct elf_file *alt; /* what debug (or binary) shares with others; NULL: none */
	bool is_embedded; /* binary is from the recording */
	bool has_wrong_file; /* a file was there, with another build-id */
	char wrong_path[256]; /* of such a file */
};

/* Finds the files of s->module. What is found is the caller's: search_fini(), also after a failure
 * (memory only), which leaves what was found so far. */
int search_run(struct search *s, struct err *err);
void search_fini(struct search *s);

/* debuginfod.c */
enum debuginfod_kind {
	DEBUGINFOD_DEBUG,
	DEBUGINFOD_EXECUTABLE,
};

/* Asks the servers. The path of the downloaded file, for the caller to free; NULL: there is
 * none. */
char *debuginfod_find(enum debuginfod_kind kind, const uint8_t *build_id, size_t build_id_bytes);

#endif
