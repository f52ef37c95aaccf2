/* recording/proc_maps.h - reading the text of /proc/PID/maps as a recording holds it. */
#ifndef RECORDING_PROC_MAPS_H
#define RECORDING_PROC_MAPS_H

#include "base/compiler.h"

/* One line. The name is borrowed from the text and not ended by a zero byte. */
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

/* Takes the next well-formed line off *text; false when there is none. Others are passed over. */
bool proc_maps_next(const char **text, const char *end, struct proc_map *ret);

#endif
