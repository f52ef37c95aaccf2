/* Messages of the stream: what is written is read, and what is cut or odd is refused. */
#include "format/stream_message.h"

#include <string.h>

#include "harness/guard.h"
#include "harness/test.h"

TEST(a_process_comes_back)
{
	struct stream_process p = {.pid = 77, .first_piece = 2, .last_piece = 9, .name = "server"};
	struct stream_process back;
	uint8_t buf[256];
	size_t len;

	memset(p.id, 5, sizeof(p.id));
	len = stream_process_encode(&p, buf);
	CHECK(stream_process_decode(buf, len, &back));
	CHECK_MEM_EQ(&p, &back, sizeof(p));
}

TEST(a_piece_comes_back)
{
	struct stream_piece p = {
		.start_realtime_ns = 1ull << 60, .number = 3, .flags = 1, .n_bytes = 1ull << 40};
	struct stream_piece back;
	uint8_t buf[STREAM_PIECE_BYTES];

	CHECK_EQ(stream_piece_encode(&p, buf), STREAM_PIECE_BYTES);
	CHECK(stream_piece_decode(buf, sizeof(buf), &back));
	CHECK_MEM_EQ(&p, &back, sizeof(p));
}

TEST(an_announcement_comes_back)
{
	struct stream_announcement a = {.pid = 1, .port = 8100, .needs_token = true, .name = "x"};
	struct stream_announcement back;
	uint8_t buf[STREAM_ANNOUNCE_MAX];
	size_t len = stream_announcement_encode(&a, buf);

	CHECK(stream_announcement_decode(buf, len, &back));
	CHECK_EQ(back.pid, 1);
	CHECK_EQ(back.port, 8100);
	CHECK(back.needs_token);
	CHECK_STR_EQ(back.name, "x");
}

TEST(a_long_name_is_cut_and_fits)
{
	struct stream_announcement a = {.port = 1}, back;
	uint8_t buf[STREAM_ANNOUNCE_MAX];
	size_t len;

	memset(a.name, 'n', sizeof(a.name));
	len = stream_announcement_encode(&a, buf);
	CHECK(len <= STREAM_ANNOUNCE_MAX);
	CHECK(stream_announcement_decode(buf, len, &back));
	CHECK_EQ(strlen(back.name), STREAM_MAX_NAME - 1);
}

TEST(what_is_cut_is_refused_and_not_read_past)
{
	struct stream_process p = {.pid = 77, .first_piece = 1, .last_piece = 1, .name = "server"};
	struct stream_announcement a = {.port = 8100, .name = "server"};
	uint8_t process[256], announcement[STREAM_ANNOUNCE_MAX];
	size_t n_process = stream_process_encode(&p, process);
	size_t n_announcement = stream_announcement_encode(&a, announcement);

	for (size_t n = 0; n < n_process; n++) {
		uint8_t *exact = guard_buf_create(process, n);

		CHECK(!stream_process_decode(exact, n, &p));
		guard_buf_destroy(exact, n);
	}
	for (size_t n = 0; n < n_announcement; n++) {
		uint8_t *exact = guard_buf_create(announcement, n);

		CHECK(!stream_announcement_decode(exact, n, &a));
		guard_buf_destroy(exact, n);
	}
}

TEST(an_announcement_of_a_stranger_is_refused)
{
	struct stream_announcement a = {.port = 8100, .name = "server"}, back;
	uint8_t buf[STREAM_ANNOUNCE_MAX];
	size_t len = stream_announcement_encode(&a, buf);

	buf[0] ^= 1; /* magic */
	CHECK(!stream_announcement_decode(buf, len, &back));
	buf[0] ^= 1;
	buf[8] ^= 1; /* version */
	CHECK(!stream_announcement_decode(buf, len, &back));
	buf[8] ^= 1;
	buf[38] = 1; /* port above 65535 */
	CHECK(!stream_announcement_decode(buf, len, &back));
	buf[38] = 0;
	buf[40] = STREAM_MAX_NAME; /* length of the name */
	CHECK(!stream_announcement_decode(buf, len, &back));
}
