/* recording/proc_maps.h - reads the text of /proc/PID/maps that a recording holds. Any bytes are
 * safe. */
#ifndef RECORDING_PROC_MAPS_H
#define RECORDING_PROC_MAPS_H

#include "base/compiler.h"

/* One line. name points into the text and does not end with a zero byte. */
struct proc_map {
	uint64_t start;
	uint64_t end;
	uint64_t offset;
	uint64_t inode;
	uint32_t device_major;
	uint32_t device_minor;
	bool is_readable, is_writable, is_executable, is_shared;
	const char *name;
	size_t name_len;
};

/* Reads the next well-formed line and moves *text past it; skips lines that are not. False: there
 * are no more. */
bool proc_maps_next(const char **text, const char *end, struct proc_map *ret);

#endif
