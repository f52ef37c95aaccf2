/* recording/metadata.h - what the chunks besides events say: the process, its modules, threads,
 * samples ...
 *
 * The struct owns all texts. They are bytes from a file: nothing is known about them but that a
 * zero byte follows the last one. Threads: one while chunks are added, then any number of readers.
 */
#ifndef RECORDING_METADATA_H
#define RECORDING_METADATA_H

#include "format/chunk.h"
#include "recording/map_residency.h"
#include "util/map.h"

struct metadata_text {
	char *bytes; /* NULL: the recording does not say */
	size_t len; /* a list holds a zero byte between two parts */
};

struct metadata_process {
	bool is_known;
	uint64_t pid;
	uint64_t ppid;
	uint64_t uid;
	uint64_t gid;
	uint64_t page_bytes;
	uint64_t n_cpus;
	uint64_t memory_bytes; /* of the machine */
	uint64_t memory_limit_bytes; /* of the control group; 0: none, or not known */
	uint64_t parent_pid; /* a forked child whose parent was recorded too; else 0 */
	struct metadata_text executable;
	struct metadata_text cmdline; /* list */
	struct metadata_text environment; /* list */
	struct metadata_text cwd;
	struct metadata_text host;
	struct metadata_text kernel;
	struct metadata_text arch;
	struct metadata_text cgroup;
	struct metadata_text limits;
	struct metadata_text recorder;
};

struct metadata_module {
	uint64_t id;
	uint64_t base;
	uint64_t start;
	uint64_t end;
	uint64_t generation;
	uint64_t ticks;
	uint64_t file_id; /* 0: not embedded */
	struct metadata_text path;
	struct metadata_text build_id;
};

struct metadata_thread {
	uint64_t number;
	uint64_t tid;
	uint64_t start_ticks;
	uint64_t end_ticks; /* 0: not known to have ended */
	struct metadata_text name;
};

struct metadata_sample {
	uint64_t ticks;
	uint64_t monotonic_ns;
	uint64_t rss_bytes;
	uint64_t virtual_bytes;
	uint64_t shared_bytes;
	uint64_t cpu_ns;
	uint64_t peak_rss_bytes; /* so far; 0: not known */
};

/* A message of the recorder, or of a tool. */
struct metadata_note {
	uint64_t ticks;
	uint64_t level; /* 1 error, 2 warning, 3 information */
	struct metadata_text text;
};

/* An allocator inside the program. */
struct metadata_allocator {
	uint64_t number;
	uint64_t n_functions;
	struct metadata_text name, prefix, module;
};

/* What an allocator said of itself; UINT64_MAX: it did not say. */
struct metadata_allocator_sample {
	uint64_t ticks;
	uint64_t number;
	uint64_t cost_ns;
	uint64_t allocated_bytes;
	uint64_t active_bytes;
	uint64_t metadata_bytes;
	uint64_t resident_bytes;
	uint64_t mapped_bytes;
	uint64_t retained_bytes;
};

struct metadata_file {
	uint64_t id;
	uint64_t size_bytes;
	uint64_t kind;
	uint64_t covered_bytes; /* by FILE_DATA chunks in order, from offset 0 on */
	uint64_t is_beside; /* the contents are in a file of their own (shared_binary.h) */
	bool is_complete; /* they are all there */
	struct metadata_text path;
	struct metadata_text build_id;
};

struct metadata_end {
	bool is_known;
	uint64_t ticks;
	uint64_t how; /* enum format_end_how */
	uint64_t status;
};

/* What tools left out: the sum over all DROPPED chunks (dropped_chunk.h). */
struct metadata_dropped {
	uint64_t n_runs; /* of tools; 0: nothing was left out */
	bool has_threshold; /* in all of them */
	uint64_t threshold_ns; /* the greatest */
	uint64_t n_allocations;
	uint64_t n_bytes;
	uint64_t n_events;
};

struct metadata {
	struct metadata_process process;
	struct metadata_end end;
	struct metadata_dropped dropped;
	struct metadata_module *module;
	size_t n_modules, cap_modules;
	struct metadata_thread *thread; /* one per number, in order of first mention */
	size_t n_threads, cap_threads;
	struct metadata_sample *sample;
	size_t n_samples, cap_samples;
	struct metadata_note *note;
	size_t n_notes, cap_notes;
	struct metadata_allocator *allocator;
	size_t n_allocators, cap_allocators;
	struct metadata_allocator_sample *allocator_sample;
	size_t n_allocator_samples, cap_allocator_samples;
	struct metadata_file *embedded;
	size_t n_embedded, cap_embedded;
	struct map thread_at; /* number -> index in thread */
	struct map embedded_at; /* id -> index in embedded */
	uint64_t n_maps; /* MAPS chunks */
	uint64_t n_symbols; /* SYMBOLS chunks */
	struct metadata_text maps; /* the text of the last one: see proc_maps.h */
	uint64_t maps_ticks; /* when the process read it */
	struct map_residency residency;
	uint64_t residency_ticks; /* of the last MAPS chunk that says what is resident */
	uint64_t n_unknown_chunks; /* of types this version does not know */
};

void metadata_fini(struct metadata *f); /* a zeroed struct is empty */

/* Adds the payload of a PROCESS, MODULE, FILE, THREAD, SAMPLE, NOTE, ALLOCATOR,
 * ALLOCATOR_SAMPLE or END chunk. ERR_FORMAT when
 * it is malformed: the fields before the bad one are kept. ERR_MEMORY. */
int metadata_add(struct metadata *f, enum format_chunk_type type, const uint8_t *payload,
		 size_t len, struct err *err);

/* The same for a chunk of a later piece of the recording: what an earlier piece said already is left
 * out. */
int metadata_add_again(struct metadata *f, enum format_chunk_type type, const uint8_t *payload,
		       size_t len, struct err *err);

/* Adds the head (16 bytes) of a FILE_DATA chunk whose content is n_bytes long. */
void metadata_add_file_data(struct metadata *f, const uint8_t *head, uint64_t n_bytes);

/* Adds the payload of a DROPPED chunk, decompressed. Errors as above. */
int metadata_add_dropped(struct metadata *f, const uint8_t *data, size_t len, struct err *err);

/* The thread with a number; NULL when no chunk names it. */
const struct metadata_thread *metadata_find_thread(const struct metadata *f, uint64_t number);

#endif
