/* util/map_guard.h - mapped files that another program cuts short.
 *
 * The kernel sends SIGBUS to whoever touches a mapped page behind the end of its file. A store or a
 * binary that is cut short while it is mapped must not end the process: map_guard_add() installs a
 * handler for SIGBUS. The handler puts zeros in the place of the missing pages and notes that, so
 * that whoever reads the mapping goes on with zeros and can find out with map_guard_is_cut().
 *
 * What reads a guarded mapping must bear zeros at any place, also where it checked other values
 * before. A SIGBUS at any other address ends the process, as without a handler.
 *
 * At most MAP_GUARD_MAX mappings are guarded at a time; of more, the later ones are not.
 * Threads: any. A mapping is removed by whoever added it, before munmap().
 */
#ifndef UTIL_MAP_GUARD_H
#define UTIL_MAP_GUARD_H

#include <stdbool.h>
#include <stddef.h>

#define MAP_GUARD_MAX 256

struct map_guard {
	unsigned slot; /* 0: not guarded, else the number of the slot plus 1 */
};

/* Guards the len bytes of a mapping, whose address is from. */
struct map_guard map_guard_add(const void *from, size_t len);
void map_guard_remove(struct map_guard *g); /* a zeroed guard does nothing */

/* Were zeros put into the mapping? Costs a load. */
bool map_guard_is_cut(struct map_guard g);

#endif
