/* serve/compute_slots.h - who computes an answer next.
 *
 * An answer holds one slot while it is computed. Answers are short or long. Short ones come first,
 * but never take all slots while a long one waits, and long ones never take more than half of them.
 * Among equals the client with the fewest slots comes first, then the answer that has waited
 * longest. So neither an export nor a client that asks a hundred questions keeps others waiting.
 *
 * Nobody knows before how long an answer takes. The caller guesses (route_costs.h), and an answer
 * that has used COMPUTE_SHORT_NS of processor time counts as long from then on: its slot no longer
 * keeps short ones waiting. The threads of long answers get a lower priority (nice), as do the
 * threads that they start. So a short answer gets most of the processor at once, whatever the long
 * ones do.
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
#define COMPUTE_CLIENT_BYTES 48

struct compute_slots; /* opaque: defined in compute_slots.c */
int compute_slots_create(unsigned n, struct compute_slots **ret, struct err *err);
void compute_slots_destroy(struct compute_slots *t);

/* A zeroed turn with client, is_long and is_instant set; the other fields belong to compute_slots.c. */
struct compute_turn {
	char client[COMPUTE_CLIENT_BYTES]; /* turns with the same text are of one client */
	bool is_long;
	bool is_instant; /* needs no slot: the answer takes milliseconds whatever the recording */
	struct compute_turn *previous, *next; /* of those that wait or compute */
	bool has_slot;
	int thread; /* the kernel's id, while it computes */
	clockid_t clock; /* of the thread's processor time */
	uint64_t start_ns, start_cpu_ns; /* when it got the slot; the latter by that clock */
	uint64_t spent_ns; /* in slots that it gave back */
};

/* Waits for a slot; false: *cancel became true before. The turn must stay where it is until
 * compute_turn_give(). */
bool compute_turn_take(struct compute_slots *t, struct compute_turn *turn,
		       const atomic_bool *cancel);
void compute_turn_give(struct compute_slots *t, struct compute_turn *turn); /* if it has one */

#endif
