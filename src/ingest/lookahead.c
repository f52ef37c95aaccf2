/* ingest/lookahead.c - see lookahead.h. */
#include "ingest/lookahead.h"

#include <string.h>

_Static_assert(2 * STREAM_BATCH_CALLS < UINT16_MAX, "numbers of calls take 16 bits");

void lookahead_begin(struct lookahead *a, const struct stream_batch *now,
		     const struct stream_batch *then)
{
	a->now = now;
	a->then = then;
	a->n_now = now->n;
	a->first_chained = SIZE_MAX;
}

static const struct event_compact *call_at(const struct lookahead *a, size_t number)
{
	return number < a->n_now ? &a->now->call[number] : &a->then->call[number - a->n_now];
}

static uint16_t *chain_of(struct lookahead *a, uint64_t addr)
{
	return &a->head[(addr >> 4) * 0x9e3779b97f4a7c15ull >> 52];
}

_Static_assert(LOOKAHEAD_N_CHAINS == 1u << 12, "chain_of() takes so many bits");

/* The number of calls of a batch that are not later than last_ns. */
static size_t count_until(const struct stream_batch *b, uint64_t last_ns)
{
	size_t first = 0, end = b->n;

	while (first < end) {
		size_t middle = first + (end - first) / 2;

		if (b->call[middle].at_ns <= last_ns)
			first = middle + 1;
		else
			end = middle;
	}
	return first;
}

/* Chains the calls from number i on, up to the window of the last call of now. */
static void chain(struct lookahead *a, size_t i, uint64_t window_ns)
{
	uint64_t last_ns = a->now->call[a->n_now - 1].at_ns + window_ns;
	size_t n = a->n_now;

	if (last_ns < window_ns)
		last_ns = UINT64_MAX;
	if (a->then)
		n += count_until(a->then, last_ns);
	memset(a->head, 0, sizeof(a->head));
	for (size_t k = n; k-- > i;) {
		uint16_t *head = chain_of(a, call_at(a, k)->addr);

		a->next[k] = *head;
		*head = (uint16_t)(k + 1);
	}
	a->first_chained = i;
}

enum lookahead_next lookahead_find(struct lookahead *a, size_t i, uint64_t window_ns)
{
	const struct event_compact *asked = &a->now->call[i];

	if (i < a->first_chained)
		chain(a, i, window_ns);
	for (size_t k = a->next[i]; k > 0; k = a->next[k - 1]) {
		const struct event_compact *c = call_at(a, k - 1);

		if (c->at_ns - asked->at_ns > window_ns)
			break;
		if (c->addr == asked->addr)
			return event_is_release(c->kind) ? LOOKAHEAD_RELEASE : LOOKAHEAD_ALLOC;
	}
	return LOOKAHEAD_NOTHING;
}
