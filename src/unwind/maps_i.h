/* unwind/maps_i.h - what the kernel says of this process's mappings (maps.c). */
#ifndef UNWIND_MAPS_I_H
#define UNWIND_MAPS_I_H

#include "base/compiler.h"

struct maps_line {
	uintptr_t lo;
	uintptr_t hi;
	bool is_executable;
	char path; /* first character of the name of the mapping; 0 = it has none */
};

#define MAPS_BUFFER_BYTES 4096u

/* Calls fn for each mapping, in ascending order, until fn returns false. buffer is scratch. Calls
 * nothing of libc and leaves no descriptor open. */
typedef bool (*maps_visitor)(const struct maps_line *line, void *arg);
void maps_each(uint8_t buffer[MAPS_BUFFER_BYTES], maps_visitor fn, void *arg);

/* From now on maps_each() opens no file: it gives the mappings of this moment, the lowest 4096. Once. */
void maps_keep(void);

#endif
