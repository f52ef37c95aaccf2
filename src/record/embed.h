/* record/embed.h - puts the program and its libraries into the recording, a piece at a time.
 *
 * A recording can then be read elsewhere, and later, after the binaries were replaced. The writer
 * calls embed_step() when it has nothing else to do. A file that cannot be read or written to its
 * end stays incomplete, which readers see. The writer only. Zeroed memory: nothing was embedded yet.
 */
#ifndef RECORD_EMBED_H
#define RECORD_EMBED_H

#include "record/describe.h"
#include "record/embed_cut.h"
#include "record/embed_shared.h"

struct embed {
	struct session *session; /* that the rest is about; another one begins from the start */
	uint32_t next_module; /* index in the module list */
	uint32_t file_id; /* of the file being embedded; 0: none is open */
	int fd; /* of that file, in the writer's own table */
	uint64_t size_bytes;
	uint64_t offset;
	struct embed_cut cut; /* of the open file: what is not kept */
	struct embed_shared shared; /* where it goes, if not into the recording */
	bool extra_done; /* the files of MEMORY_PROFILER_INCLUDE_FILE are embedded */
};

/* A new writer process begins: the file that the last one had open begins again. */
void embed_restart(struct embed *e);

/* Embeds the next piece. False: there is nothing left to do. */
bool embed_step(struct embed *e, struct describer *f, struct session *s);

/* At the end of a session: embeds what a JIT compiler wrote for perf, unless it is larger than 32 MiB:
 * /tmp/perf-PID.map, and the file jit-PID.dump that is mapped or in the working directory. */
void embed_jit_files(struct describer *f, struct session *s);

/* Appends the FILE chunk of a file of any kind. module: whose image the file is, or NULL. False: it
 * could not be written. */
bool embed_put_file(struct session *s, struct describer *f, uint32_t id, const char *path,
		    uint64_t size_bytes, const struct module_entry *module);

/* Appends the first n (at most SESSION_MAX_DATA) bytes of f->scratch, which lie at this offset of
 * the file. n == 0 says that the file is complete. False: it could not be written. */
bool embed_put_data(struct session *s, struct describer *f, uint32_t id, uint64_t offset, size_t n);

#endif
