/* ingest/jit_names.h - names for code that was made at run time.
 *
 * Just-in-time compilers tell perf what they made: as text in perf-PID.map, a line for each function
 * ("start size name", hexadecimal), or as a binary jitdump, jit-PID.dump. Where an address was
 * used more than once, what came last counts.
 * The files are not trusted.
 */
#ifndef INGEST_JIT_NAMES_H
#define INGEST_JIT_NAMES_H

#include "util/err.h"

struct jit_name {
	uint64_t start;
	uint64_t end;
	char *name; /* owned */
	size_t order; /* of its line; later ones win */
};

struct jit_names {
	struct jit_name *name;
	size_t n, cap;
	bool is_sorted;
};

/* Adds what a file holds, of either kind. A line or record that makes no sense is passed over;
 * what is neither gives ERR_FOREIGN. */
int jit_names_add(struct jit_names *j, int fd, struct err *err);
void jit_names_fini(struct jit_names *j); /* a zeroed struct is empty */

/* The name of the code at addr, or NULL. Not while another thread adds or finds for the first
 * time: call jit_names_sort() before threads do. */
const char *jit_names_find(struct jit_names *j, uint64_t addr);
void jit_names_sort(struct jit_names *j);

#endif
