/* store/columns.h - what a store holds: the columns of its rows, and the items of its tables.
 *
 * A row is one allocation: born by malloc and the like or by a realloc, ended by a free or a
 * realloc, or never. Rows are numbered from 0 in the order of their birth. Columns are cut into
 * blocks of STORE_BLOCK_ROWS rows; every value is an unsigned 64-bit number.
 *
 * Tables are arrays of the structs below, as they lie in the file: little endian, no pointers.
 * Texts are numbers of strings (store_string()); string 0 is empty and means "not known". Each string
 * ends with a zero byte, and STORE_STRING_ENDS holds the place of that byte: the bytes "\0one\0two\0" have
 * the ends 0, 4, 8. A string may itself contain zero bytes.
 * A store is a cache: any change here raises STORE_VERSION, and older files are made anew.
 *
 * Times are nanoseconds since the start of the recording.
 */
#ifndef STORE_COLUMNS_H
#define STORE_COLUMNS_H

#include "base/compiler.h"

#define STORE_VERSION 5
#define STORE_BLOCK_ROWS 4096u

enum store_column {
	STORE_ALLOC_NS, /* never decreases from row to row */
	STORE_LIFETIME_NS, /* 0: never released; else 1 + nanoseconds from birth to release */
	STORE_SIZE_BYTES, /* requested */
	STORE_ADDR,
	STORE_STACK, /* index in the table of stacks: who allocated */
	STORE_THREAD, /* index in the table of threads */
	STORE_EXTRA_BYTES, /* usable beyond the requested size */
	STORE_FLAGS, /* STORE_FLAG_* and the kind */
	STORE_MARKER, /* value of memory_profiler_set_marker() at the birth */
	STORE_FREE_STACK, /* index in the table of stacks; 0 when not released or not known */
	STORE_FREE_THREAD, /* index in the table of threads; 0 when not released */
	STORE_CHAIN, /* 0: no realloc took part; else 1 + index in the table of chains */
	STORE_CHAIN_POSITION, /* 0 for the first of its chain */
	STORE_N_COLUMNS,
};

/* STORE_FLAGS */
#define STORE_KIND_MASK 7u
enum store_kind {
	STORE_KIND_MALLOC,
	STORE_KIND_CALLOC,
	STORE_KIND_ALIGNED,
	STORE_KIND_REALLOC, /* made by a realloc of a block; STORE_CHAIN says of which */
};
#define STORE_FLAG_TEMPORARY 8u /* no other allocation of its thread between birth and release */
#define STORE_FLAG_MMAPED 16u /* glibc gave it a mapping of its own */
#define STORE_FLAG_MAIN_ARENA 32u /* it lies in the heap that brk() makes */
#define STORE_FLAG_REPLACED 64u /* its release was not seen; its address was given out again */
#define STORE_FLAG_MOVED 128u /* released by a realloc that put another block in its place */

/* One realloc chain of two or more rows. */
struct store_chain {
	uint64_t first_row;
	uint64_t last_row;
	uint64_t first_size_bytes;
	uint64_t last_size_bytes;
	uint64_t alloc_ns; /* of the first */
	uint64_t lifetime_ns; /* from there to the release of the last, + 1; 0: never released */
	uint64_t length; /* rows */
};

/* A place in the code: return address and the image that held it. Code 0 is not used. */
struct store_code {
	uint64_t addr; /* return address: addr - 1 lies in the call */
	uint32_t module; /* index in the table of modules, or STORE_NO_MODULE */
	uint32_t generation; /* of loaded code; later code at the same place has another */
};
#define STORE_NO_MODULE UINT32_MAX

/* The tree of frames: a node's parent is its caller. Node 0 is the root, without a frame. */
struct store_node {
	uint32_t parent; /* less than the number of this node */
	uint32_t code; /* not 0 exactly when kind is STORE_NODE_FRAME */
	uint32_t
		n_frames; /* from here outwards, without inlined ones: that of the parent, or + 1 */
	uint8_t kind; /* enum store_node_kind */
	uint8_t end; /* why the whole stack ends where it does: store_end_name() */
	uint8_t has_guess; /* somewhere from here outwards */
	uint8_t unused;
};
enum store_node_kind {
	STORE_NODE_ROOT,
	STORE_NODE_FRAME,
	STORE_NODE_END, /* the stack could not be followed further out */
	STORE_NODE_GUESS, /* the frames outside of it were found by the frame pointer alone */
};

/* A stack that events name, with what is known of all rows that it allocated (a "group" or
 * "call site"). Stack 0 is the empty one. Stacks that only free have n_allocs == 0. */
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
	uint64_t first_ns; /* births */
	uint64_t last_ns;
	uint64_t min_size_bytes;
	uint64_t max_size_bytes;
	uint64_t n_releases; /* calls that released something from this stack */
	uint64_t lifetime_sum_ns; /* of those released; wraps beyond 584 years */
};

/* The first twentieth and the last quarter of a run: what is allocated once at the start and kept is
 * seldom a leak, what still grows at the end may be one. */
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
	uint64_t max_bytes; /* most in this bucket */
	uint64_t max_count;
	uint64_t last_bytes; /* at its end */
	uint64_t last_count;
	uint64_t n_allocs;
	uint64_t n_releases;
	uint64_t alloc_bytes;
	uint64_t release_bytes;
	uint64_t leaked_bytes; /* born here and never released */
	uint64_t n_leaked;
};
#define STORE_MAX_BUCKETS 4096u

/* A line of the process's memory map, as of the last look. */
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
};

/* The one item of its table: the recording as a whole. */
struct store_facts {
	uint64_t n_rows;
	uint64_t n_events; /* calls of the program */
	uint64_t n_allocations; /* malloc, calloc, aligned, realloc(NULL, n) */
	uint64_t n_reallocations;
	uint64_t n_frees; /* free and realloc(p, 0) */
	uint64_t n_bytes; /* requested, all rows */
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
	uint64_t bucket_ns; /* width of a store_bucket */
	uint64_t pid;
	uint64_t parent_pid;
	uint64_t page_bytes;
	uint64_t memory_bytes;
	uint64_t n_cpus;
	uint64_t unknown_frees;
	uint64_t untracked_frees;
	uint64_t duplicate_allocations;
	uint64_t lost_events;
	uint64_t lost_blocks;
	uint64_t damaged_bytes;
	uint64_t truncated_stacks; /* events whose stack has no complete end */
	uint64_t n_stacks; /* different ones that events name */
	uint64_t deepest_stack; /* frames */
	uint64_t recording_bytes; /* size of the .dat when it was read */
	uint64_t end_status;
	uint64_t rss_peak_bytes; /* greatest sample */
	uint64_t writer_cpu_ns; /* processor time of the recorder's writer; 0: not known */
	uint64_t recorder_bytes; /* memory that the recorder mapped; 0: not known */
	uint64_t write_errno; /* first error when the recorder wrote its file; 0: none */
	uint32_t is_complete; /* ended in order, nothing lost, nothing damaged */
	uint32_t ended; /* strings from here on: "exit", "killed or still running" ... */
	uint32_t executable;
	uint32_t cmdline; /* arguments, each ending with a zero byte */
	uint32_t environment; /* likewise */
	uint32_t cwd;
	uint32_t host;
	uint32_t kernel;
	uint32_t arch;
	uint32_t cgroup;
	uint32_t limits;
	uint32_t recorder;
};

/* Tables, in the order of their numbers in the file. */
/* What a chain was when the state was written, if it has changed since. The last one comes first when it
 * is to be as it was. */
struct store_undo {
	uint64_t chain; /* as STORE_CHAIN: from 1 */
	struct store_chain was;
};

enum store_table {
	STORE_FACTS, /* struct store_facts, one */
	STORE_STRING_BYTES, /* char */
	STORE_STRING_ENDS, /* uint64_t: where the zero byte of each string is */
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
	STORE_UNDO, /* belongs to the next */
	STORE_STATE, /* bytes: what to go on from when the recording grows (ingest/incremental.h) */
	STORE_N_TABLES,
};

extern const uint32_t store_item_bytes[]; /* of each of them; store_tables.c */

#endif
