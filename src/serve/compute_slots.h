/* serve/compute_slots.h - who computes an answer next.
 *
 * An answer holds one slot while it is computed. Answers are short or long. Of n slots:
 *   - Short answers come first. But one slot is kept for a long answer while a long one waits and
 *     none computes.
 *   - Long answers take a half of the slots at most (rounded up). If that is more than one, answers of
 *     more than COMPUTE_HUGE_NS do not take all of these, and one is kept for them while they wait.
 *   - Of several long ones the cheapest comes first. A share of the time since it began is taken off
 *     what an answer costs, so it does not wait for ever while cheaper ones come.
 *   - An answer that its client has an estimate of comes last: it begins only where no other one waits
 *     and a slot is free, one of them for each two slots. It takes no slot from others. When it has
 *     waited for five seconds it is a long one.
 *   - Of several short ones, or several long ones of equal cost, that of the client with the fewest
 *     slots comes first, then the one that has waited longest.
 * So neither an export nor a client that asks a hundred questions keeps others waiting.
 *
 * An answer may hold memory until it ends, also while it has no slot: a client that reads an export
 * slowly. While the process has more memory of its own than the limit, counting what the computing
 * answers may still take (needs_bytes), nothing begins but instant
 * answers and, one at a time, those that are known to take milliseconds, unless all that began has
 * ended; what has begun goes on.
 *
 * Nobody knows beforehand how long an answer takes. The caller guesses (route_costs.h). A short
 * answer that has used COMPUTE_SHORT_NS of processor time becomes a long one; its slot is then no
 * longer counted among those of short answers, and another short answer may begin. So up to twice n
 * answers may compute at once. The threads of answers that are not quick get a lower priority (nice),
 * those of long ones a lower one, those of the last ones the lowest, and so do the threads that they start:
 * a short answer gets most of the processor, and so does the browser that shows it.
 *
 * Threads: any. A turn belongs to the thread that computes.
 */
#ifndef SERVE_COMPUTE_SLOTS_H
#define SERVE_COMPUTE_SLOTS_H

#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

#include "util/err.h"

#define COMPUTE_SHORT_NS 300000000u
#define COMPUTE_HUGE_NS 3000000000u
#define COMPUTE_CLIENT_BYTES 48

struct compute_slots; /* opaque: defined in compute_slots.c */

/* n: at least 1. limit_bytes: 0: none. ERR_MEMORY. */
int compute_slots_create(unsigned n, uint64_t limit_bytes, struct compute_slots **ret,
			 struct err *err);

/* When no turn waits or computes. NULL does nothing. */
void compute_slots_destroy(struct compute_slots *t);

/* A zeroed turn with client, is_long, is_last, is_quick, is_instant, guess_ns and needs_bytes set; the other fields belong to
 * compute_slots.c. */
struct compute_turn {
	char client[COMPUTE_CLIENT_BYTES]; /* turns with the same text are of one client */
	bool is_long;
	bool is_last; /* nobody waits for it, or who does has an estimate: changes as is_long does */
	bool is_quick; /* takes milliseconds, or must: keeps the priority of the process */
	bool is_instant; /* needs no slot: the answer takes milliseconds whatever the recording */
	struct compute_turn *previous, *next; /* of those that wait or compute */
	bool has_slot;
	bool is_begun; /* had a slot, and has not ended */
	uint64_t guess_ns; /* processor time that it will take; 0: nobody knows */
	uint64_t needs_bytes; /* memory that it may come to hold while it computes; 0: little */
	uint64_t since_ns; /* when it began to wait for its first slot */
	int thread; /* the kernel's id, while it computes */
	clockid_t clock; /* of the thread's processor time */
	uint64_t start_ns; /* when it got the slot */
	uint64_t start_cpu_ns; /* the same moment by `clock` */
	uint64_t spent_ns; /* in slots that it had before: a turn may be taken several times */
	uint64_t cpu_ns; /* the processor time of its thread in these */
};

/* Waits for a slot, in the thread that computes. False: *cancel became true (looked at every 50 ms),
 * and there is no slot. The turn must stay at its address until compute_turn_give(). */
bool compute_turn_take(struct compute_slots *t, struct compute_turn *turn,
		       const atomic_bool *cancel);

/* Gives the slot back, if the turn has one. compute_turn_end(): and will take none again. */
void compute_turn_give(struct compute_slots *t, struct compute_turn *turn);
void compute_turn_end(struct compute_slots *t, struct compute_turn *turn);

#endif
