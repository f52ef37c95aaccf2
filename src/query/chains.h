/* query/chains.h - realloc chains by call site: how often blocks grow, and what copying that costs.
 *
 * A chain is two or more allocations that reallocs linked. A chain counts when its first allocation
 * matches the query, and then as a whole; it belongs to the stack of its first allocation.
 *
 * A realloc moves a block when the new address differs from the old one. It then copies the smaller one of
 * both sizes, unless glibc gave both blocks a mapping of their own: then the kernel moves the
 * pages (mremap) and nothing is copied.
 *
 * Advice. If the first allocation of each chain had room for R bytes, reallocs to at most R bytes would not
 * be needed. reserve_bytes is the smallest power of two R that is at least the last size of
 * CHAINS_RESERVE_PERCENT of the site's chains; saved_bytes is what reallocs to at most R bytes copied.
 * Both are exact.
 *
 * Work: the chains are taken window by window, each of so many rows as the caller allows, with two passes
 * over the store for each; blocks that hold no row of a window are not read. Memory: a window (24 bytes per
 * row), one item per call site, and one per call site and power of two that its sizes reach. It does not
 * grow with the number of chains.
 */
#ifndef QUERY_CHAINS_H
#define QUERY_CHAINS_H

#include "query/query.h"

#define CHAINS_RESERVE_PERCENT 90u
#define CHAINS_WINDOW_ROWS ((uint64_t)4 << 20)

struct chains_site {
	uint32_t stack;
	uint64_t n_chains;
	uint64_t n_reallocs; /* allocations of the chains less the first ones */
	uint64_t longest; /* allocations of the longest chain */
	uint64_t first_bytes; /* sums over the chains: size of the first allocation ... */
	uint64_t last_bytes; /* ... and of the last one */
	uint64_t max_last_bytes;
	uint64_t n_moved; /* reallocs that changed the address */
	uint64_t n_remapped; /* of these: moved by the kernel, nothing was copied */
	uint64_t copied_bytes;
	uint64_t reserve_bytes;
	uint64_t saved_bytes;
};

struct chains {
	struct chains_site *site; /* owned; ascending by stack */
	size_t n_sites;
	struct chains_site total; /* stack, reserve_bytes: 0; saved_bytes: the sum */
};

/* window_rows: how many rows of chains are held at a time, at least 1 and less than UINT32_MAX;
 * CHAINS_WINDOW_ROWS is a good number. The result does not depend on it. ERR_FORMAT when the table of
 * chains contradicts the rows (a damaged store). */
int chains_by_site(struct query *q, uint64_t window_rows, struct chains *ret, struct err *err);
void chains_fini(struct chains *c);

/* The allocations of one chain, in order: fn is called for each from the skip-th on, at most count
 * times, until it returns false. */
struct chains_list {
	uint64_t skip, count;
	bool (*fn)(void *user, const struct query_row *row);
	void *user;
	uint64_t n_rows; /* is set: how many allocations the chain has */
};

/* The chain that a row belongs to. A row that no realloc took part in is a chain of one. ERR_USAGE when
 * there is no such row. Conditions of the query do not matter. */
int chains_of_row(struct query *q, uint64_t row, struct chains_list *list, struct err *err);

#endif
