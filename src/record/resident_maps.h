/* record/resident_maps.h - the memory map with how much of each mapping is resident.
 *
 * A MAPS chunk whose mappings have the line Rss of /proc/self/smaps (docs/FORMAT.md, section 2). To
 * answer, the kernel looks at every resident page, 40 to 160 ns for each (measured: 2 GiB in pages of
 * 4 KiB take 80 ms, in huge pages 0.2 ms), and meanwhile calls of the program that change its memory
 * map wait. So readings are rare and bounded:
 *
 *   - one is due when more memory is resident than at any reading before, by an eighth; and every ten
 *     seconds, if what is resident changed by an eighth. After a reading of less than 2 ms a
 *     thirty-second is enough;
 *   - the time between two readings is 200 times what the last one took, at least;
 *   - no reading begins that would take more than 100 ms, going by the last one;
 *   - at the end of the recording there is one more, if it takes no more than a second: the program
 *     waits for it. When the program is gone nobody waits, and there is no limit.
 *
 * The writer only. Zeroed memory: nothing was read.
 */
#ifndef RECORD_RESIDENT_MAPS_H
#define RECORD_RESIDENT_MAPS_H

#include "record/describe.h"

struct resident_maps {
	uint64_t last_bytes; /* resident at the last reading */
	uint64_t most_bytes; /* the most at any reading */
	uint64_t last_ns; /* when the last reading ended */
	uint64_t took_ns; /* how long it took */
};

#define RESIDENT_MAPS_RUNNING_NS (100 * NS_PER_MS)
#define RESIDENT_MAPS_ENDING_NS NS_PER_S
#define RESIDENT_MAPS_GONE_NS UINT64_MAX

/* Is a reading due, with rss_bytes resident? */
bool resident_maps_is_due(const struct resident_maps *m, uint64_t rss_bytes, uint64_t now_ns);

/* Appends the MAPS chunk: with what is resident if that will take at most limit_ns, else without.
 * While the program runs a reading that fails leaves no chunk. Nothing with
 * MEMORY_PROFILER_GATHER_MAPS=0. */
void resident_maps_put(struct resident_maps *m, struct describer *f, struct session *s,
		       uint64_t rss_bytes, uint64_t limit_ns);

/* Copies text of /proc/self/smaps: the first line of each mapping and its line Rss. in holds n bytes.
 * Returns how many of them were used: all complete lines. *len grows by what was put at out, and stays
 * below capacity. */
size_t resident_maps_copy(const char *in, size_t n, char *out, size_t capacity, size_t *len);

#endif
