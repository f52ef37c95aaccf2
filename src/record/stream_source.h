/* record/stream_source.h - what one client of the embedded server is sent next.
 *
 * The client makes a copy of a recording file while the file is written. The file has three parts
 * that change in different ways, and the client gets them in this order:
 *
 *	chunks        never change once they are written: sent once, by offset, in DATA frames
 *	blocks        of the AREA chunks, which threads fill right now: each pass over the blocks
 *	              sends what was added since the last pass, in BLOCK frames
 *	status        the two slots in the first page: sent after each pass
 *
 * A block becomes a chunk before its place in the AREA is used again, and the chunks always go
 * first. So at every moment the client's copy has each event that was sent.
 *
 * Where short-lived allocations are left out (cull.h), the blocks that threads fill and the PENDING
 * chunk are not sent: what is in them may turn out to be left out. The client gets the blocks that
 * the writer fills with what stays. While a pass goes on, the copy has newer events of one thread than
 * of another. So the status that ends a pass says up to which time the copy has everything
 * (STATUS_COMPLETE_TICKS); readers of the copy leave out what is later. Before the first one the status in
 * the first page says 1: nothing.
 *
 * Everything is read with pread() from the file: the page cache has it, unless the client is far
 * behind. Threads: the writer, which is also the one that appends chunks and frees blocks.
 */
#ifndef RECORD_STREAM_SOURCE_H
#define RECORD_STREAM_SOURCE_H

#include "record/record.h"

#define STREAM_SOURCE_PASS_NS (100 * NS_PER_MS) /* from one pass over the blocks to the next */

/* Where blocks lie in a file. */
struct stream_area {
	uint64_t file_offset;
	uint32_t n_blocks;
};

/* A piece (a recording file of this process) that clients can have. It outlives its session. */
struct stream_file {
	const struct session *session; /* NULL: destroyed; end_offset, n_areas and area count */
	int fd; /* a duplicate: the session closes its own. -1: no file */
	uint32_t number; /* struct session.piece */
	bool is_current; /* the newest piece */
	uint64_t end_offset;
	uint32_t n_areas;
	uint64_t pending_offset, pending_bytes; /* of a PENDING chunk */
	struct stream_area *area; /* room for RECORD_MAX_AREAS */
};

/* The session of this file is about to be destroyed: copies what clients need of the session. */
void stream_source_keep(struct stream_file *file);

/* Where the chunks of the file end at present. */
uint64_t stream_source_end(const struct stream_file *file);

/* Has the recording ended? */
bool stream_source_has_ended(const struct stream_file *file);

/* What the client has of a block. */
struct stream_sent {
	uint64_t sequence;
	uint32_t used_bytes;
	uint32_t tail; /* hash of the last bytes: the last event may change (FORMAT.md 5.2) */
};

enum stream_source_phase {
	STREAM_SOURCE_CHUNKS,
	STREAM_SOURCE_BLOCKS,
	STREAM_SOURCE_STATUS,
	STREAM_SOURCE_PAUSE, /* until the next pass is due */
};

struct stream_source {
	const struct stream_file *file;
	uint64_t next; /* offset of the next byte of chunks */
	uint32_t area, slot; /* the next block of this pass */
	enum stream_source_phase phase;
	uint64_t pass_due_ns;
	struct stream_sent *sent; /* by block: STREAM_SOURCE_MAX_BLOCKS */
	uint64_t status_sequence; /* of the status that was sent last */
	uint64_t complete_ticks; /* session.complete_ticks when this pass began */
	uint64_t complete_sent; /* in the status that was sent last */
	uint32_t n_last_passes; /* passes since a newer piece began: after two PIECE_END is sent */
	bool ended_before_pass; /* the recording had ended when this pass began */
	bool is_end_sent; /* END: once after the end of the recording, once more if an exec failed */
};

#define STREAM_SOURCE_MAX_BLOCKS (RECORD_MAX_AREAS * RECORD_AREA_BLOCKS)

/* Begins to send a file: the chunks from offset on (the client has what lies before), and all
 * blocks. sent is borrowed, has STREAM_SOURCE_MAX_BLOCKS elements on whole pages, and becomes
 * zeros. */
void stream_source_begin(struct stream_source *s, const struct stream_file *file, uint64_t offset,
			 struct stream_sent *sent);

/* Writes the payload of the next frame at out, which has room for STREAM_MAX_PAYLOAD. Returns the
 * type of the frame (enum stream_frame_type); 0: nothing is to be sent now; or -errno: the file
 * cannot be read, and the client cannot be served. */
long stream_source_next(struct stream_source *s, uint64_t now_ns, uint8_t *out, size_t *n_bytes);

/* Does the client have all chunks that the file has at present? */
bool stream_source_is_abreast(const struct stream_source *s);

#endif
