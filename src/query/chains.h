/* query/chains.h - realloc chains by call site: how often blocks grow, and what copying costs.
 *
 * A chain is two or more allocations that reallocs linked. A chain matches when its first
 * allocation matches the query; then all its allocations count. The chain belongs to the stack of
 * its first allocation.
 *
 * A realloc moves a block when the new address differs from the old one. A move copies the smaller
 * of both sizes. Exception: if glibc gave both blocks a mapping of their own, the kernel moves the
 * pages (mremap) and nothing is copied.
 *
 * Advice: if the first allocation of each chain had room for R bytes, reallocs to at most R bytes
 * would not be needed. reserve_bytes is the smallest power of two R that is at least the last size
 * of CHAINS_RESERVE_PERCENT of the site's chains. saved_bytes is what reallocs to at most R bytes
 * copied. Both are exact.
 *
 * Work: the chains are taken in windows of as many rows as the caller allows. Each window needs
 * two passes over the store; a pass skips blocks without a row of the window.
 *
 * Memory: one window (24 bytes per row), one item per call site, and one item per call site and
 * power of two that its sizes reach. Memory does not grow with the number of chains.
 */
#ifndef QUERY_CHAINS_H
#define QUERY_CHAINS_H

#include "query/query.h"

#define CHAINS_RESERVE_PERCENT 90u
#define CHAINS_WINDOW_ROWS ((uint64_t)4 << 20)

struct chains_site {
	uint32_t stack;
	uint64_t n_chains;
	uint64_t n_reallocs; /* allocations of all chains without the first ones */
	uint64_t longest; /* allocations in the longest chain */
	uint64_t first_bytes; /* sum of the first sizes of all chains */
	uint64_t last_bytes; /* sum of the last sizes of all chains */
	uint64_t max_last_bytes;
	uint64_t n_moved; /* reallocs that changed the address */
	uint64_t n_remapped; /* part of n_moved: the kernel moved the pages, nothing was copied */
	uint64_t copied_bytes;
	uint64_t reserve_bytes;
	uint64_t saved_bytes;
};

struct chains {
	struct chains_site *site; /* owned; ascending by stack */
	size_t n_sites;
	struct chains_site total; /* stack and reserve_bytes are 0; saved_bytes is the sum */
};

/* window_rows: how many rows of chains are held at a time, from 1 to UINT32_MAX - 1;
 * CHAINS_WINDOW_ROWS is a good number. The result does not depend on window_rows. ERR_FORMAT: the
 * table of chains contradicts the rows (a damaged store). Queries with equal conditions share the result
 * (shared_results.h). */
int chains_by_site(struct query *q, uint64_t window_rows, struct chains *ret, struct err *err);
void chains_fini(struct chains *c);

/* A page of the allocations of one chain, in order. fn is called for the allocations from number
 * `skip` on, at most `count` times, until fn returns false. */
struct chains_list {
	uint64_t skip, count;
	bool (*fn)(void *user, const struct query_row *row);
	void *user;
	uint64_t n_rows; /* result: how many allocations the chain has */
};

/* Lists the chain of a row. A row that no realloc touched is a chain of one. The conditions of the
 * query do not count. ERR_USAGE: there is no such row. */
int chains_of_row(struct query *q, uint64_t row, struct chains_list *list, struct err *err);

#endif
