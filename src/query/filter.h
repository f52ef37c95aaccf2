/* query/filter.h - which allocations a query is about. The REST API, the command line, the exports
 * and the GUI use this one type.
 *
 * A filter is a set of conditions. An allocation matches when all of them hold (AND). A filter is
 * plain data and knows no store: a time may be a share of the recording, and query_create()
 * resolves such times.
 *
 * filter_set() sets a condition from a name=value pair. The table in filter.def is the only list
 * of names: parsing, error texts, --help and the OpenAPI document all use this table.
 */
#ifndef QUERY_FILTER_H
#define QUERY_FILTER_H

#include "query/filter_value.h"
#include "util/err.h"

/* A range that includes both ends; has_min and has_max say which ends are set. A share is held in
 * millionths: 50% is 50 * FILTER_PPM_PER_PERCENT. */
struct filter_range {
	uint64_t min, max;
	bool has_min, has_max;
	bool is_min_percent, is_max_percent; /* the end is a share (N%) */
};

enum filter_lifetime {
	FILTER_ALL,
	FILTER_ONLY_LEAKED,
	FILTER_ONLY_CHAIN_LEAKED,
	FILTER_ONLY_TEMPORARY, /* as in the old API: released at any time */
	/* The next two use the upper bound `to`; without `to`, the end of the recording. */
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

/* Lifetimes: an allocation that was never released has a lifetime until the end of the recording.
 * This holds for both bounds, as in the 2023 API.
 *
 * Chains: a chain is the allocations that reallocs linked. An allocation that no realloc touched
 * is a chain of length 1, at position 0, with the allocation's own size and lifetime.
 *
 * group_*: figures of the whole call site (stack); the other conditions do not change these
 * figures. A share is of the run time for group_interval, and of the call site's allocations for
 * group_leaked_allocations.
 *
 * Regexes: one frame must match function_regex, source_regex and module_regex, as far as they are
 * given. No frame may match a negative regex. A function is the demangled name, or the name in the
 * symbol table where there is no demangled one. */
struct filter {
	struct filter_time from, to; /* time of the allocation */
	struct filter_time alive_at, alive_at_2;
	struct filter_time window_from, window_to; /* the window for allocated and freed */
	enum filter_window allocated, freed; /* freed OUTSIDE includes "never freed" */
	enum filter_lifetime lifetime;
	struct filter_range address, size, first_size, last_size, usable_size;
	struct filter_range lifetime_ns, backtrace_depth;
	struct filter_range chain_length, chain_lifetime_ns, position_in_chain;
	struct filter_range group_interval_ns, group_allocations, group_leaked_allocations;
	struct filter_time group_max_total_usage_first_seen_min,
		group_max_total_usage_first_seen_max;
	char *function_regex, *source_regex, *negative_function_regex, *negative_source_regex;
	char *module_regex, *negative_module_regex; /* all regexes are owned */
	char *blame_regex; /* matches the name of the stack's group by QUERY_BY_BLAME */
	char *frame_regex; /* some frame matches by its function or by its source */
	uint32_t *backtraces, *deallocation_backtraces; /* owned; any of them */
	uint32_t *negative_backtraces; /* owned; none of them */
	size_t n_backtraces, n_negative_backtraces, n_deallocation_backtraces;
	bool has_backtraces, has_negative_backtraces, has_deallocation_backtraces;
	bool has_marker, has_thread, has_from_map;
	uint64_t marker;
	uint64_t thread; /* tid */
	uint64_t from_map; /* index in the table of regions; the address lies in this region */
	enum filter_choice mmaped, main_arena, temporary; /* temporary: store/columns.h */
	enum filter_choice jemalloc, crossed;
	char *allocator; /* regex, owned: matches store_allocator_name() */
};

void filter_init(struct filter *f); /* no condition: everything matches */
void filter_fini(struct filter *f); /* frees the texts; f is as after filter_init() */

/* Sets the condition `name` from its text. Returns
 *	1		the condition is set
 *	0		filters have no such parameter (the caller may have one)
 *	-ERR_USAGE	the value is not valid; the error text names the parameter, the value and
 *			the valid values
 * An empty value removes a text condition (a regex, a list of backtraces). An empty value of any
 * other parameter is an error. A second call with the same name replaces the first value. */
int filter_set(struct filter *f, const char *name, const char *value, struct err *err);

/* The table of parameters, for --help and OpenAPI. The types of values:
 *	time		see struct filter_time
 *	interval	4h3m2s: d, h, m, s, ms, us, ns, any case, fractions allowed; bare: seconds
 *	interval|share, count|share	or N%
 *	size		bytes, or with k, M, G, T (1024 each): 64k, 1.5M, 2GiB
 *	address		decimal or 0x...
 *	count		decimal
 *	regex		PCRE2; matches anywhere in the text
 *	ids		numbers with commas between them; any of them may match
 *	choice		one of `choices`
 */
struct filter_parameter {
	const char *name;
	const char *type;
	const char *choices; /* of a choice: "a|b|c"; else NULL */
	const char *help;
};
const struct filter_parameter *filter_parameters(size_t *n);

/* A sentence that describes a type of value: "bytes, or with k, M ...". NULL: no such type. */
const char *filter_type_help(const char *type);

#endif
