/* record/record.h - the recorder's state, and how threads hand events to the writer, in one page.
 *
 * A thread of the target calls a hook. The hook finds its struct thread through one thread-local
 * pointer, takes the stack, and appends the event to its block: 64 KiB that lie in the recording
 * file itself (MAP_SHARED), so what was published survives any end of the process. A full block is
 * marked in its area's full_bits. The writer compresses the block, appends it to the file as
 * a chunk and marks the block free again.
 *
 *	 recorder --> session (one file) --> area[] --> 16 blocks each, mapped from the file
 *	    |                                  free_bits: any lane may take the block
 *	    +--> threads: thread --> thread    full_bits: the writer takes the block
 *	                    |                  neither: a lane fills it, or the writer copies it
 *	                    +--> lane[] --> the block that it fills
 *
 * The writer is a process that has nothing of the target but its memory (writer_process.h): no
 * thread of the target, its own descriptors, working directory, privileges and limits. So the
 * recorder holds no descriptor in the target at all: a program may close every descriptor, use them
 * all up, chroot or chdir. When the target is gone, by whatever means, the writer completes the
 * file.
 *
 * Everything below a struct recorder lies in mappings that a fork wipes (MADV_WIPEONFORK) or does
 * not copy (the blocks, MADV_DONTFORK). A child finds zeros: no lock is held, epoch 0 matches
 * nothing, and the next hook takes the slow path and notices (start_check_fork()).
 *
 * Modes and sessions change rarely. Each change raises record_epoch; a thread compares it with its
 * own epoch on every event and looks closer when they differ.
 *
 * Locks: none. Waiting: a hook waits for the writer when the recorder starts, when a new session is
 * wanted, and when all blocks are full; each of these waits has a limit. memory_profiler_sync() waits
 * for the writer, too. So do the end of the program and an exec, in a container or with a server
 * (ending.h). The writer waits for nobody.
 *
 * This header holds state, and the few functions that everybody needs. README.md says which file
 * does what.
 */
#ifndef RECORD_RECORD_H
#define RECORD_RECORD_H

#include <stdatomic.h>

#include "format/block.h"
#include "format/file_header.h"
#include "record/log_ring.h"
#include "record/module_list.h"

#define RECORD_AREA_BLOCKS 16
#define WRITER_PROCESS_NAME "mem-prof"
#define RECORD_MAX_AREAS 1024
#define RECORD_PATH_BYTES 1280
#define RECORD_N_COMPLAINTS 6
#define RECORD_COMPLAINT_BYTES 320

enum record_mode {
	RECORD_UNSET = 0, /* not decided yet: the next hook starts the recorder or refuses */
	RECORD_STARTING, /* one thread starts it, others wait */
	RECORD_OFF, /* nothing is recorded (disabled so far, failed, or an untracked child) */
	RECORD_ON,
	RECORD_PAUSED, /* was on: frees are recorded, allocations are not */
};

/* A run of blocks in the file. free_bits and full_bits have a bit per block. A block in neither
 * belongs to a lane or to the writer. */
struct area {
	struct block *blocks;
	uint64_t file_offset;
	uint32_t n_blocks;
	_Atomic uint64_t free_bits;
	_Atomic uint64_t full_bits;
	_Atomic uint64_t busy_bits; /* the writer copies them; another writer may have to go on */
	_Atomic uint32_t next_slot; /* where the search for a free block begins: see pool.c */
};

struct cull;

/* One recording file. Threads use area[0..n_areas) and next_block; the rest is the writer's. */
struct session {
	_Atomic uint32_t n_areas;
	struct area area[RECORD_MAX_AREAS];
	_Atomic uint64_t next_block; /* sequence numbers of blocks */
	_Atomic uint32_t redefine; /* grows, with record_epoch, when a block was lost: lanes must
				    * define their stacks again */

	struct session *older; /* the session before; idle threads may still hold its blocks */
	uint8_t *page; /* the first page of the file, mapped */
	struct file_status status;
	uint64_t end_offset; /* of the file: the next chunk goes there */
	uint64_t chunk_sequence;
	uint64_t lost_in_blocks; /* events of blocks that could not be written */
	uint64_t lost_reported; /* how many of these a NOTE chunk of the recording reports */
	uint64_t bytes_embedded;
	uint64_t start_realtime_ns;
	uint32_t n_modules_written;
	uint32_t allocators_described; /* bit for each number: allocator_numbers.h */
	uint32_t n_files;
	uint64_t base[STATUS_N_FIELDS]; /* counters of the recorder when this piece began */
	struct cull *cull; /* NULL: everything is recorded */
	uint64_t writer_blocks[RECORD_MAX_AREAS]; /* bits: blocks that cull fills, not a thread */
	uint64_t pending_offset, pending_bytes; /* of the PENDING chunk of cull */
	/* Not 0: events are culled for clients of the server, and all that stay and are earlier are in
	 * blocks that clients get. */
	uint64_t complete_ticks;
	uint32_t piece; /* number of the file in this run of the recorder, from 1 */
	int fd; /* in the writer's own descriptor table; less than 0: closed, see rotation.h */
	bool is_ended;
	bool keeps_areas; /* blocks stay in the areas of the file: there was no room for chunks of them */
	char path[RECORD_PATH_BYTES];
	char folder[RECORD_PATH_BYTES]; /* that a relative path starts from */
};

struct thread;

struct recorder {
	_Atomic uint32_t is_alive; /* 0 in a forked child: the memory was wiped */
	uint32_t pid;
	uint32_t ppid;
	uint32_t parent_pid; /* of a tracked child: the recorded parent; else 0 */
	bool is_late; /* the program may hold blocks that were allocated before the start */
	_Atomic(struct session *) session; /* current; NULL until the writer has made it */
	_Atomic(struct thread *) threads; /* push-only list; slots are reused */
	_Atomic uint32_t n_threads;
	_Atomic uint64_t lost_events; /* of finished lanes and of events that found no lane */
	_Atomic uint64_t n_waits;
	_Atomic uint64_t stack_id_cache_bytes; /* the budget of stack_id_cache.h: bytes in use */

	_Atomic uint32_t ready; /* futex: 0 the writer starts, 1 it has a session, 2 it failed */
	_Atomic uint32_t work; /* futex the writer sleeps on; raised to wake it */
	_Atomic uint32_t is_writer_asleep;
	_Atomic uint32_t free_word; /* futex: raised when blocks became free */
	_Atomic uint32_t n_waiting; /* threads that wait for a free block */
	_Atomic uint32_t
		is_writer_missed; /* a thread waited in vain, and no block became free since */
	uint8_t run_id[16]; /* of all recordings of this process: the id of the first one */
	uint32_t n_pieces; /* recordings begun */
	_Atomic uint32_t want_session; /* number of the session that is wanted */
	_Atomic uint32_t have_session; /* futex: number of the current one, or of a failed one */
	_Atomic uint32_t sync_wanted; /* tickets of memory_profiler_sync() and of the exit */
	_Atomic uint32_t sync_done; /* futex */
	_Atomic uint32_t ending; /* enum format_end_how: the writer shall write the end; 0: go on */
	_Atomic uint32_t writer_tid; /* the kernel stores 0 when the writer is gone */
	_Atomic uint32_t is_writer_unwanted; /* the writer shall end and not come back */
	_Atomic uint32_t is_writer_starting; /* a thread starts another writer */
	_Atomic uint32_t is_sandboxed; /* a process that starts now has the program's filter */
	_Atomic uint32_t is_confined; /* a filter forbids calls that the recorder does without */
	_Atomic uint32_t is_writer_brief; /* it ends when it has nothing to do: see writer.h */
	_Atomic uint32_t start_error; /* errno value: why there is no first session; 0: unknown */
	uint32_t n_writer_starts;
	bool is_writer_safe; /* nobody ends it together with the target */
	void (*ensure_writer)(struct recorder *); /* writer_ensure(), for those below it */

	_Atomic(const char *)
		why_given_up; /* set before ending: the recorder ends, not the program */
	void *writer; /* struct writer, private to writer.c */

	char complaint[RECORD_N_COMPLAINTS][RECORD_COMPLAINT_BYTES]; /* about settings */
	unsigned n_complaints;
	struct module_list modules;
	struct log_ring log;
};

extern HIDDEN _Atomic uint32_t record_epoch; /* never 0 */
extern _Atomic uint32_t record_mode; /* enum record_mode */

/* The recorder of this process. NULL: it has not started, has given up, or this is a forked child
 * that has not noticed the fork. */
struct recorder *record_get(void);

/* The same, but NULL in a process that the recorder does not record: a vfork child, which runs in
 * the memory of its parent. */
struct recorder *record_find_own(void);

/* The memory of the recorder: zeros in a forked child that has not started; NULL before the first
 * start. */
struct recorder *record_get_memory(void);

/* The recorder is ready to be found by the functions above. */
void record_set(struct recorder *rec);

/* Wakes the writer, or keeps it from falling asleep. */
void record_wake_writer(struct recorder *rec);

#endif
