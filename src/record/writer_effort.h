/* record/writer_effort.h - how hard the writer compresses the next block.
 *
 * The less time there is, the less the writer spends on compression. On a machine whose CPUs are
 * all busy the writer takes its time from the program, and a thread that must wait for a free block
 * loses more than the saved bytes are worth. Blocks that do not get smaller are not worth the time
 * either. Threads: the writer only. Zeroed memory is the start, after
 * writer_effort_count_cpus().
 */
#ifndef RECORD_WRITER_EFFORT_H
#define RECORD_WRITER_EFFORT_H

#include "format/compress.h"

#define WRITER_EFFORT_N_RECENT 16 /* blocks looked back at to see how many threads are busy */

struct writer_effort {
	unsigned n_cpus; /* that the program may use */
	struct {
		uint64_t time_ns;
		uint32_t thread;
	} recent[WRITER_EFFORT_N_RECENT]; /* the last blocks, and the threads that filled them */
	unsigned n_recent;
	uint64_t last_full_ns;
	unsigned n_poor_left; /* blocks for which COMPRESS_WELL is not tried */
	unsigned n_hopeless_left; /* blocks that are not compressed when there is no time */
};

/* Counts the CPUs again: the program may change its affinity. */
void writer_effort_count_cpus(struct writer_effort *e);

/* The effort for the next block, which this thread of the program filled. n_full: full blocks that
 * wait, with this one. is_waited_for: a thread waits for a free block. */
enum compress_effort writer_effort_choose(struct writer_effort *e, uint32_t thread, unsigned n_full,
					  bool is_waited_for);

/* What the last block showed: its size before and after. */
void writer_effort_learn(struct writer_effort *e, enum compress_effort effort, size_t raw_bytes,
			 size_t stored_bytes);

/* A block filled up that is not written as it is (cull.h). */
void writer_effort_note_full(struct writer_effort *e);

/* Did a block fill up in the last 8 ms? Then events come fast. */
bool writer_effort_is_lively(const struct writer_effort *e);

#endif
