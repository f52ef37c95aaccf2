/* serve/routes.c - the table of routes. docs/openapi.json is made from it. */
#include "serve/data_json.h"
#include "serve/handlers.h"
#include "serve/tree_parameters.h"

#define JSON "application/json"
#define TEXT "text/plain; charset=utf-8"

#define OLD ROUTE_WAITS
#define GUI (ROUTE_VOLATILE | ROUTE_OPEN | ROUTE_GUI)
#define PARAMETERS(p) .parameter = p, .n_parameters = ARRAY_LEN(p)

static const struct filter_parameter resolution[] = {
	{"resolution", "choice", "ms|s",
	 "ms: about 1000 points, xs in milliseconds (2023); s: a point a second, xs in seconds "
	 "(2021)"},
};
static const struct filter_parameter allocations[] = {
	{"sort_by", "choice", REQUEST_ROW_SORT, "what to sort by; default timestamp"},
	DATA_JSON_STRIP_PARAMETER,
};
static const struct filter_parameter groups[] = {
	{"sort_by", "choice", REST_GROUPS_SORT,
	 "what to sort by: matching allocations only, or all of the call site"},
	DATA_JSON_STRIP_PARAMETER,
};
static const struct filter_parameter frames[] = {DATA_JSON_STRIP_PARAMETER};
static const struct filter_parameter tree[] = {
	{"whole", "choice", "false|true",
	 "true: all calls; default: of more than 65536 the smallest children of a call are one"},
	DATA_JSON_STRIP_PARAMETER,
};
static const struct filter_parameter maps[] = {
	{"sort_by", "choice", REST_MAPS_SORT, "what to sort by; timestamp: address"},
	{"with_regions", "choice", "false|true", "add regions"},
	{"with_usage_history", "choice", "false|true", "add usage_history (always empty)"},
	{"id", "count", NULL, "this map only"},
	{"readable", "choice", "any|only_true|only_false", "by right"},
	{"writable", "choice", "any|only_true|only_false", "by right"},
	{"executable", "choice", "any|only_true|only_false", "by right"},
};
static const struct filter_parameter regions[] = {
	{"gap", "count", NULL, "ranges that are at most this many bytes apart are one; default 16"},
};
static const struct filter_parameter v1_window[] = {
	{"from", "time", NULL, "start of the time shown; no condition on allocations here"},
	{"to", "time", NULL, "end of the time shown"},
	{"buckets", "count", NULL, "how many points; default: about 1000 to 2000, at most 65536"},
	{"round", "choice", "false|true",
	 "true: without conditions the answer may begin a little earlier, end a little later and "
	 "have "
	 "down to half of the points, each still exact: those are known without counting; default "
	 "false"},
	{"by", "choice", V1_TIMELINE_BY,
	 "add series: the values of single functions to blame, packages or threads; default none"},
	{"top", "count", NULL,
	 "how many of them, those with the greatest values; default 8, at most 50"},
	{"series", "choice", V1_TIMELINE_SERIES,
	 "what the values are: alive at the end of the bucket, or allocated in it; default bytes"},
};
static const struct filter_parameter v1_matrix[] = {
	{"top", "count", NULL,
	 "instead of all pairs: what was freed of each thread's blocks, and matrices of so many "
	 "threads, those that take part in most; at most 100"},
};
static const struct filter_parameter v1_growth_parameters[] = {
	{"from", "time", NULL,
	 "the first moment; no condition on allocations here; default: the start"},
	{"to", "time", NULL, "the second moment; default: the end"},
	{"by", "choice", V1_GROWTH_BY, "what to add up by; default function, the one to blame"},
	{"skip", "count", NULL, "leave out the first ones"},
	{"count", "count", NULL, "at most this many; default 50, at most 500"},
	{"order", "choice", "asc|dsc|desc", "dsc, the default: what grew most comes first"},
	{"graph", "count", NULL, "points of a graph of each row; default 60, at most 500"},
};
static const struct filter_parameter v1_grouping[] = {
	{"by", "choice", V1_GROUPS_BY, "what to add up by; default stack"},
	{"sort_by", "choice", V1_GROUPS_SORT, "default bytes"},
	{"skip", "count", NULL, "leave out the first ones"},
	{"count", "count", NULL, "at most this many; default 200"},
	{"order", "choice", "asc|dsc|desc", "default dsc"},
	{"graph", "count", NULL,
	 "points of a graph of each row; not by size; default 0, at most 500"},
	{"graph_from", "time", NULL, "start of the time that graphs show; default: the start"},
	{"graph_to", "time", NULL, "end of the time that graphs show; default: the end"},
	{"find_regex", "regex", NULL,
	 "by stack: those with such a function or source file; the figures of rows stay"},
	{"facts", "choice", "false|true",
	 "by stack: threads, markers and bounds of the median lifetime of each row; default false"},
	TREE_PARAMETERS, /* by stack: those behind a row of the tree */
};
static const struct filter_parameter v1_rows[] = {
	{"sort_by", "choice", REQUEST_ROW_SORT, "default timestamp"},
	{"skip", "count", NULL, "leave out the first ones"},
	{"count", "count", NULL, "at most this many; default 200, at most 100000"},
	{"order", "choice", "asc|dsc|desc", "default asc"},
};
static const struct filter_parameter v1_functions_parameters[] = {
	{"q", "text", NULL, "only functions with this text in their name, upper or lower case"},
	{"module_q", "text", NULL, "and in the path of their binary"},
	{"source_q", "text", NULL, "and in the path of their source file"},
	{"own", "choice", "false|true",
	 "true: only those of the program's own code; default false"},
	{"sort_by", "choice", V1_FUNCTIONS_SORT, "default bytes"},
	{"skip", "count", NULL, "leave out the first ones"},
	{"count", "count", NULL, "at most this many; default 200"},
	{"order", "choice", "asc|dsc|desc", "default dsc"},
};
static const struct filter_parameter v1_one_function[] = {
	{"function", "name", NULL, "full name of a function, as /functions gives it; needed"},
};
static const struct filter_parameter v1_one_file[] = {
	{"file", "path", NULL, "path of a source file, as frames have it; needed"},
};
static const struct filter_parameter v1_search_parameters[] = {
	{"q", "text", NULL, "a part of a name or path, upper or lower case; default: all"},
	{"count", "count", NULL, "at most this many of each kind; default 20"},
	{"own", "choice", "false|true",
	 "true: only what the program's own code has; default false"},
};
static const struct filter_parameter v1_tree_parameters[] = {
	TREE_PARAMETERS,
	{"min_share", "share", NULL,
	 "leave out nodes with less of every cost of node 0, in percent; default 0.05%; 0: none"},
	{"depth", "count", NULL, "at most this many levels below node 0; default all"},
	{"at", "time", NULL, "what is alive at this moment: the same as alive_at"},
};
static const struct filter_parameter v1_sizes_parameters[] = {
	{"cost", "choice", V1_COSTS, "what parts are parts of; default peak"},
	{"top", "count", NULL, "so many functions get a part of their own; default 6, at most 32"},
};
static const struct filter_parameter v1_chains_parameters[] = {
	{"sort_by", "choice", V1_CHAINS_SORT, "default copied_bytes"},
	{"skip", "count", NULL, "leave out the first ones"},
	{"count", "count", NULL, "at most this many; default 200"},
	{"order", "choice", "asc|dsc|desc", "default dsc"},
};
static const struct filter_parameter v1_chain_parameters[] = {
	{"skip", "count", NULL, "leave out the first ones"},
	{"count", "count", NULL, "at most this many; default 200, at most 100000"},
};
static const struct filter_parameter v1_maps_parameters[] = {
	{"state", "choice", V1_MAPS_STATE, "mapped at the end, removed before; default all"},
	{"sort_by", "choice", V1_MAPS_SORT, "default address; what is not known comes last"},
	{"skip", "count", NULL, "leave out the first ones; at most 1000000"},
	{"count", "count", NULL, "at most this many; default 1000, at most 100000"},
	{"order", "choice", "asc|dsc|desc", "default asc"},
};
static const struct filter_parameter v1_map_calls_parameters[] = {
	{"kind", "choice", V1_CALL_KINDS, "which calls; default all"},
	{"sort_by", "choice", "time|size", "default time"},
	{"skip", "count", NULL, "leave out the first ones; at most 1000000"},
	{"count", "count", NULL, "at most this many; default 200, at most 100000"},
	{"order", "choice", "asc|dsc|desc", "default asc"},
};
static const struct filter_parameter v1_occupancy_parameters[] = {
	{"at", "time", NULL, "the moment; default: the peak"},
	{"cells", "count", NULL, "at most this many cells in all; default 600, at most 65536"},
};
static const struct filter_parameter v1_at[] = {
	{"at", "time", NULL, "the moment; default: the peak"},
	{"count", "count", NULL, "at most this many call sites; default 50"},
};

static const struct route table[] = {
	{"/", gui_page_answer, GUI, "text/html; charset=utf-8", NULL, "the GUI", NULL, 0},
	{"/app.js", gui_page_answer, GUI, "text/javascript; charset=utf-8", NULL, "its script",
	 NULL, 0},
	{"/app.css", gui_page_answer, GUI, "text/css; charset=utf-8", NULL, "its styles", NULL, 0},
	{"/list", data_list, ROUTE_VOLATILE, JSON, "[Metadata]",
	 "the recordings, also those that are still being loaded", NULL, 0},
	{"/data/{id}/timeline", data_timeline, OLD | ROUTE_FILTER, JSON, "Timeline",
	 "memory over time", PARAMETERS(resolution)},
	{"/data/{id}/timeline_leaked", data_timeline_leaked, OLD | ROUTE_FILTER, JSON, "Timeline",
	 "the same for allocations that were never released", PARAMETERS(resolution)},
	{"/data/{id}/timeline_maps", data_timeline_maps, OLD, JSON, "MapTimeline",
	 "address space and resident memory over time", NULL, 0},
	{"/data/{id}/fragmentation_timeline", data_fragmentation, OLD | ROUTE_FILTER, JSON,
	 "FragmentationTimeline", "span of the main heap less what is in use",
	 PARAMETERS(resolution)},
	{"/data/{id}/allocations", data_allocations, OLD | ROUTE_FILTER | ROUTE_PAGE, JSON,
	 "Allocations", "allocations with their backtraces", PARAMETERS(allocations)},
	{"/data/{id}/allocation_groups", data_groups, OLD | ROUTE_FILTER | ROUTE_PAGE, JSON,
	 "Groups", "allocations grouped by backtrace", PARAMETERS(groups)},
	{"/data/{id}/raw_allocations", data_raw_allocations, OLD | ROUTE_FILTER | ROUTE_LARGE, JSON,
	 "[RawAllocation]", "addresses of the backtrace of every allocation", NULL, 0},
	{"/data/{id}/tree", data_tree, OLD | ROUTE_FILTER, JSON, "TreeNode",
	 "tree of calls, outermost first", PARAMETERS(tree)},
	{"/data/{id}/mmaps", data_mmaps, OLD | ROUTE_FILTER, JSON, "MapOperations",
	 "calls of mmap, munmap, mremap, brk; of the filter only size_min and size_max count",
	 PARAMETERS(frames)},
	{"/data/{id}/maps", data_maps, OLD | ROUTE_FILTER | ROUTE_PAGE, JSON, "Maps",
	 "memory maps at the last look; of the filter only size and address count",
	 PARAMETERS(maps)},
	{"/data/{id}/backtrace/{n}", data_backtrace, OLD, JSON, "Backtrace", "one backtrace",
	 PARAMETERS(frames)},
	{"/data/{id}/backtraces", data_backtraces, OLD | ROUTE_FILTER, JSON, "Backtraces",
	 "the backtraces of allocations", PARAMETERS(frames)},
	{"/data/{id}/regions", data_regions, OLD | ROUTE_FILTER, JSON, "Regions",
	 "occupied address ranges", PARAMETERS(regions)},
	{"/data/{id}/mallopts", data_mallopts, OLD, JSON, "[Mallopt]", "calls of mallopt",
	 PARAMETERS(frames)},
	{"/data/{id}/allocation_ascii_tree", data_ascii_tree, OLD | ROUTE_FILTER | ROUTE_EXPORT,
	 TEXT, NULL, "tree of calls as text", NULL, 0},
	{"/data/{id}/dynamic_constants[/{file}]", data_constants, OLD | ROUTE_FILTER, JSON,
	 "Collation", "what initialisers of constants allocated", NULL, 0},
	{"/data/{id}/dynamic_constants_ascii_tree[/{file}]", data_constants_tree,
	 OLD | ROUTE_FILTER, TEXT, NULL, "the same as text", NULL, 0},
	{"/data/{id}/dynamic_statics[/{file}]", data_statics, OLD | ROUTE_FILTER, JSON, "Collation",
	 "what initialisers of other static variables allocated", NULL, 0},
	{"/data/{id}/dynamic_statics_ascii_tree[/{file}]", data_statics_tree, OLD | ROUTE_FILTER,
	 TEXT, NULL, "the same as text", NULL, 0},
	{"/data/{id}/export/{format}[/{file}]", data_export,
	 OLD | ROUTE_FILTER | ROUTE_EXPORT | ROUTE_LARGE, NULL, NULL,
	 "matches in a format of another tool; {file} only suggests a name", NULL, 0},

	{"/data/{id}/execute_script", data_execute_script, OLD | ROUTE_VOLATILE | ROUTE_POST, JSON,
	 "ScriptResult", "runs the Lua script in the body: docs/SCRIPTING.md", NULL, 0},
	{"/data/{id}/script_files/{hash}/{file}", data_script_file,
	 OLD | ROUTE_VOLATILE | ROUTE_SANDBOX, NULL, NULL, "a file that a script wrote", NULL, 0},
	{"/data/{id}/allocation_filter_to_script", data_allocation_filter_to_script,
	 OLD | ROUTE_FILTER, JSON, "FilterScript", "the filter as a script", NULL, 0},
	{"/data/{id}/map_filter_to_script", data_map_filter_to_script, OLD | ROUTE_FILTER, JSON,
	 "FilterScript", "the same for memory maps", NULL, 0},

	{"/api/v1/openapi.json", openapi_answer, ROUTE_OPEN, JSON, NULL, "this document", NULL, 0},
	{"/api/v1/filters", v1_filters, ROUTE_OPEN, JSON, "FilterParameters",
	 "the conditions that a filter can have", NULL, 0},
	{"/api/v1/recordings", v1_recordings, ROUTE_VOLATILE, JSON, "Recordings",
	 "the recordings and their state", NULL, 0},
	{"/api/v1/events", v1_events, ROUTE_VOLATILE, "text/event-stream", NULL,
	 "server-sent events: recordings that have changed, at first all of them", NULL, 0},
	{"/api/v1/requests", v1_requests, ROUTE_VOLATILE, JSON, "Requests",
	 "the questions that are being computed, and how far they have come", NULL, 0},
	{"/api/v1/{id}/summary", v1_summary, ROUTE_FILTER | ROUTE_FIRST | ROUTE_BASE, JSON,
	 "Summary", "the process and all totals; with a filter also those of what matches", NULL,
	 0},
	{"/api/v1/{id}/findings", v1_findings, ROUTE_FILTER | ROUTE_FIRST, JSON, "Findings",
	 "what deserves to be looked at first: leaks, what makes the peak, churn ...; none is good",
	 NULL, 0},
	{"/api/v1/{id}/health", v1_health, ROUTE_FILTER, JSON, "Health",
	 "how far the recording can be trusted, and facts of its process; of the whole recording, "
	 "whatever the conditions",
	 NULL, 0},
	{"/api/v1/{id}/allocations", v1_allocations, ROUTE_FILTER, JSON, "AllocationRows",
	 "a page of allocations; stacks by number, each given once", PARAMETERS(v1_rows)},
	{"/api/v1/{id}/thread_matrix", v1_thread_matrix, ROUTE_FILTER | ROUTE_FIRST, JSON,
	 "ThreadMatrix", "which thread released whose blocks; threads by index",
	 PARAMETERS(v1_matrix)},
	{"/api/v1/{id}/groups", v1_groups, ROUTE_FILTER | ROUTE_FIRST | ROUTE_BASE, JSON,
	 "GroupRows", "matches added up by stack, thread, size, function ...",
	 PARAMETERS(v1_grouping)},
	{"/api/v1/{id}/functions", v1_functions, ROUTE_FILTER | ROUTE_FIRST | ROUTE_BASE, JSON,
	 "Functions", "functions, with and without what they call",
	 PARAMETERS(v1_functions_parameters)},
	{"/api/v1/{id}/callers", v1_callers, ROUTE_FILTER | ROUTE_FIRST | ROUTE_BASE, JSON, "Calls",
	 "callers, callees and lines of a function", PARAMETERS(v1_one_function)},
	{"/api/v1/{id}/source", v1_source, ROUTE_FILTER | ROUTE_VOLATILE, JSON, "Source",
	 "a source file with what its lines cost", PARAMETERS(v1_one_file)},
	{"/api/v1/{id}/search", v1_search, ROUTE_FILTER | ROUTE_FIRST, JSON, "Found",
	 "functions, files and binaries by a part of their name, most leaked first",
	 PARAMETERS(v1_search_parameters)},
	{"/api/v1/{id}/tree", v1_tree, ROUTE_FILTER | ROUTE_FIRST | ROUTE_BASE, JSON, "Tree",
	 "tree of calls in columns", PARAMETERS(v1_tree_parameters)},
	{"/api/v1/{id}/flamegraph", v1_tree, ROUTE_FILTER | ROUTE_FIRST | ROUTE_BASE, JSON, "Tree",
	 "the same as tree", PARAMETERS(v1_tree_parameters)},
	{"/api/v1/{id}/stack/{n}", v1_stack, ROUTE_OWN, JSON, "Stack",
	 "the frames of a stack, innermost first", NULL, 0},
	{"/api/v1/{id}/timeline", v1_timeline, ROUTE_FILTER | ROUTE_FIRST | ROUTE_BASE, JSON,
	 "Buckets", "usage, counts and rates over time", PARAMETERS(v1_window)},
	{"/api/v1/{id}/growth", v1_growth, ROUTE_FILTER | ROUTE_FIRST, JSON, "Growth",
	 "what is alive at two moments, by how much it changed", PARAMETERS(v1_growth_parameters)},
	{"/api/v1/{id}/peak", v1_peak, ROUTE_FILTER | ROUTE_FIRST, JSON, "Peak",
	 "when the bytes of what matches were most", NULL, 0},
	{"/api/v1/{id}/fragmentation", v1_fragmentation, ROUTE_FILTER, JSON, "Fragmentation",
	 "occupancy of the heap's pages at one moment, and who holds nearly empty ones",
	 PARAMETERS(v1_at)},
	{"/api/v1/{id}/sizes", v1_sizes, ROUTE_FILTER | ROUTE_FIRST, JSON, "Sizes",
	 "histogram of requested sizes, split by the functions that cost most",
	 PARAMETERS(v1_sizes_parameters)},
	{"/api/v1/{id}/lifetimes", v1_lifetimes, ROUTE_FILTER | ROUTE_FIRST, JSON, "Lifetimes",
	 "histogram of lifetimes, and their median", NULL, 0},
	{"/api/v1/{id}/chains", v1_chains, ROUTE_FILTER, JSON, "Chains",
	 "realloc chains by the call site of their first allocation, and what they copied",
	 PARAMETERS(v1_chains_parameters)},
	{"/api/v1/{id}/chain/{row}", v1_chain, ROUTE_OWN, JSON, "AllocationRows",
	 "the realloc chain of an allocation, in order", PARAMETERS(v1_chain_parameters)},
	{"/api/v1/{id}/maps", v1_maps, ROUTE_FILTER, JSON, "Mappings",
	 "mappings; of the filter only size and address count", PARAMETERS(v1_maps_parameters)},
	{"/api/v1/{id}/map_calls", v1_map_calls, ROUTE_FILTER, JSON, "MapCalls",
	 "calls of mmap, munmap, mremap, brk, mallopt, malloc_trim; of the filter only time, "
	 "thread, size, address and conditions on stacks count",
	 PARAMETERS(v1_map_calls_parameters)},
	{"/api/v1/{id}/occupancy", v1_occupancy, ROUTE_FILTER, JSON, "Occupancy",
	 "how much of each cell of the heap is in use at one moment",
	 PARAMETERS(v1_occupancy_parameters)},
	{"/api/v1/{id}/threads", v1_threads, 0, JSON, "Threads", "the threads", NULL, 0},
	{"/api/v1/{id}/modules", v1_modules, 0, JSON, "Modules", "the loaded images", NULL, 0},
	{"/api/v1/{id}/samples", v1_samples, 0, JSON, "Samples",
	 "resident memory, address space and processor time over time", NULL, 0},
	{"/api/v1/{id}/allocator_samples", v1_allocator_samples, 0, JSON, "AllocatorSamples",
	 "What allocators said of the memory that they hold, about once a second", NULL, 0},
	{"/api/v1/{id}/notes", v1_notes, 0, JSON, "Notes",
	 "what the recorder noted: losses and such", NULL, 0},
};

const struct route *route_table(size_t *n)
{
	*n = ARRAY_LEN(table);
	return table;
}
