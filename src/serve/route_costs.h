/* serve/route_costs.h - what answers cost, as a guess for the next ones.
 *
 * A kind of question is the path of its route, the names of its parameters, and those of their values
 * that have no digits (by=stack). The table has a fixed size; kinds whose hash is equal share an entry.
 * Threads: any.
 */
#ifndef SERVE_ROUTE_COSTS_H
#define SERVE_ROUTE_COSTS_H

#include "serve/route.h"

struct route_costs; /* opaque: defined in route_costs.c */
int route_costs_create(struct route_costs **ret, struct err *err);
void route_costs_destroy(struct route_costs *c);

/* The kind of a question about a recording. */
uint64_t route_costs_kind(const struct route *r, const struct url *u, const char *recording);

/* Will the answer take long, to judge by the last one of this kind? Without one: if the question has
 * a condition on allocations or is an export. A question without conditions is mostly answered from
 * the store's tables; one that is not becomes long while it is computed (compute_slots.h). */
bool route_costs_is_long(const struct route_costs *c, uint64_t kind, const struct route *r,
			 const struct url *u);

/* Did the last answer of this kind take hardly any time? Without one: no. */
bool route_costs_is_quick(const struct route_costs *c, uint64_t kind);
uint64_t route_costs_guess(const struct route_costs *c, uint64_t kind); /* 0: none yet */

/* cpu_ns: processor time of the thread that computed the answer. Not the time that passed: on a busy
 * machine, or behind another answer that computes the same, every answer takes long. */
void route_costs_learn(struct route_costs *c, uint64_t kind, uint64_t cpu_ns);

#endif
