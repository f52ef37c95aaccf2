/* symbol/perf_map.h - names of code that a JIT compiler made.
 *
 * Such code is in no file. Some JIT compilers write /tmp/perf-PID.map (text: address, size, name)
 * or a jitdump file (jit-PID.dump: code that was added or moved, with times and lines). The caller
 * reads the bytes, wherever they are; a perf_map keeps copies of what it needs.
 *
 * Code may be replaced: several functions can have been at one address, one after the other. The
 * last function that was there at the asked time counts; if there was none, the first after that
 * time, because a compiler may read its clock after the code has begun to run. A map has no times:
 * its functions count as there from the start, and of two at one address the later line counts.
 * Lines and records that make no sense are skipped and counted.
 *
 * Threads: one at a time, also for perf_map_resolve(), which sorts and demangles what it finds.
 */
#ifndef SYMBOL_PERF_MAP_H
#define SYMBOL_PERF_MAP_H

#include "symbol/symbol.h"

struct perf_map; /* opaque: defined in perf_map_i.h */

int perf_map_create(struct perf_map **ret, struct err *err);
void perf_map_destroy(struct perf_map *m); /* NULL does nothing */

/* Adds the text of a perf-PID.map. Fails with ERR_MEMORY, or with ERR_LIMIT when m would hold more
 * than a 32-bit number can count. */
int perf_map_add_text(struct perf_map *m, const char *bytes, size_t len, struct err *err);

/* Adds a jitdump file, which may be cut off anywhere. ERR_FOREIGN when the bytes are no jitdump
 * file, or one of a machine with the other byte order. */
int perf_map_add_jitdump(struct perf_map *m, const void *bytes, size_t len, struct err *err);

/* Adds the functions of an ELF image that a JIT compiler announced to GDB, as it lay in memory. They
 * are there from time_ns on. ERR_FOREIGN when the bytes are no such image. */
int perf_map_add_elf(struct perf_map *m, const void *bytes, size_t len, uint64_t time_ns,
		     struct err *err);

/* The function at a run-time address (for a return address pass one less), at a time of the clock
 * that the compiler used: CLOCK_MONOTONIC in jitdump files. False when nothing is known. *ret is
 * borrowed until the next call with m. */
bool perf_map_resolve(struct perf_map *m, uint64_t addr, uint64_t time_ns,
		      struct symbol_frame *ret);

size_t perf_map_n_functions(const struct perf_map *m);
size_t perf_map_n_bad(const struct perf_map *m); /* lines and records that were skipped */

#endif
