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

#include "util/err.h"

/* A moment: absolute (nanoseconds since 1970, or since the start), or a share of the run. */
enum filter_time_kind {
	FILTER_TIME_NONE,
	FILTER_TIME_UNIX,
	FILTER_TIME_RELATIVE,
	FILTER_TIME_PERCENT
};
struct filter_time {
	enum filter_time_kind kind;
	uint64_t ns; /* UNIX, RELATIVE; for an upper bound the last nanosecond of the unit given */
	double percent;
};

/* An inclusive range; has_* says which ends are set. */
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

struct filter {
	struct filter_time from, to; /* birth */
	struct filter_time alive_at, alive_at_2;
	struct filter_time window_from, window_to; /* for born and died */
	enum filter_window born, died; /* OUTSIDE includes "never" for died */
	enum filter_lifetime lifetime;
	struct filter_range address, size, first_size, last_size, usable_size;
	struct filter_range lifetime_ns, backtrace_depth;
	struct filter_range chain_length, chain_lifetime_ns, position_in_chain;
	struct filter_range group_interval_ns, group_allocations, group_leaked_allocations;
	struct filter_time group_max_total_usage_first_seen_min,
		group_max_total_usage_first_seen_max;
	char *function_regex, *source_regex, *negative_function_regex, *negative_source_regex;
	char *module_regex, *negative_module_regex; /* owned */
	uint32_t *backtraces, *deallocation_backtraces; /* owned; any of them */
	size_t n_backtraces, n_deallocation_backtraces;
	bool has_backtraces, has_deallocation_backtraces, has_marker, has_thread;
	uint64_t marker;
	uint64_t thread; /* tid */
	enum filter_choice mmaped, main_arena, jemalloc, temporary; /* temporary: columns.h */
};

void filter_init(struct filter *f);
void filter_fini(struct filter *f);

/* Sets the condition `name` from its text. 1: done. 0: there is no such parameter (others may
 * know it). -ERR_USAGE: the value is not valid; the text names the parameter, the value and
 * what would be valid. An empty value of a text parameter unsets it. */
int filter_set(struct filter *f, const char *name, const char *value, struct err *err);

/* The table: name, what it means, grammar of the value, an example. For --help and OpenAPI. */
struct filter_parameter {
	const char *name;
	const char *type; /* "time", "interval", "count", "share", "regex", "choice" ... */
	const char *choices; /* of a choice: "a|b|c"; else NULL */
	const char *help;
};
const struct filter_parameter *filter_parameters(size_t *n);

#endif
