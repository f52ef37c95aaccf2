/* record/own_memory.h - memory of the recorder itself: never the target's heap.
 *
 * Each piece is a mapping of its own that a fork wipes (MADV_WIPEONFORK): a forked child finds
 * zeros and cannot mistake its parent's state for its own. Threads: any, also in signal handlers;
 * errno stays.
 */
#ifndef RECORD_OWN_MEMORY_H
#define RECORD_OWN_MEMORY_H

#include <stdatomic.h>

#include "base/compiler.h"

/* Bytes mapped at present, for the status of the recording. session.c adds what it maps of the
 * file. */
extern _Atomic uint64_t own_memory_bytes;

/* Maps bytes of zeros, rounded up to pages. NULL: no memory, or a kernel before 4.14, which cannot
 * wipe: there a child would write into its parent's recording, so recording is refused. */
void *own_memory_map(size_t bytes);

/* What is mapped from now on is not wiped. For a process whose forked children are not recorded and that
 * forbids itself to ask for it. */
void own_memory_stay_in_children(void);

/* Unmaps what own_memory_map() gave for the same number of bytes. */
void own_memory_unmap(void *memory, size_t bytes);

/* Writes to every page, without changing it. For tables whose pages are all going to be used: a
 * page that is read before it is written costs two faults, and the second fault interrupts the
 * writer's CPU. */
void own_memory_touch(void *memory, size_t bytes);

#endif
