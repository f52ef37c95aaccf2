/* A link that receives: what ends it, and what does not. tests/e2e/test_stream.py has the rest. */
#define _GNU_SOURCE
#include "gather/gather_link.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/bytes.h"
#include "harness/test.h"

static const struct gather_link_options options = {.folder = "/nonexistent", .token = ""};

/* A link that receives into a file without a name. */
static void begin(struct gather_link *l)
{
	struct err err;

	CHECK_EQ(gather_link_init(l, &options, &err), 0);
	l->state = GATHER_LINK_RECEIVING;
	l->file.fd = memfd_create("received", MFD_CLOEXEC);
	l->file.path = strdup("received");
	CHECK(l->file.fd >= 0 && l->file.path);
}

static void take(struct gather_link *l, uint32_t type, uint8_t *payload, uint32_t n_bytes)
{
	const struct stream_frame f = {.type = type, .payload = payload, .n_bytes = n_bytes};
	struct err err;

	l->n_out = 0; /* as if it had been sent */
	CHECK_EQ(gather_link_take_frame(l, &f, &err), 0);
}

static void take_end(struct gather_link *l)
{
	uint8_t number[4] = {1};

	take(l, STREAM_END, number, sizeof(number));
}

static void take_status(struct gather_link *l, uint64_t sequence, uint64_t state)
{
	struct file_status s = {.sequence = sequence};
	static uint8_t page[FORMAT_HEADER_BYTES];
	static uint8_t payload[8 + 2 * FILE_STATUS_BYTES];

	s.field[STATUS_STATE] = state;
	file_status_encode(&s, page);
	store_le64(payload, FILE_STATUS_OFFSET);
	memcpy(payload + 8, page + FILE_STATUS_OFFSET, 2 * FILE_STATUS_BYTES);
	take(l, STREAM_DATA, payload, sizeof(payload));
}

TEST(a_recording_that_ended_stays_ended)
{
	struct gather_link l;

	begin(&l);
	take_status(&l, 1, FORMAT_STATE_RECORDING);
	take_status(&l, 2, FORMAT_STATE_ENDED);
	take_end(&l);
	take_status(&l, 3, FORMAT_STATE_ENDED); /* of what destructors do */
	CHECK(l.has_ended);
	gather_link_fini(&l);
}

TEST(an_exec_that_fails_is_no_end)
{
	struct gather_link l;

	begin(&l);
	take_status(&l, 1, FORMAT_STATE_ENDED);
	take_end(&l);
	CHECK(l.has_ended);
	take_status(&l, 2, FORMAT_STATE_RECORDING);
	CHECK(!l.has_ended);
	take_status(&l, 3, FORMAT_STATE_ENDED);
	take_end(&l);
	CHECK(l.has_ended);
	gather_link_fini(&l);
}
