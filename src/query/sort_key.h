/* query/sort_key.h - private to query/: the order of sorted rows, and the key of each row of a
 * block. */
#ifndef QUERY_SORT_KEY_H
#define QUERY_SORT_KEY_H

#include "query/query_i.h"

struct sorted_row {
	uint64_t key; /* the value that enum query_sort names; all bits inverted if descending */
	uint64_t row; /* number of the row; all bits inverted if descending */
	uint64_t usable_bytes; /* set only with has_payload, as the rest */
	uint64_t requested_bytes;
	uint32_t stack;
	uint32_t flags; /* columns.h */
};

struct sort_order {
	const struct plan *plan;
	enum query_sort sort;
	bool is_descending;
	bool has_payload;
};

/* The columns of a key. `second` is set only where one column is not enough. */
struct key_columns {
	const struct query *q;
	enum query_sort sort;
	const uint64_t *first, *second;
};

/* The key columns of the scanner's block. Valid until the scanner moves to another block. */
static inline struct key_columns key_columns(struct scanner *s, enum query_sort sort)
{
	static const struct {
		enum store_column first, second;
		bool has_second;
	} needs[QUERY_N_SORTS] = {
		[QUERY_BY_TIME] = {STORE_ALLOC_NS, 0, false},
		[QUERY_BY_ADDRESS] = {STORE_ADDR, 0, false},
		[QUERY_BY_SIZE] = {STORE_SIZE_BYTES, 0, false},
		[QUERY_BY_LIFETIME] = {STORE_LIFETIME_NS, STORE_ALLOC_NS, true},
		[QUERY_BY_USABLE_SIZE] = {STORE_SIZE_BYTES, STORE_EXTRA_BYTES, true},
		[QUERY_BY_FREE_TIME] = {STORE_LIFETIME_NS, STORE_ALLOC_NS, true},
		[QUERY_BY_KIND] = {STORE_FLAGS, 0, false},
		[QUERY_BY_CHAIN_LENGTH] = {STORE_CHAIN, 0, false},
		[QUERY_BY_THREAD_INDEX] = {STORE_THREAD, 0, false},
		[QUERY_BY_STACK_NUMBER] = {STORE_STACK, 0, false},
	};

	return (struct key_columns){
		.q = s->q,
		.sort = sort,
		.first = scanner_column(s, needs[sort].first),
		.second = needs[sort].has_second ? scanner_column(s, needs[sort].second) : NULL,
	};
}

/* The key of row i of the block. */
static inline uint64_t sort_key(const struct key_columns *c, uint32_t i)
{
	uint64_t value = c->first[i];

	switch (c->sort) {
	case QUERY_BY_LIFETIME:
		return store_is_released(value) ? value - 1 : c->q->end_ns - c->second[i];
	case QUERY_BY_USABLE_SIZE:
		return value + c->second[i];
	case QUERY_BY_FREE_TIME:
		return store_is_released(value) ? row_free_ns(c->second[i], value) : UINT64_MAX;
	case QUERY_BY_KIND:
		return value & STORE_KIND_MASK;
	case QUERY_BY_CHAIN_LENGTH:
		return value && value - 1 < c->q->n_chains ? c->q->chain[value - 1].length : 1;
	default:
		return value;
	}
}

#endif
