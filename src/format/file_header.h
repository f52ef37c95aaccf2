/* format/file_header.h - the first page of a recording: what it is, and its status while it is
 * written.
 *
 * The fixed part is written once. The status is written again and again, alternately into two slots
 * with checksums: while one slot is being written, the other is valid (docs/FORMAT.md section 1).
 */
#ifndef FORMAT_FILE_HEADER_H
#define FORMAT_FILE_HEADER_H

#include "base/compiler.h"
#include "format/format.h"

#define FILE_HEADER_FIXED_BYTES 128
#define FILE_STATUS_OFFSET 1024
#define FILE_STATUS_BYTES 512

struct file_header {
	uint16_t version_major;
	uint16_t version_minor;
	uint64_t features_required;
	uint64_t features_optional;
	uint8_t pointer_bytes;
	uint16_t machine;
	uint32_t page_bytes;
	uint8_t recording_id[16];
	uint64_t start_ticks;
	uint64_t start_monotonic_ns;
	uint64_t start_realtime_ns;
	uint32_t clock_source;
	uint32_t pid;
	uint32_t block_bytes;
	uint32_t flags;
	uint32_t header_bytes;
	/* A run of the recorder may write several files, its pieces: these have the same run_id,
	 * and numbers from 1 on. Zeros: a recording of version 4.0, which is no piece. */
	uint8_t run_id[16];
	uint32_t piece;
};

/* Are both pieces of one run? */
bool file_header_is_same_run(const struct file_header *a, const struct file_header *b);

struct file_status {
	uint64_t field[STATUS_N_FIELDS];
	uint64_t sequence; /* 0: never written */
};

enum file_header_result {
	FILE_HEADER_OK = 0,
	FILE_HEADER_SHORT, /* fewer than FILE_HEADER_FIXED_BYTES */
	FILE_HEADER_FOREIGN, /* another kind of file */
	FILE_HEADER_DAMAGED, /* checksum */
	FILE_HEADER_OLDER, /* a version that this code no longer reads */
	FILE_HEADER_NEWER, /* a version or a feature that this code does not know yet */
};

/* Writes the fixed part, FILE_HEADER_FIXED_BYTES, at page. */
void file_header_encode(const struct file_header *h, uint8_t *page);

/* Reads the fixed part. *ret is complete for OK, OLDER and NEWER, untouched otherwise. */
enum file_header_result file_header_decode(const uint8_t *data, size_t len,
					   struct file_header *ret);

/* Writes the status into the slot that its sequence selects (sequence & 1). page is the start of
 * the file, FORMAT_HEADER_BYTES long. The caller raises sequence by one each time. */
void file_status_encode(const struct file_status *s, uint8_t *page);

/* Reads the newest valid slot. False when no slot is valid. */
bool file_status_decode(const uint8_t *data, size_t len, struct file_status *ret);

/* Sets a field in both slots of a status, where they are valid. slots: the bytes of a file from
 * FILE_STATUS_OFFSET on, 2 * FILE_STATUS_BYTES of them. */
void file_status_set_field(uint8_t *slots, unsigned field, uint64_t value);

#endif
