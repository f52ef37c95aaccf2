/* record/embed_shared.h - binaries that the recordings of several processes need are kept once.
 *
 * With MEMORY_PROFILER_TRACK_CHILD_PROCESSES=1 a binary with a build id goes into a file of its own in
 * a folder beside the recording (format/shared_name.h), and the recording only refers to it. The file
 * has no name while it is written (O_TMPFILE), so that it is complete as soon as others see it, and
 * nothing is left of it when the writer is killed. Where that is not possible (some file systems, a
 * folder of another user) and where clients of the server receive the recording, the binary is
 * embedded as usual. Writer only. Zeroed memory: no file is being written.
 */
#ifndef RECORD_EMBED_SHARED_H
#define RECORD_EMBED_SHARED_H

#include "format/shared_name.h"
#include "record/session.h"

struct embed_shared {
	struct session *file; /* being written, as a recording is; NULL: none */
	int folder;
	char name[SHARED_NAME_BYTES];
};

enum embed_shared_state {
	EMBED_SHARED_REFUSED, /* the binary is to be embedded */
	EMBED_SHARED_EXISTS,
	EMBED_SHARED_BEGUN, /* the caller writes x->file, then calls embed_shared_commit() */
};

enum embed_shared_state embed_shared_begin(struct embed_shared *x, const struct session *s,
					   const struct module_entry *module, uint64_t size_bytes);

/* Gives the file its name. False: it is not there, and nobody else made it. */
bool embed_shared_commit(struct embed_shared *x);

/* Gives up the file, if one is being written. */
void embed_shared_drop(struct embed_shared *x);

/* The same in a new writer process, which does not have the descriptors. */
void embed_shared_forget(struct embed_shared *x);

#endif
