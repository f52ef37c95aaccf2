/* record/writer_effort.c - see writer_effort.h. */
#include "record/writer_effort.h"

#include "record/pool.h"
#include "record/sys.h"

#define FEW_FULL (POOL_WAKE_BLOCKS + 2) /* full blocks that wait when the writer begins to hurry */
#define MANY_FULL (POOL_WAKE_BLOCKS + 4) /* ... and when it must */
#define POOR_BLOCKS 31 /* blocks after one that hardly became smaller */
#define RECENT_NS (20 * NS_PER_MS)
#define LIVELY_NS (8 * NS_PER_MS)

void writer_effort_count_cpus(struct writer_effort *e)
{
	e->n_cpus = sys_count_cpus();
}

/* Do threads that fill blocks as fast as they can keep all CPUs busy? */
static bool are_cpus_busy(struct writer_effort *e, uint32_t thread)
{
	uint64_t now_ns = sys_clock_ns(CLOCK_MONOTONIC);
	unsigned n_threads = 0;

	e->last_full_ns = now_ns;
	e->recent[e->n_recent % WRITER_EFFORT_N_RECENT].time_ns = now_ns;
	e->recent[e->n_recent++ % WRITER_EFFORT_N_RECENT].thread = thread;
	for (unsigned i = 0; i < WRITER_EFFORT_N_RECENT; i++) {
		bool is_counted = now_ns - e->recent[i].time_ns > RECENT_NS;

		for (unsigned k = 0; k < i && !is_counted; k++)
			is_counted = e->recent[k].thread == e->recent[i].thread &&
				     now_ns - e->recent[k].time_ns <= RECENT_NS;
		n_threads += !is_counted;
	}
	return n_threads >= e->n_cpus;
}

enum compress_effort writer_effort_choose(struct writer_effort *e, uint32_t thread, unsigned n_full,
					  bool is_waited_for)
{
	bool is_busy = are_cpus_busy(e, thread);

	if (is_busy || n_full >= MANY_FULL || is_waited_for)
		return e->n_hopeless_left ? COMPRESS_NOT : COMPRESS_HASTILY;
	if (e->n_poor_left)
		return COMPRESS_HASTILY;
	return n_full >= FEW_FULL ? COMPRESS_FAST : COMPRESS_WELL;
}

void writer_effort_learn(struct writer_effort *e, enum compress_effort effort, size_t raw_bytes,
			 size_t stored_bytes)
{
	bool is_poor = stored_bytes > raw_bytes / 8 * 7;

	if (e->n_poor_left)
		e->n_poor_left--;
	else if (effort == COMPRESS_WELL && is_poor)
		e->n_poor_left = POOR_BLOCKS;
	if (e->n_hopeless_left)
		e->n_hopeless_left--;
	else if (effort == COMPRESS_HASTILY && is_poor)
		e->n_hopeless_left = POOR_BLOCKS;
}

void writer_effort_note_full(struct writer_effort *e)
{
	e->last_full_ns = sys_clock_ns(CLOCK_MONOTONIC);
}

bool writer_effort_is_lively(const struct writer_effort *e)
{
	return sys_clock_ns(CLOCK_MONOTONIC) - e->last_full_ns < LIVELY_NS;
}
