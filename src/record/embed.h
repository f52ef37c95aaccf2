/* record/embed.h - puts the program and its libraries into the recording, a piece at a time.
 *
 * So that a recording can be read elsewhere, later, after the binaries were replaced. The writer
 * calls embed_step() when it has nothing better to do. Writer thread only.
 */
#ifndef RECORD_EMBED_H
#define RECORD_EMBED_H

#include "record/describe.h"

struct embed {
	struct session *session; /* progress counts for this one */
	uint32_t next_module; /* index in the module list */
	uint32_t file_id; /* of the file being embedded; 0: none is open */
	int fd;
	uint64_t size_bytes;
	uint64_t offset;
	bool extra_done; /* MEMORY_PROFILER_INCLUDE_FILE was looked at */
};

/* Does the next piece. False when there is nothing to do. */
bool embed_step(struct embed *e, struct describer *f, struct session *s);

#endif
