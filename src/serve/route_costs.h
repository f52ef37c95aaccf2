/* serve/route_costs.h - how long answers took, as a guess for the next ones.
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

/* Will the answer take long, to judge by the last one of this kind? Without one: if the route takes
 * filters or is an export. */
bool route_costs_is_long(const struct route_costs *c, uint64_t kind, const struct route *r);
void route_costs_learn(struct route_costs *c, uint64_t kind, uint64_t elapsed_ns);

#endif
