/* ingest/overview.h - one recording in numbers: what `memory-profiler-cli info` shows.
 *
 * Notes are sentences for people: damage, losses, pauses, and what the recorder itself reported.
 * Threads: one.
 */
#ifndef INGEST_OVERVIEW_H
#define INGEST_OVERVIEW_H

#include "ingest/replay.h"

struct overview {
	struct replay_totals totals;
	bool is_complete; /* ended in order, nothing lost, nothing damaged */
	const char *ended; /* "exit", "_exit", "quick_exit", "exec", "killed by SIGKILL" ... */
	bool has_duration;
	uint64_t duration_ns;
	uint64_t peak_at_ns; /* since the start */
	uint64_t longest_heartbeat_ns; /* estimated times are at most so old */
	uint64_t n_threads;
	uint64_t n_modules; /* different images */
	uint64_t lost_events; /* known to be lost; missing blocks held more */
	uint64_t lost_blocks; /* as the recorder counted, or gaps in the lanes: the greater one */
	uint64_t n_embedded; /* files that are complete */
	uint64_t n_beside; /* files whose contents are, or should be, beside the recording */
	uint64_t embedded_bytes;
	double bytes_per_event; /* 0 when there are no events */
	char **note; /* owned */
	size_t n_notes, cap_notes;
};

/* Replays the recording (which completes r->damage) and adds up. Errors are those of
 * replay_run(). */
int overview_make(struct recording *r, struct overview *ret, struct err *err);

/* The same from the totals of a replay that was run already. ERR_MEMORY. */
int overview_of_totals(const struct recording *r, const struct replay_totals *totals,
		       struct overview *ret, struct err *err);
void overview_fini(struct overview *o); /* a zeroed struct is empty */

/* Name of the machine the recording was made on, such as "x86_64". */
const char *overview_arch(const struct recording *r);

#endif
