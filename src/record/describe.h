/* record/describe.h - chunks that describe the process: who it is, its threads, its images, its
 * memory.
 *
 * Each function appends a chunk. A chunk that cannot be written is counted in the session's status.
 * The writer only.
 */
#ifndef RECORD_DESCRIBE_H
#define RECORD_DESCRIBE_H

#include "record/session.h"

/* Borrows everything. */
struct describer {
	struct recorder *rec;
	struct session_buffers *buffers;
	uint8_t *scratch; /* SESSION_MAX_DATA bytes, for files of /proc */
	uint8_t *fields; /* SESSION_MAX_DATA bytes, for the chunk */
};

/* PROCESS chunk: ids, command line, environment, limits, machine. */
void describe_process(struct describer *f, struct session *s);

/* SAMPLE chunk: memory and CPU time used now, with a pair of clock readings. Returns how many bytes are
 * resident; 0: not known. */
uint64_t describe_sample(struct describer *f, struct session *s);

/* MAPS chunk: /proc/self/maps, unless MEMORY_PROFILER_GATHER_MAPS=0. */
void describe_maps(struct describer *f, struct session *s);

/* MAPS chunk of the text in f->scratch (resident_maps.h). */
void describe_maps_text(struct describer *f, struct session *s, size_t len);

/* END chunk. status: less than 0: not known. */
void describe_end(struct describer *f, struct session *s, enum format_end_how how, int status);

/* MODULE chunks of images that this session does not have yet. Returns how many there were. */
uint32_t describe_modules(struct describer *f, struct session *s);

/* ALLOCATOR_SAMPLE chunks of the answers that came since the last time (allocator_stats.h). */
void describe_allocator_stats(struct describer *f, struct session *s, uint64_t now_ns);

/* ALLOCATOR chunks of the allocators inside the program (allocator_numbers.h) that this session does
 * not have yet. */
void describe_allocators(struct describer *f, struct session *s);

/* THREAD chunk: number, tid, name, start; and the end if ended_ticks is not 0. */
void describe_thread(struct describer *f, struct session *s, const struct thread *t, uint32_t tid,
		     uint64_t ended_ticks);

#endif
