/* query/filter.h - which allocations are asked for: one type for the REST API, the command line,
 * exports and the GUI.
 *
 * Every condition that is set must hold (AND). A filter is plain data: made from name=value pairs
 * by filter_set(), whose table (filter.def) is the one list of parameters, used for parsing, for
 * the error messages, for --help and for the OpenAPI file. It knows nothing of a store; times may be
 * given as a share of the recording, and are resolved by query_create().
 */
#ifndef QUERY_FILTER_H
#define QUERY_FILTER_H

#include "query/filter_value.h"
#include "util/err.h"

/* An inclusive range; has_* says which ends are set. A share is held in millionths: 50% is
 * 50 * FILTER_PPM_PER_PERCENT. */
struct filter_range {
	uint64_t min, max;
	bool has_min, has_max;
	bool is_min_percent, is_max_percent; /* where a parameter allows N% */
};

enum filter_lifetime {
	FILTER_ALL,
	FILTER_ONLY_LEAKED,
	FILTER_ONLY_CHAIN_LEAKED,
	FILTER_ONLY_TEMPORARY, /* as in the old API: released at any time */
	/* The next two look at the upper bound `to` (without it: the end): */
	FILTER_ONLY_NOT_DEALLOCATED_IN_RANGE,
	FILTER_ONLY_DEALLOCATED_IN_RANGE,
	FILTER_ONLY_WHOLE_GROUP_LEAKED,
};

enum filter_choice {
	FILTER_ANY,
	FILTER_YES,
	FILTER_NO
};
enum filter_window {
	FILTER_WINDOW_ANY,
	FILTER_INSIDE,
	FILTER_OUTSIDE
};

/* Lifetimes: an allocation that was never released lives until the end of the recording, for both
 * bounds (as in the 2023 API). A chain is the allocations that reallocs linked; one that no realloc
 * took part in is a chain of length 1, at position 0, with its own size and lifetime.
 * group_*: figures of the whole call site (stack), whatever else is asked for. Shares: of the run
 * time for group_interval, of the call site's allocations for group_leaked_allocations.
 */
struct filter {
	struct filter_time from, to; /* birth */
	struct filter_time alive_at, alive_at_2;
	struct filter_time window_from, window_to; /* for allocated and freed */
	enum filter_window allocated, freed; /* OUTSIDE includes "never" for freed */
	enum filter_lifetime lifetime;
	struct filter_range address, size, first_size, last_size, usable_size;
	struct filter_range lifetime_ns, backtrace_depth;
	struct filter_range chain_length, chain_lifetime_ns, position_in_chain;
	struct filter_range group_interval_ns, group_allocations, group_leaked_allocations;
	struct filter_time group_max_total_usage_first_seen_min,
		group_max_total_usage_first_seen_max;
	char *function_regex, *source_regex, *negative_function_regex, *negative_source_regex;
	char *module_regex, *negative_module_regex; /* owned */
	char *blame_regex; /* owned; on the name of a stack's group by QUERY_BY_BLAME */
	char *frame_regex; /* owned; some frame matches by its function or by its source */
	/* One frame must match function_regex, source_regex and module_regex as far as they are
	 * given; no frame may match any of the negative ones. Function: demangled, else as in the
	 * symbol table. */
	uint32_t *backtraces, *deallocation_backtraces; /* owned; any of them */
	uint32_t *negative_backtraces; /* owned; none of them */
	size_t n_backtraces, n_negative_backtraces, n_deallocation_backtraces;
	bool has_backtraces, has_negative_backtraces, has_deallocation_backtraces;
	bool has_marker, has_thread, has_from_map;
	uint64_t marker;
	uint64_t thread; /* tid */
	uint64_t from_map; /* index in the table of regions: the address lies in it */
	enum filter_choice mmaped, main_arena, temporary; /* temporary: columns.h */
	enum filter_choice jemalloc; /* the recorder sees none of it: YES matches nothing */
};

void filter_init(struct filter *f); /* lets everything pass */
void filter_fini(struct filter *f); /* leaves one that was initialised */

/* Sets the condition `name` from its text. 1: done. 0: there is no such parameter (others may
 * know it). -ERR_USAGE: the value is not valid; the text names the parameter, the value and
 * what would be valid. An empty value of a text parameter (a regex, a list of backtraces) unsets it,
 * of any other it is an error. Given twice, the last one counts. */
int filter_set(struct filter *f, const char *name, const char *value, struct err *err);

/* The table: name, kind of value, what it means. For --help and OpenAPI. The kinds:
 *	time		see struct filter_time
 *	interval	4h3m2s: d, h, m, s, ms, us, ns, any case, fractions allowed; bare: seconds
 *	interval|share, count|share	or N%
 *	size		bytes, or with k, M, G, T (1024 each): 64k, 1.5M, 2GiB
 *	address		decimal or 0x...
 *	count		decimal
 *	regex		PCRE2, found anywhere
 *	ids		numbers with commas between them: any of them
 *	choice		one of choices
 */
struct filter_parameter {
	const char *name;
	const char *type;
	const char *choices; /* of a choice: "a|b|c"; else NULL */
	const char *help;
};
const struct filter_parameter *filter_parameters(size_t *n);

/* What a kind of value looks like, in a sentence: "bytes, or with k, M ...". NULL: no such kind. */
const char *filter_type_help(const char *type);

#endif
