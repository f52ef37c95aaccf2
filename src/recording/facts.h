/* recording/facts.h - what the descriptive chunks of a recording tell: process, modules, threads ...
 *
 * All texts are owned by the struct facts. They are bytes from a file: nothing is known about
 * them but that a zero byte follows the last one.
 */
#ifndef RECORDING_FACTS_H
#define RECORDING_FACTS_H

#include "format/chunk.h"
#include "util/map.h"

struct facts_text {
	char *bytes; /* NULL: not told */
	size_t len; /* lists hold zero bytes between their parts */
};

struct facts_process {
	bool is_known;
	uint64_t pid;
	uint64_t ppid;
	uint64_t uid;
	uint64_t gid;
	uint64_t page_bytes;
	uint64_t n_cpus;
	uint64_t memory_bytes;
	uint64_t parent_pid; /* of a forked child whose parent was recorded, too; else 0 */
	struct facts_text executable;
	struct facts_text cmdline; /* list */
	struct facts_text environment; /* list */
	struct facts_text cwd;
	struct facts_text host;
	struct facts_text kernel;
	struct facts_text arch;
	struct facts_text cgroup;
	struct facts_text limits;
	struct facts_text recorder;
};

struct facts_module {
	uint64_t id;
	uint64_t base;
	uint64_t start;
	uint64_t end;
	uint64_t generation;
	uint64_t ticks;
	uint64_t file_id; /* 0: not embedded */
	struct facts_text path;
	struct facts_text build_id;
};

struct facts_thread {
	uint64_t number;
	uint64_t tid;
	uint64_t start_ticks;
	uint64_t end_ticks; /* 0: not known to have ended */
	struct facts_text name;
};

struct facts_sample {
	uint64_t ticks;
	uint64_t monotonic_ns;
	uint64_t rss_bytes;
	uint64_t virtual_bytes;
	uint64_t shared_bytes;
	uint64_t cpu_ns;
};

struct facts_note {
	uint64_t ticks;
	uint64_t level; /* 1 error, 2 warning, 3 information */
	struct facts_text text;
};

struct facts_file {
	uint64_t id;
	uint64_t size_bytes;
	uint64_t kind;
	uint64_t covered_bytes; /* of FILE_DATA that followed one another from offset 0 */
	bool is_complete;
	struct facts_text path;
	struct facts_text build_id;
};

struct facts_end {
	bool is_known;
	uint64_t ticks;
	uint64_t how; /* enum format_end_how */
	uint64_t status;
};

/* What tools left out, over all DROPPED chunks (recording/dropped_chunk.h). */
struct facts_dropped {
	uint64_t n_runs; /* of tools; 0: nothing was left out */
	bool has_threshold; /* in all of them */
	uint64_t threshold_ns; /* the greatest */
	uint64_t n_allocations;
	uint64_t n_bytes;
	uint64_t n_events;
};

struct facts {
	struct facts_process process;
	struct facts_end end;
	struct facts_dropped dropped;
	struct facts_module *module;
	size_t n_modules, cap_modules;
	struct facts_thread *thread; /* one per number, in order of first mention */
	size_t n_threads, cap_threads;
	struct facts_sample *sample;
	size_t n_samples, cap_samples;
	struct facts_note *note;
	size_t n_notes, cap_notes;
	struct facts_file *embedded;
	size_t n_embedded, cap_embedded;
	struct map thread_at; /* number -> index in thread */
	struct map embedded_at; /* id -> index in embedded */
	uint64_t n_maps; /* MAPS chunks */
	uint64_t n_symbols; /* SYMBOLS chunks */
	struct facts_text maps; /* the text of the last one: see proc_maps.h */
	uint64_t maps_ticks; /* when that was read */
	uint64_t n_unknown_chunks; /* of types this version does not know */
};

void facts_fini(struct facts *f); /* a zeroed struct is empty */

/* Takes in the payload of a PROCESS, MODULE, FILE, THREAD, SAMPLE, NOTE or END chunk. ERR_FORMAT
 * when it is malformed: what stood before the bad place is kept. */
int facts_add(struct facts *f, enum format_chunk_type type, const uint8_t *payload, size_t len,
	      struct err *err);

/* Takes in the head of a FILE_DATA chunk (16 bytes) whose content is n_bytes long. */
void facts_add_file_data(struct facts *f, const uint8_t *head, uint64_t n_bytes);

/* Takes in the payload of a DROPPED chunk, decompressed. ERR_FORMAT as above. */
int facts_add_dropped(struct facts *f, const uint8_t *data, size_t len, struct err *err);

/* NULL when the number was never mentioned. */
const struct facts_thread *facts_find_thread(const struct facts *f, uint64_t number);

#endif
