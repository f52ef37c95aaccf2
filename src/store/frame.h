/* store/frame.h - one frame of a stack as people read it, and the names that a resolver finds for it. */
#ifndef STORE_FRAME_H
#define STORE_FRAME_H

#include "base/compiler.h"

/* Texts are borrowed until frames_close(); NULL: not known. */
struct frame {
	const char *function; /* demangled */
	const char *raw_function; /* as in the symbol table */
	const char *source; /* path of the source file */
	const char *module; /* path of the image; NULL: none, such as code made at run time */
	uint64_t addr; /* return address */
	uint64_t module_offset; /* addr - base of the module; addr itself when there is none */
	uint32_t line; /* 0: not known */
	uint32_t column;
	uint32_t code; /* index in the table of codes */
	bool is_inline;
};

/* What a resolver finds out; texts are copied. */
struct frame_names {
	const char *function;
	const char *raw_function;
	const char *source;
	uint32_t line;
	uint32_t column;
	bool is_inline;
};

#endif
