/* record/cull_i.h - what cull.c, cull_judge.c and cull_lane.c share. See cull.h.
 *
 *	cull_lane.c	takes events out of the blocks of threads, puts events into output blocks
 *	cull_judge.c	decides which events stay
 *	cull.c		has the slots and the steps
 *	cull_resume.c	goes back to the last step, when a writer was killed
 *
 * Steps. The process may be killed at any moment, and then each event must be in the recording
 * exactly once: in the block of its thread, in a slot, or in an output block. So events move in
 * steps (format/pending.h). cull_step() puts events of threads' blocks into slots, and then commits
 * the step: it stores the number of the step in the file. Readers ignore the slots of a step without
 * commit, and take these events from the threads' blocks. Therefore three things wait for the commit:
 *   - a block of a thread whose events are all taken is given back (cull.finished),
 *   - a slot whose event is left out or written becomes free (cull.first_gone),
 *   - a slot that this step filled may be written to an output block.
 * A reader that finds the same number before and after it has copied the blocks and the slots has the
 * state of one moment: of an event that was written meanwhile it has the slot or the copy.
 *
 * A slot is an element of slot[] (in the file) and of link[] (not in the file) and is in these
 * lists. The list of a lane has all its events in order. A chain has the events of one allocation
 * and of all that realloc made of it. The table leads from an address to the slot of the block that
 * lives there, if its chain is undecided.
 *
 *	                         next        next         next
 *	lane.first --> [malloc p] --> [free x] --> [BEGIN p] --> [END q] <-- lane.last
 *	                |      ^                    ^       |     ^   ^
 *	                |      root of all three    |       |     |   head[hash of q]
 *	                +--------chain_next---------+       +-----+
 *	                                                 chain_next
 *
 * Only the writer may be killed, too, and another one goes on in the same memory. It does what a reader
 * of the file does: it takes the state of the last step that counts, and takes all later events again
 * (cull_resume.c). What that state has beside the file is kept per step: struct cull_saved, and
 * cull_group.before. Everything else is made anew. Where another writer relies on the order of two
 * stores, cull_in_order() stands between them.
 *
 * Slot 0 stands for none: cull_slot_new() returns 0 when no slot is free, the event is then counted
 * as lost, and what its caller writes to slot[0] has no meaning.
 *
 * Threads: the writer only.
 */
#ifndef RECORD_CULL_I_H
#define RECORD_CULL_I_H

#include "format/event_encode.h"
#include "format/pending.h"
#include "record/cull.h"

#define CULL_BATCH 1024u
#define CULL_AHEAD 512u /* decoded calls that wait until their frees may be decoded, too */
#define CULL_MAX_AHEAD_LANES 8u /* more lanes do not run ahead: cull_judge_calls() */
#define CULL_MAX_PENDING 1000000u
#define CULL_EXTRA_SLOTS                                                                           \
	32768u /* beyond undecided events: frees, sums, events of the current step */
#define CULL_MAX_SLOTS (CULL_MAX_PENDING + CULL_EXTRA_SLOTS)
#define CULL_MAX_LANES 65536u
#define CULL_MAX_OPEN 8u
#define CULL_MAX_GROUPS 8192u /* a power of two */
#define CULL_MANY_GROUPS (CULL_MAX_GROUPS / 4 * 3) /* then they are put into slots */
#define CULL_TOUCH_BITS 13

/* Slots for what is taken until the next commit: events between the halves of pairs, and sums. */
#define CULL_FEW_SLOTS (64u + CULL_MAX_AHEAD_LANES * CULL_BATCH + CULL_MANY_GROUPS)

/* struct cull_lane.mate: how far behind the allocation its free is; 0: none seen. */
#define CULL_MATE_MASK 0x3fffu
#define CULL_MATE_TEMPORARY 0x4000u /* no allocation of the lane in between */
#define CULL_MATE_LEFT_OUT 0x8000u /* a free that was left out with its allocation */

enum cull_state {
	CULL_UNDECIDED,
	CULL_KEPT,
	CULL_LEFT_OUT,
};

/* What belongs to a slot and need not be in the file. A slot of a free list has only next. */
struct cull_link {
	uint32_t prev, next; /* in the lane's list, or in a free list; 0: none */
	uint32_t root; /* first slot of the chain */
	uint32_t chain_next, chain_last; /* chain_last is set in the root only */
	uint32_t hash_next; /* the next slot of the same head[] */
	uint32_t lane; /* index in cull.lane[] */
	uint32_t ordinal; /* of an allocation: its number in its lane, from 1 */
	uint8_t state; /* enum cull_state */
	bool is_in_table; /* its block lives, and its chain is undecided */
	bool is_temporary; /* its block was released before its thread allocated again */
	bool is_to_mark; /* leaves a mark in its place if it is left out: cull_lane.marked_ordinal */
};

/* A block that a thread fills or filled. */
struct cull_raw {
	struct block *block;
	struct cull_raw *next; /* of the lane, in order */
	uint64_t sequence;
	uint32_t area, slot;
	uint32_t n_done; /* events that were taken */
	bool is_known; /* in the list of a lane, or in cull.finished */
	bool is_full; /* the thread has handed it over: true of block `sequence` only */
};

/* What a lane has beside the file when a step is committed. */
struct cull_saved {
	uint64_t now, held_ticks;
	uint32_t ordinal, culled_ordinal, marked_ordinal;
};

/* An event of an undecided chain. */
struct cull_open {
	uint32_t slot; /* 0: none */
	uint64_t number; /* when the slot has another number, another event uses it */
};

/* A lane of a thread: the events that come in, and the output block. */
struct cull_lane {
	uint32_t index; /* in cull.lane[] */
	uint32_t thread, lane, tid;
	struct cull_raw *raw; /* the lane's blocks, in order; the first one is being decoded */
	struct event_decoder decoder;
	bool is_decoding;
	bool has_begun; /* a block was decoded */
	struct event_compact call[CULL_BATCH]; /* [at, n) are to be taken, those up to `end` now */
	uint16_t mate[CULL_BATCH]; /* of each call: cull_find_mates() */
	uint32_t at, end, n;
	uint32_t base; /* number of call[0]: calls of the lane that were moved out */
	uint32_t last_made; /* number of the latest allocation that was decoded, from 1 */
	uint64_t decoded_ticks; /* greatest time that was decoded */
	uint32_t pairs_end; /* calls before it may be frees whose allocations were left out */
	bool has_event; /* `event` is to be taken, after call[] */
	struct event event;
	uint8_t fields[PENDING_MAX_RARE_BYTES]; /* of a rare event */
	uint8_t n_fields;
	uint64_t now; /* greatest time so far */
	uint64_t
		held_ticks; /* of a realloc's begin that is published, and that may change; 0: none */
	uint32_t last_group; /* index of the group that was used last */

	uint32_t first, last; /* slots, in order */
	/* The BEGINs of reallocs whose END has not come yet: reallocs inside reallocs (signal handlers) */
	struct cull_open open[CULL_MAX_OPEN];
	uint32_t n_open;

	/* Readers call an allocation temporary when its thread allocated nothing before the free.
	 * So a mark (EVENT_CULLED of 0 allocations) must come before a free that stays, if the lane's
	 * latest allocation was left out and no mark was put since (mark_culled()). No mark may come
	 * between an allocation that stays and its free if nothing was allocated in between. So where
	 * the latest allocation is left out later, the mark takes its place. */
	uint32_t ordinal; /* number of allocations */
	uint32_t culled_ordinal; /* of the latest allocation that was left out */
	uint32_t marked_ordinal; /* culled_ordinal when a mark was last put */
	struct cull_open latest; /* allocation that has a slot */
	struct cull_saved saved[2]; /* [step & 1] */

	struct block *out; /* the output block; NULL: none */
	uint32_t out_area, out_slot; /* where it is */
	uint64_t out_sequence;
	struct event_encoder enc; /* of the output block */
	uint32_t next_stack; /* enc.next_stack of what is published */
	uint64_t out_ticks; /* time of the last event that was written */
	uint32_t out_generation; /* of loaded code, at that event */
	uint64_t lost_before; /* events that the thread had lost before the block being decoded */
	bool has_more; /* events are ready in this step */
};

/* Sums of what was left out of one lane with one stack. */
struct cull_sums {
	uint64_t n, bytes, n_temporary, temporary_bytes;
	uint64_t min_bytes, max_bytes;
	uint32_t stack;
	uint16_t lane;
	uint8_t kind; /* EVENT_CULLED or EVENT_CULLED_REALLOCS; 0: free */
};

struct cull_group {
	struct cull_sums sums;
	uint64_t step; /* the last one that changed the sums */
	struct cull_sums before; /* that step */
	uint64_t unused;
};

_Static_assert(sizeof(struct cull_group) == 128, "sums and step in one cache line");
_Static_assert(CULL_MAX_LANES <= 1u << 16, "struct cull_sums.lane");

/* Who made the latest event about addresses with this hash, as far as calls are decoded. */
struct cull_touch {
	uint64_t foreign_ticks; /* no event of another lane is later */
	uint32_t lane; /* 1 + index in cull.lane[]; 0: none */
	uint32_t made; /* if the event is an allocation: its number in the lane, from 1; else 0 */
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
	uint32_t first_gone, n_gone; /* slots that become free with the commit of this step */
	uint32_t n_undecided, max_undecided; /* beyond the maximum the oldest events stay */
	uint64_t threshold_ns, threshold_ticks; /* a chain that gets this old stays */
	uint64_t margin_ticks; /* by which the clocks of two CPUs may differ */
	uint64_t idle_ticks; /* after them another thread may use the lane's memory */
	uint64_t start_ticks, start_ns; /* both clocks when culling began: ticks per ns */
	uint64_t next_measure_ns; /* then the length of a tick is measured again */
	uint64_t next_peek_ns; /* then blocks that threads still fill are read at the latest */
	bool is_peeking; /* this step reads blocks that threads still fill */
	bool has_more; /* the last step did not take all that it could */
	bool is_lively; /* this step has found full blocks: events come fast */
	uint64_t step; /* number of the current one: the steps before it are committed */
	uint64_t next_number; /* of an event */
	bool is_over; /* no thread makes events any more: all that was published is taken */
	uint64_t horizon; /* events up to this time are taken in this step */
	uint64_t judged_until; /* all events before this time were taken */
	uint64_t saved_judged_until[2]; /* [step & 1] */
	bool is_closing; /* the session ends: what is undecided stays */
	bool is_ordered; /* events are written in the order of time, whatever the lane */

	uint32_t *head; /* of the table by address: cull_judge.c */
	uint32_t table_shift;
	struct cull_lane **lane; /* CULL_MAX_LANES */
	uint32_t n_lanes;
	struct cull_raw *raw[RECORD_MAX_AREAS]; /* RECORD_AREA_BLOCKS each */
	struct cull_touch *touch; /* by address */
	uint64_t decoded_until; /* of all lanes all events up to this time are decoded */
	bool may_run_ahead; /* pairs may be left out of this step ahead of other lanes */
	uint32_t finishing; /* 1 + cull_block_number() of what is being written; 0: nothing is */
	uint64_t finishing_sequence; /* of that block */
	struct cull_raw *finished; /* blocks to give back with the commit of this step */
	struct cull_group *group; /* CULL_MAX_GROUPS */
	uint32_t n_groups;
	uint64_t next_sums_ns;
};

/* Should the writer be killed, the stores before it have happened if one behind it has. Other
 * processes see them in this order, because the kernel ends the writer in between. */
static inline void cull_in_order(void)
{
	atomic_signal_fence(memory_order_seq_cst);
}

static inline uint32_t cull_block_number(uint32_t area, uint32_t slot)
{
	return area * RECORD_AREA_BLOCKS + slot;
}

/* The sums are about to change. */
static inline void cull_group_touch(struct cull_group *g, uint64_t step)
{
	if (g->step == step)
		return;
	g->before = g->sums;
	cull_in_order();
	g->step = step;
	cull_in_order();
}

/* The allocation of a pair is taken, and its free is not. */
static inline bool cull_is_in_pair(const struct cull *c)
{
	for (uint32_t i = 0; i < c->n_lanes; i++) {
		if (c->lane[i]->at < c->lane[i]->pairs_end)
			return true;
	}
	return false;
}

/* Too much is undecided, or slots run out. */
static inline bool cull_is_short_of_slots(const struct cull *c)
{
	return c->n_free < CULL_FEW_SLOTS || c->n_undecided >= c->max_undecided;
}

/* ---- cull.c ---- */

/* A slot for an event, at the end of the lane's list; its state is CULL_KEPT. 0: none is free, and
 * the event is counted as lost. */
uint32_t cull_slot_new(struct cull *c, struct cull_lane *l, unsigned kind, uint64_t ticks,
		       uint32_t stack);

/* The same in front of the event of another slot, and with its time. */
uint32_t cull_slot_new_before(struct cull *c, uint32_t at, unsigned kind);

/* Leaves the event out: takes the slot out of the lane's list. The slot becomes free, at once or
 * with the commit of this step. */
void cull_slot_drop(struct cull *c, uint32_t i);

/* The slot holds nothing. */
void cull_slot_free(struct cull *c, uint32_t i);

/* The slot, which is in no list, becomes free with the next commit. */
void cull_slot_leave(struct cull *c, uint32_t i);

/* Puts the sums of all groups into slots, and empties the groups. */
void cull_put_sums(struct cull *c);

/* ---- cull_judge.c ---- */

/* n more calls of the lane are decoded. Finds the allocations that it frees itself. */
void cull_find_mates(struct cull *c, struct cull_lane *l, uint32_t n);

/* Takes calls of the lane from call[at] on, up to the time `until`: puts each into a slot, or leaves
 * out its chain. The first one is not later than `until`, and up to that time no call of another lane
 * comes in between. Returns how many: fewer when slots get short.
 *
 * A pair, which is an allocation and its free by the same lane, is left out at once, which costs a
 * third of what the two cost otherwise. Nobody else has had the block if no other lane has an event about
 * the address in between. This is certain up to `until`, and for most addresses (struct cull_touch) up
 * to decoded_until. So pairs, and only pairs, are taken ahead of other lanes' calls. No step may be
 * committed before both halves are taken: cull_is_in_pair(). */
uint32_t cull_judge_calls(struct cull *c, struct cull_lane *l, uint64_t until);

/* Takes l->event of the lane in the same way. */
void cull_judge_event(struct cull *c, struct cull_lane *l);

/* Decides that all events of the slot's chain stay. */
void cull_keep_chain(struct cull *c, uint32_t i);

/* ---- cull_lane.c ---- */

/* Finds new blocks of threads and puts each into the list of its lane (cull_lane.raw). */
void cull_find_blocks(struct cull *c);

/* Decodes the next events of the lane into l->call or l->event. False: there are none (yet). */
bool cull_lane_refill(struct cull *c, struct cull_lane *l);

/* A writer was killed: the lane is to decode, and to write, from blocks that are found anew. */
void cull_lane_resume(struct cull_lane *l);

/* A writer was killed: hands all output blocks to write_block() as they are. */
void cull_lanes_resume_out(struct cull *c);

/* The time of the next event that cull_lane_refill() decoded. */
uint64_t cull_lane_next_ticks(const struct cull_lane *l);

/* Writes the event of a slot to the lane's output block. False: there is no free block. */
bool cull_lane_write(struct cull *c, struct cull_lane *l, uint32_t i);

/* Hands the lane's output block, if there is one, to write_block(). */
void cull_lane_finish_out(struct cull *c, struct cull_lane *l);

#endif
