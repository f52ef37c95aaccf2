/* serve/schema.c - see schema.h. */
#include "serve/schema.h"

#include <string.h>

static const struct schema table[] = {
	{"Error", "error:str parameter?:str value?:str valid?:str state?:str percent?:num"},
	{"Timeval", "secs:u64 fract_nsecs:u64"},
	{"Metadata",
	 "id:str executable:str~ cmdline:str~ architecture:str~ final_allocated:u64~ "
	 "final_allocated_count:u64~ runtime:Timeval~ unique_backtrace_count:u64~ "
	 "maximum_backtrace_depth:u64~ timestamp:Timeval~ state:str percent:num file:str "
	 "error?:str"},
	{"Timeline", "xs:[u64] size_delta:[int] count_delta:[int] allocated_size:[u64] "
		     "allocated_count:[u64] leaked_size:[u64] leaked_count:[u64] allocations:[u64] "
		     "deallocations:[u64]"},
	{"MapTimeline",
	 "xs:[u64] address_space:[u64] rss:[u64] anonymous:[u64] dirty:[u64~] clean:[u64~] "
	 "swap:[u64~]"},
	{"FragmentationTimeline", "xs:[u64] fragmentation:[u64]"},
	{"Frame",
	 "address:u64 address_s:str count:u64 library?:str function?:str raw_function?:str "
	 "source?:str line?:u64 column?:u64 is_inline:bool"},
	{"Deallocation", "timestamp:Timeval thread:u64 backtrace_id?:u64 backtrace?:[Frame]"},
	{"Allocation",
	 "id:u64 address:u64 address_s:str timestamp:Timeval timestamp_relative:Timeval "
	 "timestamp_relative_p:num thread:u64 size:u64 backtrace_id:u64 "
	 "deallocation?:Deallocation chain_deallocation?:Deallocation backtrace:[Frame] "
	 "is_mmaped:bool is_jemalloc:bool in_main_arena:bool extra_space:u64 "
	 "chain_lifetime?:Timeval position_in_chain:u64 chain_length:u64 marker:u64 "
	 "is_temporary:bool"},
	{"Allocations", "allocations:[Allocation] total_count:u64"},
	{"GroupData",
	 "size:u64 min_size:u64 max_size:u64 min_timestamp:Timeval "
	 "min_timestamp_relative:Timeval min_timestamp_relative_p:num max_timestamp:Timeval "
	 "max_timestamp_relative:Timeval max_timestamp_relative_p:num interval:Timeval "
	 "leaked_count:u64 allocated_count:u64 leaked_size:u64 peak_size:u64~ "
	 "temporary_count:u64 graph_preview_url:str~ graph_url:str~ "
	 "max_total_usage_first_seen_at:Timeval~ "
	 "max_total_usage_first_seen_at_relative:Timeval~ "
	 "max_total_usage_first_seen_at_relative_p:num~"},
	{"Group", "all:GroupData only_matched:GroupData backtrace_id:u64 backtrace:[Frame]"},
	{"Groups", "allocations:[Group] total_count:u64"},
	{"ScriptOutput", "kind:str value?:str url?:str basename?:str path?:str checksum?:str"},
	{"ScriptResult",
	 "status:str elapsed:num exit_status?:u64 message?:str line?:u64~ column?:u64~ "
	 "output:[ScriptOutput]"},
	{"FilterScript", "prologue:str code:str"},
	{"RawAllocation", "backtrace:[str]"},
	{"TreeNode",
	 "size:u64 count:u64 first:Timeval last:Timeval value?:Frame children:[TreeNode]"},
	{"Mmap", "timestamp:Timeval pointer:u64 pointer_s:str length:u64 backtrace_id:u64 "
		 "backtrace:[Frame] requested_address:u64 requested_address_s:str is_readable:bool "
		 "is_writable:bool is_executable:bool is_semaphore:bool grows_down:bool "
		 "grows_up:bool is_shared:bool is_private:bool is_fixed:bool is_anonymous:bool "
		 "is_uninitialized:bool offset:u64 file_descriptor:int thread:u64"},
	{"Munmap", "timestamp:Timeval pointer:u64 pointer_s:str length:u64 backtrace_id:u64 "
		   "backtrace:[Frame] thread:u64"},
	{"Mremap", "timestamp:Timeval old_pointer:u64 old_length:u64 pointer:u64 pointer_s:str "
		   "length:u64 flags:u64 backtrace_id:u64 backtrace:[Frame] thread:u64"},
	{"Brk",
	 "timestamp:Timeval old_end:u64 pointer:u64 pointer_s:str length:int backtrace_id:u64 "
	 "backtrace:[Frame] thread:u64"},
	{"MapOperation", "mmap?:Mmap munmap?:Munmap mremap?:Mremap brk?:Brk"},
	{"MapOperations", "operations:[MapOperation]"},
	{"Region",
	 "address:u64 address_s:str size:u64 file_offset:u64 inode:u64 major:u64 minor:u64 "
	 "is_readable:bool is_writable:bool is_executable:bool is_shared:bool name:str"},
	{"Map", "id:u64 address:u64 address_s:str timestamp:Timeval~ timestamp_relative:Timeval~ "
		"timestamp_relative_p:num~ size:u64 is_readable:bool is_writable:bool "
		"is_executable:bool is_shared:bool name:str peak_rss:u64~ graph_preview_url:str~ "
		"graph_url:str~ regions?:[Region] usage_history?:[any]"},
	{"Maps", "maps:[Map] total_count:u64"},
	{"Backtrace", "frames:[Frame]"},
	{"Backtraces", "backtraces:[[Frame]] total_count:u64"},
	{"Mallopt", "timestamp:Timeval thread:u64 backtrace_id:u64 backtrace:[Frame] raw_param:int "
		    "param?:str value:int result:int"},
	{"Regions",
	 "main_heap_start:u64 main_heap_end:u64 main_heap_start_s:str main_heap_end_s:str "
	 "regions:[[u64]]"},
	{"CountAndSize", "count:u64 size:u64"},
	{"FileCollation", "count:u64 size:u64 per_line:{CountAndSize}"},
	{"Collation", "count:u64 size:u64 per_file:{FileCollation}"},
	/* /api/v1: sizes in bytes, times in nanoseconds since the start of the recording. */
	{"Cost", "allocations:u64 bytes:u64 leaked_count:u64 leaked_bytes:u64 temporary_count:u64 "
		 "temporary_bytes:u64 extra_bytes:u64 peak_count:u64 peak_bytes:u64"},
	/* As Cost; in a comparison after - before, so it may be negative. */
	{"Change", "allocations:int bytes:int leaked_count:int leaked_bytes:int "
		   "temporary_count:int temporary_bytes:int extra_bytes:int peak_count:int "
		   "peak_bytes:int"},
	{"Recording",
	 "id:str file:str state:str percent:num names_percent:num error?:str executable?:str "
	 "cmdline?:[str] "
	 "host?:str architecture?:str pid?:u64 started_at?:str start_ns?:u64 duration_ns?:u64 "
	 "allocations?:u64 peak_bytes?:u64 leaked_bytes?:u64 file_bytes?:u64 complete?:bool "
	 "ended?:str growing:bool imported:str~ timeline?:[u64] threads?:u64 eta_s:num~"},
	{"Finding",
	 "kind:str title:str name:str~ text:str cost:str value:u64 share:num blame:FrameText~ "
	 "filter:{str} page:str timeline:[u64] leaked_timeline:[u64]"},
	{"Findings", "findings:[Finding] estimate?:Estimate"},
	{"HealthLine", "state:str title:str detail:str"},
	{"HealthFact", "name:str value:str"},
	{"Health", "lines:[HealthLine] facts:[HealthFact]"},
	{"Recordings", "recordings:[Recording] version:str"},
	{"Estimate", "read_percent:num"},
	{"Running", "number:u64 path:str seconds:num passes:u64 percent:num~ waiting:u64 "
		    "is_estimate:bool"},
	{"Requests", "requests:[Running]"},
	{"Summary",
	 "id:str file:str executable:str cmdline:[str] cwd:str host:str kernel:str "
	 "architecture:str recorder:str pid:u64 parent_pid:u64 page_bytes:u64 memory_bytes:u64 "
	 "memory_limit_bytes:u64 "
	 "cpus:u64 started_at:str start_ns:u64 duration_ns:u64 complete:bool ended:str "
	 "out_of_memory:bool end_status:u64 events:u64 allocations:u64 reallocations:u64 frees:u64 "
	 "rows:u64 culled_count:u64 culled_bytes:u64 "
	 "bytes:u64 temporary_count:u64 temporary_bytes:u64 leaked_count:u64 leaked_bytes:u64 "
	 "peak_bytes:u64 peak_count:u64 peak_ns:u64 rss_peak_bytes:u64 call_sites:u64 "
	 "stacks:u64 deepest_stack:u64 threads:u64 modules:u64 lost_events:u64 lost_blocks:u64 "
	 "damaged_bytes:u64 unknown_frees:u64 untracked_frees:u64 duplicate_allocations:u64 "
	 "crossed_blocks:u64 allocators:[Allocator] markers:[Marker] marker_count:u64 gaps:[Gap] "
	 "suppressions:[Suppression] "
	 "truncated_stacks:u64 file_bytes:u64 matched?:Change before?:Cost after?:Cost "
	 "base_id?:str base_file?:str base_duration_ns?:u64 base_rss_peak_bytes?:u64 "
	 "estimate?:Estimate"},
	{"Marker", "at_ns:u64 value:u64"},
	{"Gap", "kind:str from_ns:u64 to_ns:u64"},
	{"Suppression", "pattern:str call_sites:u64 leaked_count:u64 leaked_bytes:u64"},
	{"Allocator", "number:u64 name:str prefix:str module:str functions:u64"},
	{"AllocationRow",
	 "id:u64 at_ns:u64 released_ns?:u64 free_thread?:u64 free_stack?:u64 size:u64 usable:u64 "
	 "address:str thread:u64 stack:u64 kind:str position_in_chain:u64 chain_length:u64 "
	 "chain_lifetime_ns:u64~ marker:u64 is_temporary:bool is_mmaped:bool in_main_arena:bool "
	 "allocator:str is_crossed:bool"},
	{"AllocationRows", "allocations:[AllocationRow] stacks:{FrameText} total_count:u64"},
	{"Release", "allocated_by:u64 released_by:u64 count:u64 bytes:u64"},
	{"ThreadFreed", "thread:u64 count:u64 bytes:u64 others_count:u64 others_bytes:u64"},
	{"ThreadLine", "thread:u64~ cells:[u64] total:u64"},
	{"ThreadLines", "lines:[ThreadLine] max_own:u64 max_others:u64"},
	{"ThreadMatrix", "releases?:[Release] freed?:[ThreadFreed] by_count?:ThreadLines "
			 "by_bytes?:ThreadLines estimate?:Estimate"},
	{"GroupRow",
	 "key:u64 name:str~ cost:Change before?:Cost after?:Cost first_ns:u64 last_ns:u64 "
	 "min_size:u64 max_size:u64 "
	 "culled_count:u64 mean_lifetime_ns:u64~ all?:Cost max_bytes?:u64 max_at_ns?:u64 "
	 "blame?:FrameText "
	 "callers?:[FrameText] called?:FrameText timeline?:[u64] leaked_timeline?:[u64] "
	 "facts?:SiteFacts"},
	{"SiteFacts", "threads:u64 busiest_thread:u64 min_marker:u64 max_marker:u64 "
		      "median_lifetime_min_ns:u64~ median_lifetime_max_ns:u64~"},
	{"GroupRows", "by:str groups:[GroupRow] total_count:u64 total:Change "
		      "total_before?:Cost total_after?:Cost estimate?:Estimate"},
	{"FrameText", "function:str~ source:str~ line:u64~ module:str~ address:str is_inline:bool "
		      "class:str package:str module_offset?:str"},
	{"Stack", "stack:u64 frames:[FrameText] blame:u64~ truncated:str~ is_guessed:bool"},
	{"FunctionRow", "key:u64 function:str frame:FrameText cost:Change before?:Cost "
			"after?:Cost self_bytes:int self_allocations:int self_leaked_bytes:int "
			"self_peak_bytes:int self_temporary_count:int"},
	{"LineCost", "source?:str line:u64 function:str~ cost:Change before?:Cost after?:Cost "
		     "self_bytes:int self_allocations:int self_leaked_bytes:int "
		     "self_peak_bytes:int self_temporary_count:int"},
	{"Calls", "function:FunctionRow callers:[FunctionRow] callees:[FunctionRow] "
		  "lines:[LineCost] estimate?:Estimate"},
	{"Source", "file:str found:bool path:str~ reason:str~ first_line:u64 text:[str] "
		   "lines:[LineCost]"},
	{"FoundFunction", "frame:FrameText cost:Cost"},
	{"FoundFile", "source:str cost:Cost"},
	{"FoundModule", "module:str cost:Cost"},
	{"Found", "functions:[FoundFunction] files:[FoundFile] modules:[FoundModule] "
		  "total_functions:u64 total_files:u64 total_modules:u64 estimate?:Estimate"},
	{"Functions", "functions:[FunctionRow] total_count:u64 total:Change total_before?:Cost "
		      "total_after?:Cost estimate?:Estimate"},
	{"Tree",
	 "direction:str names:[FrameText] key:[u64] parent:[u64] name:[u64] folded:[u64] "
	 "children_left_out:[u64] bytes:[int] leaked_bytes:[int] peak_bytes:[int] "
	 "allocations:[int] temporary_count:[int] self_bytes:[int] self_leaked_bytes:[int] "
	 "self_peak_bytes:[int] self_allocations:[int] self_temporary_count:[int] "
	 "base_bytes?:[u64] base_leaked_bytes?:[u64] base_peak_bytes?:[u64] "
	 "base_allocations?:[u64] base_temporary_count?:[u64] left_out:u64 stacks:u64 "
	 "base_stacks?:u64 total:Change total_before?:Cost total_after?:Cost estimate?:Estimate"},
	{"Buckets",
	 "from_ns:u64 to_ns:u64 bucket_ns:num max_bytes:[int] max_count:[int] "
	 "last_bytes:[int] last_count:[int] allocations:[int] releases:[int] "
	 "allocated_bytes:[int] released_bytes:[int] leaked_bytes:[int] leaked_count:[int] "
	 "culled:[int] temporary:[int] series?:[Series] before?:BucketColumns after?:BucketColumns "
	 "estimate?:Estimate"},
	{"BucketColumns",
	 "duration_ns:u64 max_bytes:[u64] max_count:[u64] last_bytes:[u64] last_count:[u64] "
	 "allocations:[u64] releases:[u64] allocated_bytes:[u64] released_bytes:[u64] "
	 "leaked_bytes:[u64] leaked_count:[u64] culled:[u64] temporary:[u64]"},
	{"Series", "name:str key:u64~ blame:FrameText~ values:[u64]"},
	{"GrowthRow", "key:u64 name:str~ blame:FrameText~ callers:[FrameText] called?:FrameText "
		      "from_bytes:u64 to_bytes:u64 "
		      "change_bytes:int from_count:u64 to_count:u64 timeline:[u64]"},
	{"Growth", "from_ns:u64 to_ns:u64 from_bytes:u64 to_bytes:u64 from_count:u64 to_count:u64 "
		   "rows:[GrowthRow] total_count:u64 estimate?:Estimate"},
	{"Peak", "at_ns:u64 bytes:u64 count:u64 estimate?:Estimate"},
	{"AllocatorSample",
	 "at_ns:u64 number:u64 allocator:str allocated:u64~ active:u64~ metadata:u64~ "
	 "resident:u64~ mapped:u64~ retained:u64~"},
	{"AllocatorSamples", "samples:[AllocatorSample]"},
	{"Samples",
	 "at_ns:[u64] rss_bytes:[u64] virtual_bytes:[u64] shared_bytes:[u64] cpu_ns:[u64]"},
	{"Thread", "index:u64 tid:u64 name:str start_ns:u64 end_ns:u64~ allocations:u64 bytes:u64 "
		   "frees:u64 temporary_count:u64"},
	{"Threads", "threads:[Thread]"},
	{"Module", "index:u64 path:str build_id:str base:str start:str end:str loaded_ns:u64 "
		   "is_embedded:bool"},
	{"Modules", "modules:[Module]"},
	{"Note", "at_ns:u64 level:str text:str"},
	{"Notes", "notes:[Note] lost_events:u64 damaged_bytes:u64 truncated_stacks:u64"},
	{"Holder",
	 "backtrace_id:u64 blocks:u64 requested_bytes:u64 usable_bytes:u64 sparse_pages:u64 "
	 "held_bytes:u64 oldest_alloc_ns:u64~ blame?:FrameText"},
	{"Fragmentation",
	 "at_ns:u64 page_bytes:u64 blocks:u64 requested_bytes:u64 usable_bytes:u64 "
	 "heap_span_bytes:u64 heap_usable_bytes:u64 pages:u64 sparse_pages:u64 "
	 "sparse_used_bytes:u64 sparse_held_bytes:u64 pages_by_use:[u64] held_by:[Holder] "
	 "total_count:u64"},
	{"SizeBucket", "min:u64 max:u64 cost:Cost parts:[u64]"},
	{"SizeSite", "key:u64 blame:FrameText~ value:u64"},
	{"Sizes", "buckets:[SizeBucket] sites:[SizeSite] estimate?:Estimate"},
	{"LifetimeBucket", "min_ns:u64 max_ns:u64 count:u64 bytes:u64"},
	{"Lifetimes", "buckets:[LifetimeBucket] freed_count:u64 freed_bytes:u64 never_count:u64 "
		      "never_bytes:u64 median_ns:u64~ estimate?:Estimate"},
	{"ChainSite",
	 "stack:u64 blame:FrameText~ callers:[FrameText] called?:FrameText chains:u64 "
	 "reallocations:u64 longest:u64 "
	 "first_bytes:u64 last_bytes:u64 max_last_bytes:u64 copied_bytes:u64 moved:u64 "
	 "remapped:u64 reserve_bytes:u64 saved_bytes:u64 saved_share:num"},
	{"Chains", "rows:[ChainSite] total_count:u64 total_chains:u64 total_reallocations:u64 "
		   "total_copied_bytes:u64"},
	{"Mapping",
	 "address:str size:u64 perms:str~ name:str made_ns:u64~ removed_ns:u64~ removed:bool "
	 "seen:bool rss_bytes:u64~ peak_rss_bytes:u64~ stack:u64~ blame:FrameText~"},
	{"Mappings", "maps:[Mapping] total_count:u64 source:str looked_ns:u64~ resident_ns:u64~"},
	{"MapCall", "at_ns:u64 kind:str address:str~ bytes:u64~ thread:u64 stack:u64 "
		    "blame:FrameText~ detail:str"},
	{"MapCalls", "calls:[MapCall] total_count:u64 gathered:bool~"},
	{"OccupiedRange", "start:str end:str name:str blocks:u64 used_bytes:u64 cell_bytes:u64 "
			  "used:[num]"},
	{"Occupancy", "at_ns:u64 regions:[OccupiedRange]"},
	{"FilterParameter", "name:str type:str choices:str~ help:str valid:str~"},
	{"FilterParameters", "parameters:[FilterParameter]"},
};

const struct schema *schema_table(size_t *n)
{
	*n = ARRAY_LEN(table);
	return table;
}

static void write_simple(struct json *j, const char *type, bool is_nullable)
{
	if (is_nullable) {
		json_array(j, "type");
		json_text(j, NULL, type);
		json_text(j, NULL, "null");
		json_end_array(j);
	} else {
		json_text(j, "type", type);
	}
}

static void write_reference(struct json *j, const char *type, size_t len, bool is_nullable)
{
	char path[128];

	snprintf(path, sizeof(path), "#/components/schemas/%.*s", (int)len, type);
	if (!is_nullable) {
		json_text(j, "$ref", path);
		return;
	}
	json_array(j, "anyOf");
	json_object(j, NULL);
	json_text(j, "$ref", path);
	json_end_object(j);
	json_object(j, NULL);
	json_text(j, "type", "null");
	json_end_object(j);
	json_end_array(j);
}

void schema_write_type(struct json *j, const char *name, const char *type, size_t len)
{
	static const struct {
		const char *ours, *theirs;
	} simple[] = {{"u64", "integer"},
		      {"int", "integer"},
		      {"num", "number"},
		      {"str", "string"},
		      {"bool", "boolean"}};
	bool is_nullable = type[len - 1] == '~';

	len -= is_nullable;
	json_object(j, name);
	if (type[0] == '[' || type[0] == '{') {
		write_simple(j, type[0] == '[' ? "array" : "object", is_nullable);
		schema_write_type(j, type[0] == '[' ? "items" : "additionalProperties", type + 1,
				  len - 2);
	} else if (type[0] >= 'A' && type[0] <= 'Z') {
		write_reference(j, type, len, is_nullable);
	}
	for (size_t i = 0; i < ARRAY_LEN(simple); i++) {
		if (strlen(simple[i].ours) != len || memcmp(simple[i].ours, type, len) != 0)
			continue;
		write_simple(j, simple[i].theirs, is_nullable);
		if (i == 0)
			json_u64(j, "minimum", 0);
	}
	json_end_object(j);
}

/* Calls fn for each field: its name, its type. */
static void each_field(const char *fields,
		       void (*fn)(struct json *j, const char *field, size_t name_len, size_t len),
		       struct json *j)
{
	while (*fields) {
		size_t len = strcspn(fields, " ");

		fn(j, fields, strcspn(fields, ":"), len);
		fields += len + (fields[len] == ' ');
	}
}

static void write_property(struct json *j, const char *field, size_t name_len, size_t len)
{
	char name[64];

	snprintf(name, sizeof(name), "%.*s", (int)(name_len - (field[name_len - 1] == '?')), field);
	schema_write_type(j, name, field + name_len + 1, len - name_len - 1);
}

static void write_required(struct json *j, const char *field, size_t name_len, size_t len)
{
	(void)len;
	if (field[name_len - 1] != '?')
		json_bytes(j, NULL, field, name_len);
}

void schema_write_fields(struct json *j, const char *name, const char *fields)
{
	json_object(j, name);
	json_text(j, "type", "object");
	json_object(j, "properties");
	each_field(fields, write_property, j);
	json_end_object(j);
	json_array(j, "required");
	each_field(fields, write_required, j);
	json_end_array(j);
	json_end_object(j);
}
