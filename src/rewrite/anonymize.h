/* rewrite/anonymize.h - removes from a recording what it says about people and machines.
 *
 *   partial   Paths become file names. Environment, arguments, host, working directory and control
 *             group are dropped.
 *   full      Also, functions, sources, modules and threads get names that say nothing (fn_17,
 *             file_3, module_1, thread_2), the same thing always the same name. Build ids, user and
 *             kernel are dropped, and notes lose their text.
 *
 * Embedded ELF files are dropped at every level; other embedded files, and chunks that this version
 * does not know, from partial on. Threads: one.
 */
#ifndef REWRITE_ANONYMIZE_H
#define REWRITE_ANONYMIZE_H

#include "rewrite/recording_write.h"
#include "symbol/symbol.h"

enum anonymize_level {
	ANONYMIZE_NONE,
	ANONYMIZE_PARTIAL,
	ANONYMIZE_FULL,
};

struct anonymize; /* opaque: defined in anonymize.c */

/* r is borrowed until anonymize_destroy(). ERR_MEMORY. */
int anonymize_create(const struct recording *r, enum anonymize_level level, struct anonymize **ret,
		     struct err *err);
void anonymize_destroy(struct anonymize *a); /* NULL does nothing */

/* Writes what remains of a chunk of the recording to w. A chunk that cannot be read is left out. */
int anonymize_chunk(struct anonymize *a, struct recording_writer *w, const struct chunk_header *h,
		    const uint8_t *payload, struct err *err);

/* Replaces the texts of a frame. The new texts are valid until anonymize_destroy(), or as long as
 * the old ones. */
int anonymize_frame(struct anonymize *a, struct symbol_frame *f, struct err *err);

#endif
