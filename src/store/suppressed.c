/* store/suppressed.c - see suppressed.h. */
#include "store/suppressed.h"

#include <stdlib.h>
#include <string.h>

#include "store/store_i.h"

/* Copies of the tables that change, and which rule suppresses which stack. */
struct store_suppressed {
	uint32_t *rule; /* by stack: 0, or 1 + index */
	size_t n_stacks;
	struct store_facts *facts;
	struct store_stack *stack;
	struct store_bucket *bucket;
	struct store_chain *chain;
	size_t n_buckets, n_chains;
	struct store_suppression *by_rule;
	size_t n_rules;
};

void store_suppressed_destroy(struct store_suppressed *x)
{
	if (!x)
		return;
	free(x->rule);
	free(x->facts);
	free(x->stack);
	free(x->bucket);
	free(x->chain);
	free(x->by_rule);
	free(x);
}

void store_suppressed_apply(const struct store_suppressed *x, const struct store *s, uint64_t block,
			    uint64_t *lifetime)
{
	uint64_t stack[STORE_BLOCK_ROWS], alloc_ns[STORE_BLOCK_ROWS];
	uint32_t n = store_block_rows(s, block);

	store_read_block(s, STORE_STACK, block, stack);
	store_read_block(s, STORE_ALLOC_NS, block, alloc_ns);
	for (uint32_t i = 0; i < n; i++) {
		if (lifetime[i] == 0 && stack[i] < x->n_stacks && x->rule[stack[i]] &&
		    alloc_ns[i] < STORE_SUPPRESSED_NS / 2)
			lifetime[i] = STORE_SUPPRESSED_NS - alloc_ns[i] + 1;
	}
}

/* A copy of a table, or NULL without memory. */
static void *copy_of(const struct store *s, enum store_table t, size_t item_bytes, size_t *n)
{
	const void *from = store_table(s, t, n);
	void *to = malloc(*n * item_bytes + 1);

	if (to)
		memcpy(to, from, *n * item_bytes);
	return to;
}

static int copy_tables(struct store_suppressed *x, const struct store *s, const uint32_t *rule,
		       size_t n_rules, struct err *err)
{
	size_t n_facts;

	x->stack = copy_of(s, STORE_STACKS, sizeof(*x->stack), &x->n_stacks);
	x->facts = copy_of(s, STORE_FACTS, sizeof(*x->facts), &n_facts);
	x->bucket = copy_of(s, STORE_BUCKETS, sizeof(*x->bucket), &x->n_buckets);
	x->chain = copy_of(s, STORE_CHAINS, sizeof(*x->chain), &x->n_chains);
	x->rule = calloc(x->n_stacks + 1, sizeof(*x->rule));
	x->by_rule = calloc(n_rules + 1, sizeof(*x->by_rule));
	if (!x->stack || !x->facts || !x->bucket || !x->chain || !x->rule || !x->by_rule)
		return err_set_memory(err, x->n_stacks * sizeof(*x->stack));
	memcpy(x->rule, rule, x->n_stacks * sizeof(*x->rule));
	x->n_rules = n_rules;
	return 0;
}

/* Takes the leaks of the suppressed stacks out of the figures of stacks and of the recording. */
static void suppress_stacks(struct store_suppressed *x)
{
	for (size_t i = 0; i < x->n_stacks; i++) {
		struct store_stack *s = &x->stack[i];
		struct store_suppression *by;

		if (x->rule[i] == 0 || x->rule[i] > x->n_rules || s->n_leaked == 0)
			continue;
		by = &x->by_rule[x->rule[i] - 1];
		by->n_stacks++;
		by->n_leaked += s->n_leaked;
		by->leaked_bytes += s->leaked_bytes;
		x->facts->live_count -= s->n_leaked;
		x->facts->live_bytes -= s->leaked_bytes;
		s->n_leaked = s->leaked_bytes = s->leaked_extra_bytes = 0;
		s->leaked_early_bytes = s->leaked_late_bytes = 0;
	}
}

/* The same for what the rows of one block added to buckets and chains. lifetime is suppressed. */
static void suppress_block(struct store_suppressed *x, const struct store *s, uint64_t block,
			   const uint64_t *lifetime)
{
	uint64_t alloc_ns[STORE_BLOCK_ROWS], size[STORE_BLOCK_ROWS], chain[STORE_BLOCK_ROWS];
	uint32_t n = store_block_rows(s, block);

	store_read_block(s, STORE_ALLOC_NS, block, alloc_ns);
	store_read_block(s, STORE_SIZE_BYTES, block, size);
	store_read_block(s, STORE_CHAIN, block, chain);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t at = x->facts->bucket_ns ? alloc_ns[i] / x->facts->bucket_ns : UINT64_MAX;

		if (lifetime[i] == 0 || store_is_released(lifetime[i]))
			continue;
		if (at < x->n_buckets) {
			x->bucket[at].n_leaked--;
			x->bucket[at].leaked_bytes -= size[i];
		}
		if (chain[i] && chain[i] - 1 < x->n_chains) {
			struct store_chain *c = &x->chain[chain[i] - 1];

			if (c->lifetime_ns == 0)
				c->lifetime_ns = STORE_SUPPRESSED_NS - c->alloc_ns + 1;
		}
	}
}

static void suppress_rows(struct store_suppressed *x, const struct store *s)
{
	uint64_t lifetime[STORE_BLOCK_ROWS];

	for (uint64_t block = 0; block < store_n_blocks(s); block++) {
		if (store_block_min(s, STORE_LIFETIME_NS, block) > 0)
			continue;
		store_read_block(s, STORE_LIFETIME_NS, block, lifetime);
		store_suppressed_apply(x, s, block, lifetime);
		suppress_block(x, s, block, lifetime);
	}
}

int store_suppress(struct store *s, const uint32_t *rule, const char *const *pattern,
		   size_t n_patterns, struct err *err)
{
	struct store_suppressed *x = calloc(1, sizeof(*x));
	int r = x ? copy_tables(x, s, rule, n_patterns, err) : err_set_memory(err, sizeof(*x));

	if (r < 0) {
		store_suppressed_destroy(x);
		return r;
	}
	for (size_t i = 0; i < n_patterns; i++)
		x->by_rule[i].pattern = pattern[i];
	suppress_stacks(x);
	suppress_rows(x, s);
	store_replace_table(s, STORE_STACKS, x->stack);
	store_replace_table(s, STORE_FACTS, x->facts);
	store_replace_table(s, STORE_BUCKETS, x->bucket);
	store_replace_table(s, STORE_CHAINS, x->chain);
	store_set_suppressed(s, x);
	return 0;
}

const struct store_suppression *store_suppressions(const struct store *s, size_t *n)
{
	const struct store_suppressed *x = store_get_suppressed(s);

	*n = x ? x->n_rules : 0;
	return x ? x->by_rule : NULL;
}
