/* record/embed_cut.h - which parts of an ELF file nobody needs to name and unwind code.
 *
 * An embedded image keeps its headers, symbols, debug and unwind sections. The bytes of its code and
 * its data are replaced by zeros, which compress to nothing: the file keeps its size and its
 * offsets, and every reader of ELF files reads it. It cannot be executed.
 *
 * The writer only. Anybody may have made the file: all offsets and sizes are checked.
 */
#ifndef RECORD_EMBED_CUT_H
#define RECORD_EMBED_CUT_H

#include "base/compiler.h"

#define EMBED_CUT_MAX 24

struct embed_cut {
	unsigned n;
	struct {
		uint64_t begin, end; /* offsets in the file */
	} range[EMBED_CUT_MAX];
};

/* Finds the code and data of the open file. scratch: n_bytes of memory. What is no ELF file of this
 * machine's kind, or too odd, is kept whole. */
void embed_cut_find(struct embed_cut *c, int fd, uint8_t *scratch, size_t n_bytes);

/* Replaces what is cut of the n_bytes at offset of the file. */
void embed_cut_apply(const struct embed_cut *c, uint64_t offset, uint8_t *bytes, size_t n_bytes);

#endif
