/* unwind/image_set.c - notices that an image went away without our being told.
 *
 * libc unloads libraries itself (character sets, name services), past our hook of dlclose(). The
 * rules of such an image would stay in the caches, and another one may come to lie there. Every
 * image is therefore noted here before its first rule of a generation is made. Two ways to notice:
 *
 * When the dynamic linker has unmapped an image it frees what it knew about it, through the free()
 * that we hook. So at each call of malloc or free by the dynamic linker the noted images are looked
 * up, which takes no lock, and a missing one is found before its place can be given away.
 *
 * When a second image overlaps a note of the same generation, the first is gone as well. This
 * covers C libraries whose linker keeps to its own allocator.
 */
#include "unwind/tables_i.h"

#include <stdatomic.h>

#define MAX_NOTES 512 /* when full, old notes are given up: then we only miss something */

struct note {
	uintptr_t start;
	uintptr_t end; /* 0 = empty */
	uint64_t mark;
	uint32_t generation;
};

static struct note notes[MAX_NOTES];
static unsigned next_note;
static _Atomic bool is_taken; /* guards the above; nobody waits for it */

void image_set_init(void)
{
	atomic_store(&is_taken, false); /* whoever had it is not in this process */
}

static bool is_same(const struct note *n, const struct image *im)
{
	return n->start == im->map.start && n->end == im->map.end && n->mark == im->mark;
}

bool image_set_lost(void)
{
	bool is_lost = false;

	if (atomic_exchange(&is_taken, true))
		return false;
	for (unsigned i = 0; i < MAX_NOTES; i++) {
		struct note *n = &notes[i];

		if (n->end && !modules_is_at(n->start, n->end)) {
			n->end = 0;
			is_lost = true;
		}
	}
	atomic_store(&is_taken, false);
	return is_lost;
}

bool image_set_add(const struct image *im, uint32_t generation)
{
	struct note *free_note = NULL;
	bool is_replaced = false;

	if (atomic_exchange(&is_taken, true))
		return false;
	for (unsigned i = 0; i < MAX_NOTES; i++) {
		struct note *n = &notes[i];

		if (n->end <= im->map.start || n->start >= im->map.end) {
			if (!n->end && !free_note)
				free_note = n;
			continue;
		}
		is_replaced = is_replaced || (n->generation == generation && !is_same(n, im));
		n->end = 0;
		free_note = n;
	}
	if (!free_note)
		free_note = &notes[next_note++ % MAX_NOTES];
	*free_note = (struct note){im->map.start, im->map.end, im->mark, generation};
	atomic_store(&is_taken, false);
	return is_replaced;
}
