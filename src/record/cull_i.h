/* record/cull_i.h - what cull.c, cull_judge.c and cull_lane.c share. See cull.h.
 *
 * cull_lane.c takes events out of the blocks of threads and puts events into blocks of the writer.
 * cull_judge.c decides about events. cull.c has the slots and the steps.
 */
#ifndef RECORD_CULL_I_H
#define RECORD_CULL_I_H

#include "format/event_encode.h"
#include "format/pending.h"
#include "record/cull.h"

#define CULL_BATCH 128u
#define CULL_MAX_LANES 65536u
#define CULL_MAX_OPEN 8u
#define CULL_MAX_GROUPS 8192u /* a power of two */

enum cull_state {
	CULL_UNDECIDED,
	CULL_KEPT,
};

/* What belongs to a slot and need not be in the file. */
struct cull_link {
	uint32_t prev, next; /* in the lane's list; 0: none */
	uint32_t root; /* first slot of the chain */
	uint32_t chain_next, chain_last; /* chain_last: of the root */
	uint32_t hash_next;
	uint32_t lane; /* index of the lane */
	uint32_t ordinal; /* of a block: allocations of its lane so far, with itself */
	uint8_t state;
	bool is_in_table; /* its block lives */
	bool is_temporary; /* its block was released before its thread allocated again */
};

/* A block that a thread fills or filled. */
struct cull_raw {
	struct block *block;
	struct cull_raw *next; /* of the lane, in order */
	uint64_t sequence;
	uint32_t area, slot;
	uint32_t n_done; /* events that were taken */
	bool is_known;
	bool is_full; /* the thread has handed it over */
};

/* A realloc under way. */
struct cull_open {
	uint32_t slot; /* of its BEGIN, in an undecided chain; 0: none */
	uint64_t number; /* of that event: the slot may be another one's by now */
};

struct cull_lane {
	uint32_t index;
	uint32_t thread, lane, tid;
	struct cull_raw *raw; /* the first one is being decoded */
	struct event_decoder decoder;
	bool is_decoding;
	bool has_begun; /* a block was decoded */
	struct event_compact call[CULL_BATCH]; /* [at, n) are to be taken */
	uint32_t at, n;
	bool has_event; /* then this one */
	struct event event;
	uint8_t fields[PENDING_MAX_RARE_BYTES]; /* of a rare event */
	uint8_t n_fields;
	uint64_t now; /* greatest time so far */
	uint32_t last_group; /* index of the group that was used last */

	uint32_t first, last; /* slots, in order */
	struct cull_open open[CULL_MAX_OPEN];
	uint32_t n_open;
	uint32_t ordinal; /* allocations */
	uint32_t culled_ordinal; /* the latest one that was left out */
	uint32_t marked_ordinal; /* ... and is followed by an event that says so */

	struct block *out; /* NULL: none */
	uint32_t out_area, out_slot;
	struct event_encoder enc;
	uint64_t out_ticks;
	uint32_t out_generation;
	uint64_t lost_before;
	bool has_more; /* events are ready in this step */
};

/* Sums of what was left out. */
struct cull_group {
	uint64_t n, bytes, n_temporary, temporary_bytes;
	uint64_t min_bytes, max_bytes;
	uint32_t lane, stack;
	uint8_t kind; /* EVENT_CULLED or EVENT_CULLED_REALLOCS; 0: free */
};

struct cull {
	struct recorder *rec;
	struct session *session;
	struct session_buffers *buffers;
	cull_write_block write_block;
	void *user;
	struct pending_area *area; /* in the file */
	size_t area_bytes;
	struct pending_slot *slot; /* [1, n_slots) */
	struct cull_link *link;
	uint32_t n_slots, n_free, first_free;
	uint32_t n_touched; /* slots below it were in use: no page is touched before it is needed */
	uint32_t first_gone; /* slots to free when the step counts */
	uint32_t n_undecided, max_undecided;
	uint64_t threshold_ns, threshold_ticks, margin_ticks, idle_ticks;
	uint64_t start_ticks, start_ns; /* a reading of both clocks */
	uint64_t next_peek_ns; /* then blocks that a single busy thread still fills are read */
	bool is_peeking; /* this step reads blocks that threads still fill */
	uint64_t step; /* the current one */
	uint64_t next_number;
	bool is_over; /* no thread makes events any more: all that was published is taken */
	uint64_t horizon; /* events up to this time are taken in this step */
	bool is_closing;

	uint32_t *head; /* of the table by address */
	uint32_t table_shift;
	struct cull_lane **lane; /* CULL_MAX_LANES */
	uint32_t n_lanes;
	struct cull_raw *raw[RECORD_MAX_AREAS]; /* RECORD_AREA_BLOCKS each */
	uint64_t own[RECORD_MAX_AREAS]; /* bits: output blocks */
	struct cull_raw *finished; /* to give back when the step counts */
	struct cull_group *group; /* CULL_MAX_GROUPS */
	uint32_t n_groups;
	uint64_t next_sums_ns;
};

/* ---- cull.c ---- */

/* A slot at the end of the lane's list, or 0. */
uint32_t cull_slot_new(struct cull *c, struct cull_lane *l, unsigned kind, uint64_t ticks,
		       uint32_t stack);

/* The event is left out. */
void cull_slot_drop(struct cull *c, uint32_t i);

/* Puts the sums into slots. */
void cull_put_sums(struct cull *c);

/* ---- cull_judge.c ---- */

/* If call[0] is an allocation and call[1] its free: leaves out both, which costs a third of what the
 * two cost otherwise. False: nothing has changed. */
bool cull_judge_pair(struct cull *c, struct cull_lane *l, const struct event_compact *call);
void cull_judge_call(struct cull *c, struct cull_lane *l, const struct event_compact *call);
void cull_judge_event(struct cull *c, struct cull_lane *l);
void cull_keep_chain(struct cull *c, uint32_t i); /* the chain that the slot belongs to */

/* ---- cull_lane.c ---- */

/* Finds new blocks of threads. */
void cull_find_blocks(struct cull *c);

/* Gets the next events of the lane. False: there are none (yet). */
bool cull_lane_refill(struct cull *c, struct cull_lane *l);

/* The time of the next event. */
uint64_t cull_lane_next_ticks(const struct cull_lane *l);

/* Writes the event of a slot. False: there is no block for it. */
bool cull_lane_write(struct cull *c, struct cull_lane *l, uint32_t i);

/* Writes the lane's output block out, if there is one. */
void cull_lane_finish_out(struct cull *c, struct cull_lane *l);

#endif
