/* ingest/pairing.h - the state of each address: live or not, and what is held back (see replay.h).
 *
 * Used by replay.c only; apart from it because it is the delicate part and is tested alone.
 */
#ifndef INGEST_PAIRING_H
#define INGEST_PAIRING_H

#include "ingest/lookahead.h"
#include "ingest/replay.h"

#define PAIRING_MAX_PENDING 1024 /* held back at a time; more, and the oldest is settled early */
#define PAIRING_N_BUCKETS 256
#define PAIRING_MAX_WAITING 8192u /* steps that wait for earlier ones */
#define PAIRING_N_STEPS 256u /* that are passed on together */

/* An event that did not fit the state of its address and waits for its counterpart. */
struct pairing_op {
	struct live_block block; /* an allocation; of a release only addr counts */
	struct live_block old; /* REALLOC_END: the block it replaces */
	struct replay_release release;
	uint64_t deadline_ns;
	uint32_t lane;
	uint32_t open; /* REALLOC_BEGIN: index in the lane's open reallocs */
	bool is_alloc;
	bool has_old;
	bool is_begin;
	bool is_waiting; /* was held back, not just arrived */
	bool is_foreign; /* a free that fitted when it came, of a block that another thread made */
};

enum pairing_open_state {
	PAIRING_HELD, /* block is out of the table and in our hands */
	PAIRING_WAITING, /* its release is held back */
	PAIRING_ABSENT, /* no such block */
};

/* A realloc between its BEGIN and its END. */
struct pairing_open {
	enum pairing_open_state state;
	struct live_block block; /* PAIRING_HELD */
	struct replay_release release;
	uint64_t addr;
};

struct pairing_lane {
	struct pairing_open *open; /* last begun last */
	size_t n_open, cap_open;
};

struct pairing {
	struct live live;
	struct pairing_op *pending; /* at most PAIRING_MAX_PENDING, in order of arrival */
	struct pairing_op *pending_memory; /* twice as much, in which they move up */
	size_t n_pending;
	uint64_t next_deadline; /* of the oldest; UINT64_MAX when there is none */
	struct lookahead *lookahead; /* what follows in the batch at hand */
	uint64_t window_ns;
	uint64_t now_ns; /* time of the event at hand */
	uint16_t bucket[PAIRING_N_BUCKETS]; /* pending events per hash of address */
	bool is_unknown_expected; /* see pairing_expect_unknown() */
	struct replay_step *waiting; /* a ring: not yet counted, in order of time */
	uint64_t first_waiting, end_waiting; /* numbers; they lie at number % PAIRING_MAX_WAITING */
	struct replay_step *step; /* counted, not yet passed on */
	size_t n_steps;
	struct pairing_lane *lane;
	size_t n_lanes;
	struct replay_totals *totals; /* borrowed; live_*, peak_* and the counts of oddities */
	const struct replay_callbacks *callbacks; /* borrowed */
};

int pairing_init(struct pairing *p, size_t n_lanes, struct replay_totals *totals,
		 const struct replay_callbacks *callbacks, struct err *err);
void pairing_fini(struct pairing *p);

/* From here on blocks may be released that were never seen. is_lost: because events are missing, which
 * should not be: such releases count as unknown all the same. */
void pairing_expect_unknown(struct pairing *p, bool is_lost);

/* Time goes on: settles what has waited long enough. Before each event that pairing_fast.h does not
 * take. */
int pairing_advance(struct pairing *p, uint64_t at_ns, struct err *err);

/* The calls of a batch come now; then: the batch after it, or NULL. */
void pairing_begin_batch(struct pairing *p, const struct stream_batch *b,
			 const struct stream_batch *then);

/* i: the call in the batch. What follows there may show that it need not be held back. */
int pairing_alloc(struct pairing *p, size_t i, const struct live_block *block, struct err *err);
int pairing_free(struct pairing *p, size_t i, const struct replay_release *release,
		 struct err *err);
int pairing_realloc_begin(struct pairing *p, size_t i, const struct replay_release *release,
			  struct err *err);
int pairing_realloc_end(struct pairing *p, size_t i, const struct live_block *block,
			struct err *err);
/* The realloc begun last ended the old block in another way. False in *was_open: none was. */
int pairing_realloc_ended(struct pairing *p, uint32_t lane, enum replay_end how, bool *was_open,
			  struct err *err);
int pairing_realloc_cancel(struct pairing *p, uint32_t lane, struct err *err);

/* Events of the lane are missing here: its reallocs under way will not be told how they ended. */
int pairing_gap(struct pairing *p, uint32_t lane, struct err *err);

/* Passes on the steps that were counted. */
void pairing_pass_steps(struct pairing *p);

/* What the numbers in a state must be less than. */
struct pairing_limits {
	uint32_t n_stacks;
	uint64_t n_rows; /* tags */
	uint64_t n_chains; /* or the same */
};

/* For incremental.h; between batches. Loaded into one that was just made. */
void pairing_save(struct pairing *p, struct checkpoint_io_out *out);
int pairing_load(struct pairing *p, struct checkpoint_io_in *in,
		 const struct checkpoint_io_lanes *lanes, const struct pairing_limits *limits);

/* The recording is over: settles everything. */
int pairing_finish(struct pairing *p, struct err *err);

#endif
