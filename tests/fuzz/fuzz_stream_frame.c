/* Any bytes as frames, messages and announcements of the stream. */
#include "harness/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "format/stream_message.h"

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void check_frames(const uint8_t *data, size_t len, bool is_sealed)
{
	struct stream_seal seal = {.is_on = is_sealed};
	uint8_t *copy = malloc(len + 1);
	size_t at = 0, used = 0;
	struct stream_frame f;

	if (!copy)
		return;
	memcpy(copy, data, len);
	while (stream_frame_parse(&seal, copy + at, len - at, STREAM_MAX_REQUEST, &f, &used) ==
	       STREAM_PARSE_OK) {
		check(used >= STREAM_HEAD_BYTES && used <= len - at);
		check(f.n_bytes <= STREAM_MAX_REQUEST &&
		      f.payload == copy + at + STREAM_HEAD_BYTES);
		at += used;
	}
	free(copy);
}

/* What was read, written again, reads the same. */
static void check_messages(const uint8_t *data, size_t len)
{
	uint8_t buf[STREAM_ANNOUNCE_MAX];
	struct stream_announcement a, a2;
	struct stream_process p, p2;
	struct stream_piece i, i2;

	if (stream_process_decode(data, len, &p)) {
		check(stream_process_decode(buf, stream_process_encode(&p, buf), &p2));
		check(memcmp(p.id, p2.id, sizeof(p.id)) == 0 && p.last_piece == p2.last_piece);
	}
	if (stream_piece_decode(data, len, &i)) {
		check(stream_piece_decode(buf, stream_piece_encode(&i, buf), &i2));
		check(i.n_bytes == i2.n_bytes && i.number == i2.number);
	}
	if (stream_announcement_decode(data, len, &a)) {
		check(stream_announcement_decode(buf, stream_announcement_encode(&a, buf), &a2));
		check(a.port == a2.port && a.pid == a2.pid);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	check_frames(data, len, false);
	check_frames(data, len, true);
	check_messages(data, len);
	return 0;
}
