/* serve/route_costs.c - see route_costs.h. */
#include "serve/route_costs.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "serve/compute_slots.h"

#define N_KINDS 1024u
#define QUICK_NS 20000000u

/* cpu_ns of the last answer of a kind, and 1 more; 0: none yet. */
struct route_costs {
	_Atomic uint64_t cpu_ns[N_KINDS];
};

int route_costs_create(struct route_costs **ret, struct err *err)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : err_set_memory(err, sizeof(**ret));
}

void route_costs_destroy(struct route_costs *c)
{
	free(c);
}

static uint64_t hash_text(uint64_t h, const char *text)
{
	for (; *text; text++)
		h = hash_pair64(h, (unsigned char)*text);
	return h;
}

uint64_t route_costs_kind(const struct route *r, const struct url *u, const char *recording)
{
	uint64_t h = hash_text(hash_text(1, r->path), recording ? recording : "");

	for (size_t i = 0; i < u->n_pairs; i++) {
		const struct url_pair *p = &u->pair[i];

		h = hash_text(h + 1, p->name);
		if (!strpbrk(p->value, "0123456789")) /* a choice, not a figure */
			h = hash_text(h + 2, p->value);
	}
	return h;
}

/* Does the question have a condition on allocations? */
static bool has_condition(const struct route *r, const struct url *u)
{
	size_t n;
	const struct filter_parameter *p = filter_parameters(&n);

	if (!(r->flags & ROUTE_FILTER))
		return false;
	for (size_t i = 0; i < n; i++) {
		bool is_own = false;

		for (size_t k = 0; k < r->n_parameters && !is_own; k++)
			is_own = strcmp(r->parameter[k].name, p[i].name) == 0;
		if (!is_own && url_find(u, p[i].name))
			return true;
	}
	return false;
}

bool route_costs_is_quick(const struct route_costs *c, uint64_t kind)
{
	uint64_t cpu_ns = atomic_load_explicit(&c->cpu_ns[kind % N_KINDS], memory_order_relaxed);

	return cpu_ns && cpu_ns <= QUICK_NS;
}

bool route_costs_is_long(const struct route_costs *c, uint64_t kind, const struct route *r,
			 const struct url *u)
{
	uint64_t cpu_ns = atomic_load_explicit(&c->cpu_ns[kind % N_KINDS], memory_order_relaxed);

	/* with a condition, the first of its kind may have to look at every allocation */
	if (cpu_ns == 0)
		return (r->flags & (ROUTE_EXPORT | ROUTE_LARGE)) || has_condition(r, u);
	return cpu_ns > COMPUTE_SHORT_NS;
}

uint64_t route_costs_guess(const struct route_costs *c, uint64_t kind)
{
	return atomic_load_explicit(&c->cpu_ns[kind % N_KINDS], memory_order_relaxed);
}

void route_costs_learn(struct route_costs *c, uint64_t kind, uint64_t cpu_ns)
{
	atomic_store_explicit(&c->cpu_ns[kind % N_KINDS], cpu_ns + 1, memory_order_relaxed);
}
