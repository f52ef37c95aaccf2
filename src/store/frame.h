/* store/frame.h - one frame of a stack as people read it, and the names that a resolver finds for
 * it. */
#ifndef STORE_FRAME_H
#define STORE_FRAME_H

#include "base/compiler.h"

/* Texts are borrowed until frames_close(); NULL: not known. */
struct frame {
	const char *function; /* demangled */
	const char *raw_function; /* as in the symbol table */
	const char *source; /* path of the source file */
	const char *module; /* path of the binary; NULL: none, such as code made at run time */
	uint64_t addr; /* return address */
	uint64_t module_offset; /* addr - base of the module; addr itself without a module */
	uint32_t line; /* 0: not known */
	uint32_t column; /* 0: not known */
	uint32_t code; /* index in STORE_CODES */
	bool is_inline; /* inlined into the next frame of the same code */
};

/* The names of one frame, as a resolver finds them. frames_put() copies the texts. */
struct frame_names {
	const char *function;
	const char *raw_function;
	const char *source;
	uint32_t line;
	uint32_t column;
	bool is_inline;
};

/* The words for a frame: the name of its function, else "module+0x12", else "0x12". Returns the
 * name (borrowed like the frame's texts) or buf. */
#define FRAME_LABEL_BYTES 288 /* the longest name of a file, and an offset */
const char *frame_label(const struct frame *f, char buf[FRAME_LABEL_BYTES]);

#endif
