/* symbol/perf_map.h - names of code that a JIT compiler made.
 *
 * Such code is in no file. Compilers that can tell write /tmp/perf-PID.map (text: address, size,
 * name) or a jitdump file (jit-PID.dump: code that came, moved, with times and lines). The caller
 * has read the bytes, wherever from; this keeps copies of what it needs.
 *
 * Code may be replaced: several functions can have been at one address, one after the other. Of
 * those the last one that was there before the asked time counts; one from a map, which tells
 * no times, counts as having been there from the start, and the later line wins.
 * What makes no sense is skipped and counted.
 *
 * Threads: one at a time, also for perf_map_resolve(), which sorts and demangles what it finds.
 */
#ifndef SYMBOL_PERF_MAP_H
#define SYMBOL_PERF_MAP_H

#include "symbol/symbol.h"

struct perf_map; /* opaque: defined in perf_map_i.h */

int perf_map_create(struct perf_map **ret, struct err *err);
void perf_map_destroy(struct perf_map *m); /* NULL does nothing */

/* Adds what the text of a perf-PID.map says. Fails when memory is out, or with ERR_LIMIT when it
 * holds more than a 32-bit number can count. */
int perf_map_add_text(struct perf_map *m, const char *bytes, size_t len, struct err *err);

/* Adds what a jitdump file says; it may be cut off anywhere. ERR_FOREIGN when it is not one (or
 * of a machine with the other byte order). */
int perf_map_add_jitdump(struct perf_map *m, const void *bytes, size_t len, struct err *err);

/* The function at a run-time address (of a return address: one less) at a time of the clock that
 * the compiler used: CLOCK_MONOTONIC in jitdump files. False when nothing is known. *ret is
 * borrowed until the next call with m. */
bool perf_map_resolve(struct perf_map *m, uint64_t addr, uint64_t time_ns,
		      struct symbol_frame *ret);

size_t perf_map_n_functions(const struct perf_map *m);
size_t perf_map_n_bad(const struct perf_map *m); /* lines and records that were skipped */

#endif
