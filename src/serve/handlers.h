/* serve/handlers.h - the functions of the table of routes. Each is a route_handler. A function
 * lies in the file with its prefix: data_* answers the paths below /data (the old API), v1_* the
 * paths below /api/v1. */
#ifndef SERVE_HANDLERS_H
#define SERVE_HANDLERS_H

#include "serve/request.h"

int data_list(struct request *rq, struct err *err);
int data_timeline(struct request *rq, struct err *err);
int data_timeline_leaked(struct request *rq, struct err *err);
int data_timeline_maps(struct request *rq, struct err *err);
int data_fragmentation(struct request *rq, struct err *err);
int data_allocations(struct request *rq, struct err *err);
int data_raw_allocations(struct request *rq, struct err *err);
int data_groups(struct request *rq, struct err *err);
int data_tree(struct request *rq, struct err *err);
int data_mmaps(struct request *rq, struct err *err);
int data_mallopts(struct request *rq, struct err *err);
int data_maps(struct request *rq, struct err *err);
int data_regions(struct request *rq, struct err *err);
int data_backtrace(struct request *rq, struct err *err);
int data_backtraces(struct request *rq, struct err *err);
int data_execute_script(struct request *rq, struct err *err);
int data_script_file(struct request *rq, struct err *err);
int data_allocation_filter_to_script(struct request *rq, struct err *err);
int data_map_filter_to_script(struct request *rq, struct err *err);
int data_constants(struct request *rq, struct err *err);
int data_constants_tree(struct request *rq, struct err *err);
int data_statics(struct request *rq, struct err *err);
int data_statics_tree(struct request *rq, struct err *err);
int data_export(struct request *rq, struct err *err);
int data_ascii_tree(struct request *rq, struct err *err);

int v1_events(struct request *rq, struct err *err);
int v1_recordings(struct request *rq, struct err *err);
int v1_requests(struct request *rq, struct err *err);
int v1_summary(struct request *rq, struct err *err);
int v1_threads(struct request *rq, struct err *err);
int v1_modules(struct request *rq, struct err *err);
int v1_samples(struct request *rq, struct err *err);
int v1_allocator_samples(struct request *rq, struct err *err);
int v1_notes(struct request *rq, struct err *err);
int v1_findings(struct request *rq, struct err *err);
int v1_health(struct request *rq, struct err *err);
int v1_filters(struct request *rq, struct err *err);
int v1_timeline(struct request *rq, struct err *err);
int v1_growth(struct request *rq, struct err *err);
int v1_peak(struct request *rq, struct err *err);
int v1_allocations(struct request *rq, struct err *err);
int v1_thread_matrix(struct request *rq, struct err *err);
int v1_groups(struct request *rq, struct err *err);
int v1_tree(struct request *rq, struct err *err);
int v1_stack(struct request *rq, struct err *err);
int v1_source(struct request *rq, struct err *err);
int v1_functions(struct request *rq, struct err *err);
int v1_callers(struct request *rq, struct err *err);
int v1_search(struct request *rq, struct err *err);
int v1_fragmentation(struct request *rq, struct err *err);
int v1_sizes(struct request *rq, struct err *err);
int v1_lifetimes(struct request *rq, struct err *err);
int v1_chains(struct request *rq, struct err *err);
int v1_chain(struct request *rq, struct err *err);
int v1_maps(struct request *rq, struct err *err);
int v1_map_calls(struct request *rq, struct err *err);
int v1_occupancy(struct request *rq, struct err *err);

int openapi_answer(struct request *rq, struct err *err);
int gui_page_answer(struct request *rq, struct err *err);

const char *data_state_name(enum registry_state s); /* "loading", "ready", "failed" */
const char *data_mallopt_name(int64_t parameter); /* "M_ARENA_MAX"; NULL: not known */

/* Shared by a route and its comparison (comparison.h). by: an index of V1_GROUPS_BY. */
enum query_group_by v1_groups_kind(unsigned by);
void v1_groups_put_by(struct json *j, unsigned by);
struct query_function_match;
int v1_functions_match(struct request *rq, struct query_function_match *ret, struct err *err);
/* Names the parameter that an ERR_USAGE of the query is about. Returns r. */
int v1_functions_refuse(struct request *rq, int r, const struct err *err);

/* The values of sort_by and by, as "a|b|c". */
#define REST_GROUPS_SORT                                                                           \
	"only_matched.min_timestamp|only_matched.max_timestamp|only_matched.interval|"             \
	"only_matched.allocated_count|only_matched.leaked_count|only_matched.size|"                \
	"all.min_timestamp|all.max_timestamp|all.interval|all.allocated_count|"                    \
	"all.leaked_count|all.size|all.max_total_usage_first_seen_at"
#define REST_MAPS_SORT "timestamp|address|size|peak_rss"
#define V1_GROUPS_BY "stack|free_stack|thread|size|code|module|function|line|blame|package"
#define V1_GROUPS_SORT                                                                             \
	"bytes|leaked_bytes|leaked_count|peak_bytes|allocations|temporary_count|extra_bytes|"      \
	"first_ns|last_ns|key|mean_size|freed_count|mean_lifetime_ns|interval_ns|max_at_ns"
#define V1_TIMELINE_BY "none|function|package|thread"
#define V1_TIMELINE_SERIES "bytes|count|allocations|temporary"
#define V1_GROWTH_BY "function|stack|package|thread"
#define V1_FUNCTIONS_SORT                                                                          \
	"bytes|leaked_bytes|leaked_count|peak_bytes|allocations|temporary_count|self_bytes|"       \
	"self_allocations|self_leaked_bytes|self_peak_bytes|self_temporary_count"
#define V1_COSTS "peak|leaked|allocs|temp|bytes"
#define V1_CHAINS_SORT "copied_bytes|chains|longest|reallocations|moved|max_last_bytes"
#define V1_MAPS_SORT "address|size|made|removed|name|perms|rss|peak_rss"
#define V1_MAPS_STATE "all|present|removed"
#define V1_CALL_KINDS "all|mmap|munmap|mremap|brk|mallopt|malloc_trim"

#endif
