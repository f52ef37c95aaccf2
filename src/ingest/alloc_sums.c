/* ingest/alloc_sums.c - see alloc_sums.h. */
#include "ingest/alloc_sums.h"

#include "util/memory_budget.h"

#define BUDGET_SIXTEENTHS 1u
#define PREFETCH_DISTANCE 6u /* allocations */

int alloc_sums_reserve(struct alloc_sums *s, size_t n, struct err *err)
{
	s->memory.budget_bytes = memory_budget_share(BUDGET_SIXTEENTHS);
	return spill_vec_reserve(&s->memory, &s->of, n, sizeof(*s->of), err);
}

void alloc_sums_fini(struct alloc_sums *s)
{
	spill_vec_fini(&s->memory);
	*s = (struct alloc_sums){0};
}

static ALWAYS_INLINE void add(struct alloc_sum *of, uint64_t at_ns, uint64_t size_bytes,
			      uint64_t extra_bytes)
{
	if (unlikely(of->n_allocs++ == 0)) {
		of->first_ns = of->last_ns = at_ns;
		of->min_size_bytes = size_bytes;
	}
	of->n_bytes += size_bytes;
	of->extra_bytes += extra_bytes;
	if (unlikely(at_ns < of->first_ns)) /* lanes are decoded one after the other */
		of->first_ns = at_ns;
	if (at_ns > of->last_ns)
		of->last_ns = at_ns;
	if (unlikely(size_bytes < of->min_size_bytes))
		of->min_size_bytes = size_bytes;
	if (unlikely(size_bytes > of->max_size_bytes))
		of->max_size_bytes = size_bytes;
}

void alloc_sums_add(struct alloc_sums *s, uint32_t stack, uint64_t at_ns, uint64_t size_bytes,
		    uint64_t extra_bytes)
{
	add(&s->of[stack], at_ns, size_bytes, extra_bytes);
}

/* First lists the allocations: a branch on whether the next call is one could not be predicted. */
void alloc_sums_add_culled(struct alloc_sums *s, uint32_t stack, uint64_t at_ns,
			   const struct event *ev)
{
	struct alloc_sum *sum = &s->of[stack];
	uint64_t n = ev->field[CULLED_N];

	if (n == 0)
		return;
	alloc_sums_add(s, stack, at_ns, ev->field[CULLED_MIN_BYTES], 0);
	sum->n_allocs += n - 1;
	sum->n_culled += n;
	sum->n_bytes += ev->field[CULLED_BYTES] - ev->field[CULLED_MIN_BYTES];
	if (ev->field[CULLED_MAX_BYTES] > sum->max_size_bytes)
		sum->max_size_bytes = ev->field[CULLED_MAX_BYTES];
}

void alloc_sums_add_calls(struct alloc_sums *s, const struct event_compact *call, size_t n)
{
	uint8_t index[ALLOC_SUMS_MAX_CALLS];
	size_t n_allocs = 0;

	for (size_t i = 0; i < n; i++) {
		index[n_allocs] = (uint8_t)i;
		n_allocs += alloc_sums_makes_block(&call[i]);
	}
	for (size_t k = 0; k < n_allocs; k++) {
		const struct event_compact *c = &call[index[k]];

		if (k + PREFETCH_DISTANCE < n_allocs)
			__builtin_prefetch(&s->of[call[index[k + PREFETCH_DISTANCE]].stack], 1);
		add(&s->of[c->stack], c->at_ns, c->size_bytes, c->extra_bytes);
	}
}

_Static_assert(ALLOC_SUMS_MAX_CALLS <= UINT8_MAX + 1, "an index takes 8 bits");
