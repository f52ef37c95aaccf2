/* A writer that culls what made-up threads put into their blocks, in memory that several processes can
 * map, and a reader that compares what is left with what the threads did.
 *
 * All state of the writer and of the threads lies in `cull_world`, so whoever maps its file elsewhere,
 * or privately, has another copy of that world at the same moment. A process that is stopped or killed
 * leaves there what a killed writer leaves.
 */
#ifndef CULL_WORLD_H
#define CULL_WORLD_H

#include "harness/test.h"
#include "record/cull_i.h"

#define CULL_WORLD_THREADS 3 /* numbers from 1 */
#define CULL_WORLD_STACKS 16 /* ids from 1, of each thread */
#define CULL_WORLD_AREAS 4
#define CULL_WORLD_WRITTEN 64 /* blocks */
#define CULL_WORLD_EVENTS 40000
#define CULL_WORLD_HELD 64
#define CULL_WORLD_TICK 5000 /* between two events; ticks are nanoseconds */

/* What a thread did. */
struct cull_world_event {
	uint64_t ticks; /* no two are the same; of definitions: the stack's id */
	uint64_t addr;
	uint64_t size_bytes; /* of rare events: the first field */
	uint32_t stack;
	uint16_t thread;
	uint8_t kind;
};

struct cull_world_thread {
	struct event_encoder enc;
	struct area *area;
	uint32_t slot;
	uint32_t next_index;
	struct block *block; /* NULL: none */
};

extern struct cull_world {
	struct recorder rec;
	struct session session;
	struct session_buffers buffers;
	struct cull *cull;
	uint64_t now; /* ticks */
	uint64_t n_lost;
	struct cull_world_thread thread[CULL_WORLD_THREADS + 1];
	uint32_t seed, n_acting; /* of cull_world_act(): which threads */
	uint64_t held[CULL_WORLD_HELD]; /* addresses of blocks that live; 0: none */
	size_t heap_used;
	uint32_t n_events;
	uint32_t n_written;
	uint8_t heap[24 << 20]; /* what the writer maps */
	struct cull_world_event event[CULL_WORLD_EVENTS]; /* all, in order of time */
	struct block area[CULL_WORLD_AREAS][RECORD_AREA_BLOCKS];
	struct block written[CULL_WORLD_WRITTEN]; /* by the writer, at the end of its file */
} * cull_world;

/* Begins anew, with a file of its own, whose descriptor is the result. */
int cull_world_begin(uint64_t max_pending, uint64_t threshold_ms);

/* Maps the world of a file in the place of the current one. is_private: what happens now stays out of the
 * file. */
void cull_world_map(int fd, bool is_private);
void cull_world_end(int fd);

/* A thread makes an event. Stacks are defined at their first use, up to the stack that is named. */
void cull_world_put(unsigned thread, unsigned kind, uint64_t addr, uint64_t size_bytes,
		    uint32_t stack);
void cull_world_malloc(unsigned thread, uint64_t addr, uint64_t size_bytes, uint32_t stack);
void cull_world_free(unsigned thread, uint64_t addr);
void cull_world_realloc(unsigned thread, uint64_t from, uint64_t to, uint64_t size_bytes,
			uint32_t stack);
void cull_world_rare(unsigned thread, unsigned kind, uint64_t field);
void cull_world_sleep(uint64_t ms);

/* Any thread does anything: one to three events. */
void cull_world_act(void);

/* The thread hands its block over, although it has room. */
void cull_world_end_block(unsigned thread);

/* The writer takes all that was published; the sums are due, or not yet. */
void cull_world_step(void);
void cull_world_step_soon(void);

/* Another writer goes on. */
void cull_world_resume(void);

/* The threads end, and the writer writes all. Then checks that each event is in what was written, one by
 * one or in a sum, exactly once; and whole chains that were old, or that were never freed, one by one. */
void cull_world_finish(void);

/* How many allocations were left out. After cull_world_finish(). */
uint64_t cull_world_n_culled(void);

#endif
