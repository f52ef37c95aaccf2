/* record/allocator_findings.h - what allocators.h found, for the notes of the recording.
 *
 * Threads: functions that add are called by one thread at a time, which holds the dynamic linker's
 * lock or is alone; the others by any.
 */
#ifndef RECORD_ALLOCATOR_FINDINGS_H
#define RECORD_ALLOCATOR_FINDINGS_H

#include "base/text.h"
#include "record/options.h"

#define ALLOCATOR_FINDINGS_MAX 32u

/* Begins a text, which allocator_findings_end() ends; a text that is there already is dropped.
 * False: there are too many; the last text says so. */
bool allocator_findings_begin(struct text *ret);
void allocator_findings_end(enum log_level level);

/* Puts a path; of a long path only the end. */
void allocator_findings_put_path(struct text *text, const char *path);

/* The families with these bits (allocator_table.h) are recorded. */
void allocator_findings_add_families(uint32_t families);

/* The modules that are loaded at the start were looked at, or are not going to be. */
void allocator_findings_complete(void);
bool allocator_findings_are_complete(void);

/* The text of number i, from 0, and its level. NULL: there are not so many. The text lives
 * forever. */
const char *allocator_findings_get(unsigned i, enum log_level *ret_level);

/* Is an allocator recorded whose functions have this prefix? "" stands for malloc itself. */
bool allocator_findings_has_prefix(const char *prefix);

/* Is an allocator of this name recorded? */
bool allocator_findings_has(const char *name);

#endif
