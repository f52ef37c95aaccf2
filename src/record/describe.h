/* record/describe.h - what the writer tells about the process: who it is, its threads, its images,
 * its memory. Writer thread only. */
#ifndef RECORD_DESCRIBE_H
#define RECORD_DESCRIBE_H

#include "record/session.h"

/* Scratch for reading /proc; SESSION_MAX_DATA bytes. */
struct describer {
	struct recorder *rec;
	struct session_buffers *buffers;
	uint8_t *scratch;
	uint8_t *fields; /* SESSION_MAX_DATA as well */
};

void describe_process(struct describer *f, struct session *s);
void describe_sample(struct describer *f, struct session *s);
void describe_maps(struct describer *f, struct session *s);
void describe_end(struct describer *f, struct session *s, enum format_end_how how);

/* MODULE chunks of images that this session does not know yet. Returns how many were new. */
uint32_t describe_modules(struct describer *f, struct session *s);

/* THREAD chunk: name, and the end when ended_ticks is not 0. */
void describe_thread(struct describer *f, struct session *s, const struct thread *t, uint32_t tid,
		     uint64_t ended_ticks);

#endif
