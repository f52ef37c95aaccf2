/* recording/proc_maps.h - reads the text of /proc/PID/maps that a recording holds, or what
 * it keeps of /proc/PID/smaps. Any bytes are safe. */
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
	uint64_t rss_bytes; /* from a line Rss after it; PROC_MAP_UNKNOWN: there is none */
};

#define PROC_MAP_UNKNOWN UINT64_MAX

/* Reads the next well-formed line, with the lines of /proc/PID/smaps that follow it, and moves *text past
 * them; skips lines that are not well-formed. False: there are no more. */
bool proc_maps_next(const char **text, const char *end, struct proc_map *ret);

#endif
