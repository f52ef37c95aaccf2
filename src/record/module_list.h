/* record/module_list.h - the loaded images that stacks have passed through.
 *
 * A thread that defines a stack frame makes sure that the image of the frame is listed. The writer
 * puts new entries into the recording and embeds their files. The list only grows. An image that
 * was replaced by another one at the same address gets a new entry with a later generation. Two
 * threads may add the same image at once; readers do not mind. An image that finds no room is
 * counted in n_dropped.
 *
 * Threads: any; an entry is complete when is_ready is set, and constant from then on (but
 * `checked`).
 */
#ifndef RECORD_MODULE_LIST_H
#define RECORD_MODULE_LIST_H

#include <stdatomic.h>

#include "base/compiler.h"

#define MODULE_LIST_MAX 8192
#define MODULE_LIST_PATH_BYTES 256
#define MODULE_LIST_BUILD_ID_BYTES 32

struct module_entry {
	_Atomic uint32_t is_ready; /* set last */
	_Atomic uint32_t
		checked; /* newest generation in which the image was seen to be still there */
	uint32_t generation; /* in which it was first seen */
	uint32_t build_id_bytes;
	uint64_t ticks;
	uintptr_t base;
	uintptr_t start;
	uintptr_t end;
	uint8_t build_id[MODULE_LIST_BUILD_ID_BYTES];
	char path[MODULE_LIST_PATH_BYTES]; /* "" for the main program */
};

/* Zeroed memory is an empty list. */
struct module_list {
	_Atomic uint32_t n; /* entries begun */
	_Atomic uint64_t n_dropped; /* images that found no room */
	_Atomic uint32_t has_code_outside; /* a stack led through code that is in no image */
	struct module_entry entry[MODULE_LIST_MAX];
};

/* A range of addresses whose image is listed, or which belong to no image. A lane keeps a few, so
 * that it need not search the list for each frame. Zeroed memory is empty. */
#define MODULE_LIST_N_RANGES 16u

struct module_list_range {
	uintptr_t start;
	uintptr_t n_bytes;
	uint32_t generation;
};

/* The rest of module_list_add(), for an address outside of the lane's range, which it sets. */
bool module_list_add_slow(struct module_list *m, struct module_list_range *range, uintptr_t addr,
			  uint32_t generation);

/* Makes sure that the image of this frame address is listed for this generation. True: that is news
 * for the writer: a new entry (the image is listed or counted in n_dropped), or the first address
 * that is in no image. range: the MODULE_LIST_N_RANGES ranges of the lane. */
static inline bool module_list_add(struct module_list *m, struct module_list_range *range,
				   uintptr_t addr, uint32_t generation)
{
	struct module_list_range *here = &range[(addr >> 16) % MODULE_LIST_N_RANGES];

	if (likely(addr - 1 - here->start < here->n_bytes && here->generation == generation))
		return false;
	return module_list_add_slow(m, here, addr, generation);
}

#endif
