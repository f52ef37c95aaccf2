/* unwind/image_set.c - notices images that were unloaded past our hook of dlclose().
 *
 * libc unloads libraries itself (character sets, name services). The rules of such an image would
 * stay in the caches, and another image may be mapped at the same addresses. Every image is
 * therefore added to this set before its first rule of a generation is made. Two ways to notice:
 *
 * 1. When the dynamic linker has unmapped an image, it frees what it knew about the image, through
 *    the free() that we hook. So at each call of malloc or free by the dynamic linker the images of
 *    the set are looked up, which takes no lock. A missing image is found before its addresses can
 *    be reused.
 * 2. When a second image overlaps an image of the same generation, the first is gone as well. This
 *    covers C libraries whose linker keeps to its own allocator.
 */
#include "unwind/tables_i.h"

#include <stdatomic.h>

#define MAX_SEEN 512 /* when full, the oldest are given up: their unloading may then go unnoticed */

struct seen_image {
	uintptr_t start;
	uintptr_t end; /* 0 = empty */
	uint64_t mark;
	uint32_t generation;
};

static struct seen_image seen[MAX_SEEN];
static unsigned next_seen;
static _Atomic bool is_taken; /* guards the above; nobody waits for it */

void image_set_init(void)
{
	atomic_store(&is_taken, false); /* whoever had it is not in this process */
}

static bool is_same(const struct seen_image *n, const struct image *im)
{
	return n->start == im->map.start && n->end == im->map.end && n->mark == im->mark;
}

bool image_set_lost(void)
{
	bool is_lost = false;

	if (atomic_exchange(&is_taken, true))
		return false;
	for (unsigned i = 0; i < MAX_SEEN; i++) {
		struct seen_image *n = &seen[i];

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
	struct seen_image *unused = NULL;
	bool is_replaced = false;

	if (atomic_exchange(&is_taken, true))
		return false;
	for (unsigned i = 0; i < MAX_SEEN; i++) {
		struct seen_image *n = &seen[i];

		if (n->end <= im->map.start || n->start >= im->map.end) {
			if (!n->end && !unused)
				unused = n;
			continue;
		}
		is_replaced = is_replaced || (n->generation == generation && !is_same(n, im));
		n->end = 0;
		unused = n;
	}
	if (!unused)
		unused = &seen[next_seen++ % MAX_SEEN];
	*unused = (struct seen_image){im->map.start, im->map.end, im->mark, generation};
	atomic_store(&is_taken, false);
	return is_replaced;
}
