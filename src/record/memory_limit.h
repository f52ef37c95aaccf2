/* record/memory_limit.h - how much memory the control group of the process may use.
 *
 * When a group has used it up, the kernel kills the program, and with it the recorder's writer,
 * which shares the program's memory: the recording has no end. The limit lets the report say why.
 *
 * The limit is the least of those of the group and of the groups above it: memory.max (cgroup v2) or
 * memory.limit_in_bytes (v1), below /sys/fs/cgroup. A container may see the path of its group as the
 * host names it, and only its own group's folder: then the limit at the top is its own.
 */
#ifndef RECORD_MEMORY_LIMIT_H
#define RECORD_MEMORY_LIMIT_H

#include "base/compiler.h"

/* groups: the text of /proc/self/cgroup. root: "/sys/fs/cgroup". Returns bytes; 0: there is no limit, or
 * it is not known. */
uint64_t memory_limit_read(const char *groups, const char *root);

#endif
