/* store/columns.h - what a store holds: the columns of its rows, and the items of its tables.
 *
 * A row is one allocation. malloc() and its relatives or a realloc() begin it; a release ends it: a
 * free(), or the realloc() that replaces the block. A row without a release has leaked. Rows are
 * numbered from 0 in the order of allocation. Columns are cut into blocks of STORE_BLOCK_ROWS rows;
 * every value is an unsigned 64-bit number.
 *
 * Tables are arrays of the structs below, as they lie in the file: little endian, no pointers. How
 * they refer to each other (a number is an index in the table that the arrow leads to):
 *
 *	row.STORE_STACK -> STORE_STACKS -> STORE_NODES -> STORE_CODES -> STORE_MODULES
 *	                                     |  ^ parent
 *	                                     +--+
 *	row.STORE_CHAIN - 1 -> STORE_CHAINS -> first and last row of the chain
 *	row.STORE_THREAD -> STORE_THREADS
 *
 * A text is the number of a string (store_string()). String 0 is empty and means "not known". Each
 * string ends with a zero byte, and STORE_STRING_ENDS holds the offset of that byte: the bytes
 * "\0one\0two\0" have the ends 0, 4, 8. A string may itself contain zero bytes.
 *
 * A store is a cache. Whoever changes this file raises STORE_VERSION; stores of other versions are
 * made anew. Times are nanoseconds since the start of the recording.
 */
#ifndef STORE_COLUMNS_H
#define STORE_COLUMNS_H

#include "base/compiler.h"

#define STORE_VERSION 9
#define STORE_BLOCK_ROWS 4096u

enum store_column {
	STORE_ALLOC_NS, /* never decreases from row to row */
	STORE_LIFETIME_NS, /* 0: never released; else 1 + nanoseconds until the release */
	STORE_SIZE_BYTES, /* requested */
	STORE_ADDR,
	STORE_STACK, /* index in STORE_STACKS: who allocated */
	STORE_THREAD, /* index in STORE_THREADS */
	STORE_EXTRA_BYTES, /* usable beyond the requested size */
	STORE_FLAGS, /* STORE_FLAG_* and the kind */
	STORE_MARKER, /* value of memory_profiler_set_marker() at the allocation */
	STORE_FREE_STACK, /* index in STORE_STACKS; 0: not released, or not known */
	STORE_FREE_THREAD, /* index in STORE_THREADS; 0 when not released */
	STORE_CHAIN, /* 0: no realloc took part; else 1 + index in STORE_CHAINS */
	STORE_CHAIN_POSITION, /* 0 for the first row of its chain */
	STORE_N_COLUMNS,
};

/* When a suppressed leak counts as released (store/suppressed.h): after the end of any recording. */
#define STORE_SUPPRESSED_NS (1ull << 62)

/* A value of STORE_LIFETIME_NS: was the row released, neither leaked nor suppressed? */
static inline bool store_is_released(uint64_t lifetime)
{
	return lifetime - 1 < STORE_SUPPRESSED_NS / 2;
}

/* STORE_FLAGS */
#define STORE_KIND_MASK 7u
enum store_kind {
	STORE_KIND_MALLOC,
	STORE_KIND_CALLOC,
	STORE_KIND_ALIGNED,
	STORE_KIND_REALLOC, /* made by a realloc of a block; STORE_CHAIN names the chain of both */
};
#define STORE_FLAG_TEMPORARY 8u /* its thread allocated nothing else until the release */
#define STORE_FLAG_MMAPED 16u /* glibc gave it a mapping of its own */
#define STORE_FLAG_MAIN_ARENA 32u /* the block lies in the heap that brk() makes */
#define STORE_FLAG_REPLACED 64u /* its release was not seen: its address was given out again */
#define STORE_FLAG_MOVED 128u /* released by the realloc that made the next row of its chain */
#define STORE_ALLOCATOR_SHIFT 8 /* where the number of the allocator that gave the block is */
#define STORE_N_ALLOCATORS 32u
#define STORE_FLAG_CROSSED (1u << 13) /* another allocator got the block back */
#define STORE_FLAGS_END (1u << 14) /* all values are less */

static inline uint32_t store_allocator_of(uint64_t flags)
{
	return flags >> STORE_ALLOCATOR_SHIFT & (STORE_N_ALLOCATORS - 1);
}

/* One realloc chain of two or more rows. */
struct store_chain {
	uint64_t first_row;
	uint64_t last_row;
	uint64_t first_size_bytes;
	uint64_t last_size_bytes;
	uint64_t alloc_ns; /* of the first row */
	uint64_t lifetime_ns; /* 1 + time from there to the last row's release; 0: not released */
	uint64_t length; /* rows */
};

/* A code address: a return address and the module that held it. Code 0 is not used. */
struct store_code {
	uint64_t addr; /* return address: addr - 1 lies in the call instruction */
	uint32_t module; /* index in STORE_MODULES, or STORE_NO_MODULE */
	uint32_t generation; /* of loaded code: code loaded later at the same address has another */
};
#define STORE_NO_MODULE UINT32_MAX

/* The tree of frames: a node's parent is its caller. Node 0 is the root, without a frame. */
struct store_node {
	uint32_t parent; /* less than the number of this node */
	uint32_t code; /* not 0 exactly when kind is STORE_NODE_FRAME */
	uint32_t n_frames; /* from here to the root, without inlined ones: the parent's, or + 1 */
	uint8_t kind; /* enum store_node_kind */
	uint8_t end; /* why the whole stack ends where it does: store_end_name() */
	uint8_t has_guess; /* a STORE_NODE_GUESS lies between here and the root */
	uint8_t unused;
};
enum store_node_kind {
	STORE_NODE_ROOT,
	STORE_NODE_FRAME,
	STORE_NODE_END, /* the unwinder could not find further callers */
	STORE_NODE_GUESS, /* the frame pointer alone led to the callers from here to the root */
};

/* A stack that events name, with sums over all rows that it allocated (a "call site"). Stack 0 is
 * the empty stack. Stacks that only free have n_allocs == 0. */
struct store_stack {
	uint32_t node; /* innermost frame */
	uint32_t unused;
	uint64_t n_allocs;
	uint64_t n_bytes;
	uint64_t n_leaked; /* rows never released */
	uint64_t leaked_bytes;
	uint64_t n_temporary;
	uint64_t temporary_bytes;
	uint64_t extra_bytes; /* usable beyond the requested size, all rows */
	uint64_t leaked_extra_bytes;
	uint64_t leaked_early_bytes; /* of leaked_bytes: allocated early in the run ... */
	uint64_t leaked_late_bytes; /* ... and late: store_is_early(), store_is_late() */
	uint64_t peak_bytes; /* live at the moment of the global peak ... */
	uint64_t peak_count;
	uint64_t max_bytes; /* most that was live of this stack ... */
	uint64_t max_at_ns; /* ... and when first */
	uint64_t first_ns; /* first and last allocation */
	uint64_t last_ns;
	uint64_t min_size_bytes;
	uint64_t max_size_bytes;
	uint64_t n_releases; /* calls that released something from this stack */
	uint64_t lifetime_sum_ns; /* of the released rows; wraps beyond 584 years */
	uint64_t n_culled; /* of n_allocs: culled while recording, so there are no rows of them */
};

/* The first twentieth and the last quarter of a run. Memory that is allocated once at the start and
 * kept is seldom a leak; memory that still grows at the end may be one. */
static inline bool store_is_early(uint64_t duration_ns, uint64_t at_ns)
{
	return at_ns < duration_ns / 20;
}

static inline bool store_is_late(uint64_t duration_ns, uint64_t at_ns)
{
	return at_ns >= duration_ns - duration_ns / 4;
}

struct store_module {
	uint64_t base; /* runtime address - base = address in the ELF file */
	uint64_t start;
	uint64_t end;
	uint64_t loaded_ns;
	uint32_t path; /* string */
	uint32_t build_id; /* string, hexadecimal */
	uint64_t file_id; /* embedded file in the recording, 0: none */
};

struct store_thread {
	uint64_t tid;
	uint64_t number; /* in the recording */
	uint64_t start_ns;
	uint64_t end_ns; /* UINT64_MAX: not known to have ended */
	uint64_t n_allocs;
	uint64_t n_bytes;
	uint64_t n_frees;
	uint64_t n_temporary;
	uint64_t temporary_bytes;
	uint64_t culled_from_ns; /* the newest sums of culled allocations are about this time */
	uint64_t culled_to_ns;
	uint32_t name; /* string */
	uint32_t unused;
};

struct store_sample {
	uint64_t at_ns;
	uint64_t rss_bytes;
	uint64_t virtual_bytes;
	uint64_t shared_bytes;
	uint64_t cpu_ns;
};

/* An allocator whose blocks were recorded. Number 0 is the one that the program reaches by the names of
 * the C library; it has an item here only if it is not the C library's own. */
struct store_allocator {
	uint32_t number; /* 0 to STORE_N_ALLOCATORS - 1 */
	uint32_t name; /* string, such as jemalloc */
	uint32_t prefix; /* string: of the names of its functions, such as _rjem_ */
	uint32_t module; /* string: the path of a library; empty: the program itself */
	uint64_t n_functions; /* that the recorder hooked */
};

/* What an allocator said of itself at one moment, in bytes; UINT64_MAX: it did not say. */
struct store_allocator_sample {
	uint64_t at_ns;
	uint64_t allocated_bytes; /* in blocks of the program, with rounding */
	uint64_t active_bytes; /* in pages that hold such blocks */
	uint64_t metadata_bytes; /* for the allocator's own tables */
	uint64_t resident_bytes; /* in memory */
	uint64_t mapped_bytes; /* taken from the system */
	uint64_t retained_bytes; /* addresses that are kept without memory */
	uint32_t number; /* of the allocator: less than STORE_N_ALLOCATORS */
	uint32_t unused;
};

/* A sentence about the recording: the recorder wrote it, or the reader of the recording did. */
struct store_note {
	uint64_t at_ns;
	uint32_t level; /* 1 error, 2 warning, 3 information */
	uint32_t text; /* string */
};

/* A rare call of the program. */
enum store_call_kind {
	STORE_CALL_MMAP = 1,
	STORE_CALL_MUNMAP,
	STORE_CALL_MREMAP,
	STORE_CALL_BRK,
	STORE_CALL_MALLOPT,
	STORE_CALL_MALLOC_TRIM,
	STORE_CALL_MARKER,
	STORE_CALL_FORK,
	STORE_CALL_SWITCH, /* field[0]: 1 recording goes on, 0 it is switched off */
};

struct store_call {
	uint64_t at_ns;
	uint64_t field[6]; /* as in docs/FORMAT.md 5.3, without the stack; zigzag undone */
	uint32_t kind; /* enum store_call_kind */
	uint32_t stack;
	uint32_t thread;
	uint32_t unused;
};

/* What was alive over time, in buckets of equal width that cover the whole recording. */
struct store_bucket {
	uint64_t max_bytes; /* most that was alive at once in this bucket */
	uint64_t max_count;
	uint64_t last_bytes; /* alive at the end of the bucket */
	uint64_t last_count;
	uint64_t n_allocs;
	uint64_t n_releases;
	uint64_t alloc_bytes;
	uint64_t release_bytes;
	uint64_t leaked_bytes; /* allocated here and never released */
	uint64_t n_leaked;
	/* Of these figures, what was culled. The recorder says when it was for a time of seconds, over
	 * which it is spread evenly. */
	uint64_t n_culled; /* of n_allocs and of n_releases */
	uint64_t culled_bytes; /* of alloc_bytes and of release_bytes */
	uint64_t n_culled_temporary; /* of n_culled */
};
#define STORE_MAX_BUCKETS 4096u

/* A time for which events of some thread are missing: lost, or damaged. Ascending, without overlaps. */
struct store_gap {
	uint64_t from_ns;
	uint64_t to_ns;
};
#define STORE_MAX_GAPS 1000u /* with more the nearest ones are one */

/* A line of the process's memory map, as the recorder read it last. */
struct store_region {
	uint64_t start;
	uint64_t end;
	uint64_t offset;
	uint64_t inode;
	uint32_t device_major;
	uint32_t device_minor;
	uint32_t prot; /* PROT_* */
	uint32_t is_shared;
	uint32_t name; /* string */
	uint32_t unused;
	uint64_t rss_bytes; /* resident at store_facts.resident_ns; UINT64_MAX: not known */
	uint64_t peak_rss_bytes; /* the most at any reading, so at least; UINT64_MAX: not known */
};

/* The one item of its table: the recording as a whole. */
struct store_facts {
	uint64_t n_rows;
	uint64_t n_events; /* calls of the program */
	uint64_t n_allocations; /* malloc, calloc, aligned, realloc(NULL, n) */
	uint64_t n_reallocations;
	uint64_t n_frees; /* free and realloc(p, 0) */
	uint64_t n_bytes; /* requested: all rows, and what was culled */
	uint64_t
		n_culled; /* allocations and reallocations that are no rows: the recorder left them out */
	uint64_t culled_bytes;
	uint64_t n_temporary;
	uint64_t temporary_bytes;
	uint64_t live_count; /* at the end: leaked */
	uint64_t live_bytes;
	uint64_t peak_bytes;
	uint64_t peak_count; /* rows alive then */
	uint64_t peak_ns;
	uint64_t duration_ns;
	uint64_t start_realtime_ns; /* wall clock of time 0, since 1970 */
	uint64_t maps_ns; /* when STORE_REGIONS was read; UINT64_MAX: never */
	uint64_t
		resident_ns; /* when what is resident of STORE_REGIONS was read; UINT64_MAX: never */
	uint64_t bucket_ns; /* width of a store_bucket */
	uint64_t pid;
	uint64_t parent_pid;
	uint64_t page_bytes;
	uint64_t memory_bytes; /* of the machine */
	uint64_t memory_limit_bytes; /* of the control group; 0: none, or not known */
	uint64_t n_cpus;
	uint64_t unknown_frees;
	uint64_t untracked_frees;
	uint64_t duplicate_allocations;
	uint64_t crossed; /* rows with STORE_FLAG_CROSSED */
	uint64_t lost_events;
	uint64_t lost_blocks;
	uint64_t damaged_bytes;
	uint64_t truncated_stacks; /* events whose stack has no complete end */
	uint64_t n_stacks; /* distinct stacks that events name */
	uint64_t deepest_stack; /* frames */
	uint64_t recording_bytes; /* size of the .dat when it was read */
	uint64_t end_status;
	uint64_t rss_peak_bytes; /* as the kernel says, or the greatest sample */
	uint64_t writer_cpu_ns; /* processor time of the recorder's writer; 0: not known */
	uint64_t recorder_bytes; /* memory that the recorder mapped; 0: not known */
	uint64_t write_errno; /* first error when the recorder wrote its file; 0: none */
	uint32_t is_complete; /* ended in order, nothing lost, nothing damaged */
	uint32_t ended; /* strings from here on: "exit", "killed or still running" ... */
	uint32_t executable;
	uint32_t cmdline; /* arguments, each ending with a zero byte */
	uint32_t environment; /* variables, each ending with a zero byte */
	uint32_t cwd;
	uint32_t host;
	uint32_t kernel;
	uint32_t arch;
	uint32_t cgroup;
	uint32_t limits;
	uint32_t recorder;
};

/* The value that a chain had when STORE_STATE was written, if the chain has changed since. To get
 * the old values back, apply the items from the last to the first. */
struct store_undo {
	uint64_t chain; /* as STORE_CHAIN has it: 1 + index */
	struct store_chain was;
};

/* Tables, in the order of their numbers in the file. */
enum store_table {
	STORE_FACTS, /* struct store_facts, one */
	STORE_STRING_BYTES, /* char */
	STORE_STRING_ENDS, /* uint64_t: offset of the zero byte of each string */
	STORE_MODULES,
	STORE_THREADS,
	STORE_CODES,
	STORE_NODES,
	STORE_STACKS,
	STORE_CHAINS,
	STORE_SAMPLES,
	STORE_NOTES,
	STORE_CALLS,
	STORE_BUCKETS,
	STORE_REGIONS,
	STORE_GAPS,
	STORE_ALLOCATORS,
	STORE_ALLOCATOR_SAMPLES,
	STORE_UNDO, /* belongs to STORE_STATE */
	STORE_STATE, /* bytes: where a build of a growing recording resumes (ingest/incremental.h) */
	STORE_N_TABLES,
};

extern const uint32_t store_item_bytes[]; /* size of an item of each table; store_tables.c */

#endif
