/* SYMBOLS payloads: worked bytes, round trips, cut and damaged ones. */
#include "harness/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "open/symbols_chunk.h"

struct seen {
	char text[4096];
	unsigned n_places;
};

static void put(struct seen *s, const char *text)
{
	strncat(s->text, text ? text : "-", sizeof(s->text) - strlen(s->text) - 1);
}

static int on_place(void *user, const struct symbols_location *p, struct err *err)
{
	struct seen *s = user;
	char buf[128];

	(void)err;
	s->n_places++;
	snprintf(buf, sizeof(buf), "%llu+%llx:", (unsigned long long)p->module_id,
		 (unsigned long long)p->offset);
	put(s, buf);
	for (size_t i = 0; i < p->n_frames; i++) {
		const struct symbol_frame *f = &p->frame[i];

		put(s, f->is_inline ? " i " : " ");
		put(s, f->function);
		put(s, "/");
		put(s, f->raw_function);
		snprintf(buf, sizeof(buf), "@%s:%u:%u", f->source ? f->source : "-", f->line,
			 f->column);
		put(s, buf);
	}
	put(s, "; ");
	return 0;
}

static int decode(const void *bytes, size_t len, struct seen *seen)
{
	unsigned char *guarded = guard_buf_create(bytes, len);
	struct err err = {0};
	int r;

	memset(seen, 0, sizeof(*seen));
	r = symbols_chunk_decode(guarded, len, on_place, seen, &err);
	guard_buf_destroy(guarded, len);
	return r;
}

static const struct symbol_frame frames[] = {
	{"inner(int)", "_Z5inneri", "/src/a.c", 10, 3, true},
	{"outer()", "_Z5outerv", "/src/a.c", 4000000000u, 0, false},
	{NULL, NULL, NULL, 0, 0, false},
};

static void fill(struct symbols_writer *w)
{
	const struct symbols_location location[] = {
		{1, 0x1000, frames, 2}, {1, 0x1004, frames + 1, 1}, {1, 0x20, frames + 2, 1},
		{3, 0x20, frames, 0},   {0, UINT64_MAX, frames, 2},
	};
	struct err err = {0};

	for (size_t i = 0; i < ARRAY_LEN(location); i++)
		CHECK_OK(symbols_writer_add(w, &location[i], &err));
}

#define WANT                                                                                       \
	"1+1000: i inner(int)/_Z5inneri@/src/a.c:10:3 outer()/_Z5outerv@/src/a.c:4000000000:0; "   \
	"1+1004: outer()/_Z5outerv@/src/a.c:4000000000:0; 1+20: -/-@-:0:0; 3+20:; "                \
	"0+ffffffffffffffff: i inner(int)/_Z5inneri@/src/a.c:10:3 "                                \
	"outer()/_Z5outerv@/src/a.c:4000000000:0; "

TEST(what_is_written_reads_the_same)
{
	struct symbols_writer w = {0};
	struct seen seen;

	fill(&w);
	CHECK_EQ(w.n_strings, 5); /* each text once */
	CHECK_OK(decode(w.data, w.len, &seen));
	CHECK_STR_EQ(seen.text, WANT);
	symbols_writer_clear(&w);
	fill(&w);
	CHECK_OK(decode(w.data, w.len, &seen));
	CHECK_STR_EQ(seen.text, WANT);
	symbols_writer_fini(&w);
}

TEST(worked_bytes)
{
	static const uint8_t bytes[] = {1,  2, 'f',  0, /* string 1 */
					2,  1, 5, /* module 5 */
					3,  8, 0x10, 1, 1, 1, 0, 7, 2, 0, /* a frame at 0x10 */
					77, 0, /* from the future */
					3,  2, 0x10, 0}; /* none at 0x20 */
	struct seen seen;

	CHECK_OK(decode(bytes, sizeof(bytes), &seen));
	CHECK_STR_EQ(seen.text, "5+10: f/f@-:7:2; 5+20:; ");
}

TEST(cut_and_senseless_payloads_are_errors)
{
	static const uint8_t no_end[] = {1, 1, 'f'};
	static const uint8_t two_ends[] = {1, 3, 'f', 0, 0};
	static const uint8_t empty[] = {1, 0};
	static const uint8_t no_string[] = {3, 8, 0, 1, 1, 0, 0, 0, 0, 0};
	static const uint8_t many_frames[] = {3, 6, 0, 0xff, 0xff, 0xff, 0xff, 0x0f};
	struct symbols_writer w = {0};
	struct seen seen;

	CHECK_ERR(decode(no_end, sizeof(no_end), &seen), ERR_FORMAT);
	CHECK_ERR(decode(two_ends, sizeof(two_ends), &seen), ERR_FORMAT);
	CHECK_ERR(decode(empty, sizeof(empty), &seen), ERR_FORMAT);
	CHECK_ERR(decode(no_string, sizeof(no_string), &seen), ERR_FORMAT);
	CHECK_ERR(decode(many_frames, sizeof(many_frames), &seen), ERR_FORMAT);
	fill(&w);
	for (size_t len = 0; len < w.len; len++) {
		int r = decode(w.data, len, &seen);

		CHECK(r == 0 || r == -ERR_FORMAT);
		CHECK(strncmp(seen.text, WANT, strlen(seen.text)) == 0);
	}
	symbols_writer_fini(&w);
}

TEST(many_texts_and_places)
{
	enum {
		N = 20000
	};
	struct symbols_writer w = {0};
	struct err err = {0};
	struct seen seen;

	for (unsigned i = 0; i < N; i++) {
		char function[32];
		struct symbol_frame f = {.function = function};
		const struct symbols_location p = {1, i * 7, &f, 1};

		snprintf(function, sizeof(function), "f%u", i % 5000);
		CHECK_OK(symbols_writer_add(&w, &p, &err));
	}
	CHECK_EQ(w.n_strings, 5000);
	CHECK_OK(decode(w.data, w.len, &seen));
	CHECK_EQ(seen.n_places, N);
	symbols_writer_fini(&w);
}
