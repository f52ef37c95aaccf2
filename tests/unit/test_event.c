/* Events: bytes of every kind as docs/FORMAT.md section 5 defines them, there and back. */
#include "harness/random.h"
#include "harness/test.h"

#include <string.h>

#include "format/event_encode.h"

#define START_TICKS 1000u
#define FIRST_STACK 5u

static const struct block_header header = {
	.start_ticks = START_TICKS, .first_stack = FIRST_STACK, .generation = 3};

/* Decodes the bytes, which must be exactly one event, from a buffer that ends at a guard page. */
static struct event decode_one(const void *bytes, size_t len)
{
	unsigned char *buf = guard_buf_create(bytes, len);
	struct event_decoder d;
	struct event ev = {0};

	event_decoder_init(&d, &header, buf, len);
	CHECK_EQ(event_decode(&d, &ev), 1);
	CHECK_EQ(event_decode(&d, &ev), 0);
	guard_buf_destroy(buf, len);
	return ev;
}
#define DECODE(...)                                                                                \
	decode_one((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static bool is_refused(const void *bytes, size_t len)
{
	unsigned char *buf = guard_buf_create(bytes, len);
	struct event_decoder d;
	struct event ev = {.kind = 77};
	int r;

	event_decoder_init(&d, &header, buf, len);
	r = event_decode(&d, &ev);
	CHECK(r != -1 || (ev.kind == 77 && d.in.pos == 0));
	CHECK(r != -1 || event_decode(&d, &ev) == -1); /* and stays refused */
	guard_buf_destroy(buf, len);
	return r == -1;
}
#define REFUSED(...)                                                                               \
	is_refused((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static uint8_t out[4096];

static struct event_encoder encoder(void)
{
	struct event_encoder e = {.next_stack = FIRST_STACK};

	event_encoder_begin(&e, out, out + sizeof(out), START_TICKS);
	return e;
}

/* What was encoded is exactly these bytes. */
static void check_bytes(const struct event_encoder *e, const void *bytes, size_t len)
{
	CHECK_EQ(e->pos - out, len);
	CHECK_MEM_EQ(out, bytes, len);
}
#define CHECK_BYTES(e, ...)                                                                        \
	check_bytes(e, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

TEST(malloc_is_head_time_address_size_stack)
{
	struct event_encoder e = encoder();
	struct event_call c = {
		.ticks = START_TICKS + 0x0201, .addr = 0x70 << 4, .size_bytes = 40, .stack = 3};
	struct event ev;

	event_put_call(&e, EVENT_MALLOC, &c);
	/* head: kind 1, 2 bytes of time, 1 of A, 1 of B, 1 of C */
	CHECK_BYTES(&e, 0x21, 0x49, 0x01, 0x02, 0x70, 40, 3);
	ev = DECODE(0x21, 0x49, 0x01, 0x02, 0x70, 40, 3);
	CHECK_EQ(ev.kind, EVENT_MALLOC);
	CHECK_EQ(ev.ticks, START_TICKS + 0x0201);
	CHECK_EQ(ev.addr, 0x700);
	CHECK_EQ(ev.size_bytes, 40);
	CHECK_EQ(ev.usable_extra_bytes, 0);
	CHECK_EQ(ev.stack, 3);
	CHECK_EQ(ev.alignment, 0);
}

TEST(every_frequent_kind_has_its_number)
{
	CHECK_EQ(DECODE(0x02, 0x00).kind, EVENT_CALLOC);
	CHECK_EQ(DECODE(0x03, 0x00).kind, EVENT_ALIGNED);
	CHECK_EQ(DECODE(0x04, 0x00).kind, EVENT_REALLOC_BEGIN);
	CHECK_EQ(DECODE(0x05, 0x00).kind, EVENT_REALLOC_END);
	CHECK_EQ(DECODE(0x06, 0x00).kind, EVENT_FREE);
	CHECK_EQ(DECODE(0x06, 0x00).ticks, START_TICKS);
}

TEST(usable_bytes_are_glibcs_unless_recorded)
{
	CHECK_EQ(DECODE(0x01, 0x08, 1).usable_extra_bytes, 23);
	CHECK_EQ(DECODE(0x01, 0x08, 24).usable_extra_bytes, 0);
	CHECK_EQ(DECODE(0x01, 0x08, 25).usable_extra_bytes, 15);
	CHECK_EQ(DECODE(0x09, 0x08, 25, 0x02, 7).usable_extra_bytes, 7);
	CHECK_EQ(event_usual_usable(0), 24);
	CHECK_EQ(event_usual_usable(40), 40);
}

TEST(extras_are_unaligned_usable_alignment_in_this_order)
{
	struct event_encoder e = encoder();
	struct event_call c = {
		.ticks = START_TICKS,
		.addr = 0x1238,
		.size_bytes = 100,
		.usable_extra_bytes = 300,
		.alignment = 8,
		.extras = EVENT_EXTRA_USABLE | EVENT_EXTRA_ALIGNMENT,
	};
	struct event ev;

	event_put_call(&e, EVENT_ALIGNED, &c);
	CHECK_BYTES(&e, 0x0b, 0x0a, 0x38, 0x12, 100, 0x07, 0xac, 0x02, 8);
	ev = DECODE(0x0b, 0x0a, 0x38, 0x12, 100, 0x07, 0xac, 0x02, 8);
	CHECK_EQ(ev.addr, 0x1238);
	CHECK_EQ(ev.usable_extra_bytes, 300);
	CHECK_EQ(ev.alignment, 8);
	CHECK(REFUSED(0x0b, 0x00, 0x08)); /* a bit that is not defined */
}

TEST(address_and_stack_are_differences_to_the_event_before)
{
	static const uint8_t bytes[] = {
		0x01, 0x41, 0x10, 2, /* obtained: address 0x100, stack 2 */
		0x06, 0xc1, 0x20, 0x01, 0x00, 0x00, 0x00, /* released: 0x200, stack 1 in 4 bytes */
		0x05, 0x41, 0xff, 0x01, /* obtained: one unit below 0x100, stack 3 */
		0x04, 0x00, /* released: 0x200 again */
	};
	static const uint64_t addr[] = {0x100, 0x200, 0xf0, 0x200};
	static const uint32_t stack[] = {2, 1, 3, 1};
	unsigned char *buf = guard_buf_create(bytes, sizeof(bytes));
	struct event_decoder d;
	struct event ev;

	event_decoder_init(&d, &header, buf, sizeof(bytes));
	for (size_t i = 0; i < ARRAY_LEN(addr); i++) {
		CHECK_EQ(event_decode(&d, &ev), 1);
		CHECK_EQ(ev.addr, addr[i]);
		CHECK_EQ(ev.stack, stack[i]);
	}
	CHECK_EQ(event_decode(&d, &ev), 0);
	guard_buf_destroy(buf, sizeof(bytes));
}

TEST(short_form_is_head_time_address_size_stack)
{
	struct event_encoder e = encoder();
	struct event_call c = {
		.ticks = START_TICKS + 9, .addr = 0x700, .size_bytes = 40, .stack = 3};
	struct event ev;

	CHECK(event_put_short(&e, EVENT_MALLOC, &c));
	CHECK_BYTES(&e, 0x08, 9, 0x70, 0x00, 0x00, 0x80, 40,
		    3); /* address + 2^35, in units of 16 */
	ev = DECODE(0x08, 9, 0x70, 0x00, 0x00, 0x80, 40, 3);
	CHECK_EQ(ev.kind, EVENT_MALLOC);
	CHECK_EQ(ev.ticks, START_TICKS + 9);
	CHECK_EQ(ev.addr, 0x700);
	CHECK_EQ(ev.size_bytes, 40);
	CHECK_EQ(ev.usable_extra_bytes, 0);
	CHECK_EQ(ev.stack, 3);
	e = encoder();
	c.size_bytes = 0;
	CHECK(event_put_short(&e, EVENT_FREE, &c));
	CHECK_BYTES(&e, 0x30, 9, 0x70, 0x00, 0x00, 0x80, 3);
	CHECK_EQ(DECODE(0x30, 9, 0x70, 0x00, 0x00, 0x80, 3).kind, EVENT_FREE);
	CHECK_EQ(DECODE(0x30, 9, 0x70, 0x00, 0x00, 0x80, 3).addr, 0x700);
	e = encoder();
	c.size_bytes = 0x1234; /* needs two bytes, so the stack has two as well */
	CHECK(event_put_short(&e, EVENT_CALLOC, &c));
	CHECK_BYTES(&e, 0x50, 9, 0x70, 0x00, 0x00, 0x80, 0x34, 0x12, 3, 0);
	ev = DECODE(0x50, 9, 0x70, 0x00, 0x00, 0x80, 0x34, 0x12, 3, 0);
	CHECK_EQ(ev.size_bytes, 0x1234);
	CHECK_EQ(ev.addr, 0x700);
	CHECK(REFUSED(0x00, 9, 0x70, 0x00, 0x00, 0x80, 40, 3)); /* no kind */
	CHECK(REFUSED(0x08, 9, 0x70, 0x00, 0x00, 0x80, 40)); /* no stack */
	CHECK(REFUSED(0x08, 9, 0x70, 0x00, 0x00, 0x80, 40, 5)); /* one that was not defined */
	CHECK(REFUSED(0x08, 9, 0x70, 0x00, 0x00, 0x80, 40, 0xff));
}

/* An address that the lane named before is encoded by its slot. */
TEST(short_form_of_a_known_address_names_its_place)
{
	static const uint64_t other_addr = 0x700 + 16 * EVENT_N_RECENT;
	struct event_encoder e = encoder();
	struct event_call c = {.ticks = START_TICKS, .addr = 0x700, .size_bytes = 40, .stack = 3};
	struct event_decoder d;
	struct event ev;
	static const uint64_t addr[] = {0x700,      0x700, 0x700, 0x700,
					other_addr, 0x700, 0x708, 0x708};
	size_t n = 0;

	CHECK(event_put_short(&e, EVENT_MALLOC, &c));
	e.pos = out; /* look at the next one alone */
	c.size_bytes = 0;
	CHECK(event_put_short(&e, EVENT_FREE, &c));
	CHECK_BYTES(&e, 0xb0, 0, 0x70, 3);
	e.pos = out;
	c.size_bytes = 0x1234;
	CHECK(event_put_short(&e, EVENT_CALLOC, &c));
	CHECK_BYTES(&e, 0xd0, 0, 0x70, 0x34, 0x12, 0, 0);

	e = encoder();
	c.size_bytes = 40;
	event_put_call(&e, EVENT_MALLOC, &c);
	event_put_call(&e, EVENT_REALLOC_BEGIN, &c);
	event_put_call(&e, EVENT_REALLOC_END, &c);
	event_put_call(&e, EVENT_FREE, &c);
	c.addr = other_addr; /* the same place */
	event_put_call(&e, EVENT_MALLOC, &c);
	c.addr = 0x700;
	event_put_call(&e, EVENT_MALLOC, &c);
	c.addr = 0x708; /* the same place, and only the long form can name it */
	event_put_call(&e, EVENT_MALLOC, &c);
	event_put_call(&e, EVENT_FREE, &c);
	event_decoder_init(&d, &header, out, (size_t)(e.pos - out));
	while (event_decode(&d, &ev) > 0)
		CHECK_EQ(ev.addr, addr[n++]);
	CHECK(!d.in.failed);
	CHECK_EQ(n, ARRAY_LEN(addr));
	CHECK(REFUSED(0xb0, 0, 0x70, 3)); /* nothing was there yet */
	CHECK_EQ(DECODE(0xb0, 0, 0x00, 3).addr, 0);
}

/* What does not fit is left to the long form, and nothing changes. */
TEST(short_form_holds_what_fits_only)
{
	static const struct {
		struct event_call call;
		bool fits;
	} tried[] = {
		{{.ticks = START_TICKS + 255}, true},
		{{.ticks = START_TICKS + 256}, false},
		{{.ticks = START_TICKS - 1}, false},
		{{.ticks = START_TICKS, .addr = (1ull << 35) - 16}, true},
		{{.ticks = START_TICKS, .addr = 1ull << 35}, false},
		{{.ticks = START_TICKS, .addr = 0 - (1ull << 35)}, true},
		{{.ticks = START_TICKS, .addr = 0 - (1ull << 35) - 16}, false},
		{{.ticks = START_TICKS, .addr = 8}, false},
		{{.ticks = START_TICKS, .size_bytes = 0xffff}, true},
		{{.ticks = START_TICKS, .size_bytes = 0x10000}, false},
		{{.ticks = START_TICKS, .size_bytes = UINT64_MAX}, false},
		{{.ticks = START_TICKS, .stack = 4}, true},
		{{.ticks = START_TICKS, .stack = 0x7fff}, true},
		{{.ticks = START_TICKS, .stack = 0x8000}, false},
		{{.ticks = START_TICKS, .extras = EVENT_EXTRA_USABLE}, false},
	};

	for (size_t i = 0; i < ARRAY_LEN(tried); i++) {
		struct event_encoder e = encoder();
		struct event ev;

		CHECK_EQ(event_put_short(&e, EVENT_MALLOC, &tried[i].call), tried[i].fits);
		CHECK(tried[i].fits || (e.pos == out && e.ticks == START_TICKS));
		if (!tried[i].fits || tried[i].call.stack >= FIRST_STACK)
			continue;
		ev = decode_one(out, (size_t)(e.pos - out));
		CHECK_EQ(ev.addr, tried[i].call.addr);
		CHECK_EQ(ev.size_bytes, tried[i].call.size_bytes);
		CHECK_EQ(ev.ticks, tried[i].call.ticks);
		CHECK_EQ(ev.stack, tried[i].call.stack);
	}
}

/* One record, of which the first byte was changed later, is a begin and an end. */
TEST(realloc_in_place_is_decoded_as_two_events)
{
	struct event_encoder e = encoder();
	struct event_call c = {
		.ticks = START_TICKS + 2, .addr = 0x500, .size_bytes = 100, .stack = 2};
	struct event_decoder d;
	struct event ev;

	CHECK(event_put_short(&e, EVENT_REALLOC_BEGIN, &c));
	ev = decode_one(out, (size_t)(e.pos - out));
	CHECK_EQ(ev.kind, EVENT_REALLOC_BEGIN); /* so far it may yet move */
	CHECK_EQ(ev.size_bytes, 0);
	event_make_in_place(out);
	c.addr = 0x900;
	CHECK(event_put_short(&e, EVENT_MALLOC, &c));
	event_decoder_init(&d, &header, out, (size_t)(e.pos - out));
	CHECK_EQ(event_decode(&d, &ev), 1);
	CHECK_EQ(ev.kind, EVENT_REALLOC_BEGIN);
	CHECK_EQ(ev.addr, 0x500);
	CHECK_EQ(ev.size_bytes, 0);
	CHECK_EQ(ev.stack, 2);
	CHECK_EQ(event_decode(&d, &ev), 1);
	CHECK_EQ(ev.kind, EVENT_REALLOC_END);
	CHECK_EQ(ev.addr, 0x500);
	CHECK_EQ(ev.size_bytes, 100);
	CHECK_EQ(ev.usable_extra_bytes, 4);
	CHECK_EQ(ev.ticks, START_TICKS + 2);
	CHECK_EQ(ev.stack, 2);
	CHECK_EQ(event_decode(&d, &ev), 1);
	CHECK_EQ(ev.kind, EVENT_MALLOC);
	CHECK_EQ(ev.addr, 0x900);
	CHECK_EQ(event_decode(&d, &ev), 0);
}

TEST(stack_defines_the_next_id)
{
	struct event_encoder e = encoder();
	struct event ev;

	CHECK_EQ(event_put_stack(&e, 0x4321, 2), FIRST_STACK);
	CHECK_EQ(e.next_stack, FIRST_STACK + 1);
	CHECK_BYTES(&e, 0x07, 0x0a, 0x21, 0x43, 2); /* 5 - 1 - 2 */
	ev = DECODE(0x07, 0x0a, 0x21, 0x43, 2);
	CHECK_EQ(ev.kind, EVENT_STACK);
	CHECK_EQ(ev.addr, 0x4321);
	CHECK_EQ(ev.stack, FIRST_STACK);
	CHECK_EQ(ev.parent, 2);
	CHECK_EQ(DECODE(0x07, 0x00).parent, FIRST_STACK - 1);
	CHECK_EQ(DECODE(0x07, 0x08, 4).parent, 0);
	CHECK(REFUSED(0x07, 0x08, 5)); /* parent below 0 */
	CHECK(REFUSED(0x17, 0x00, 1)); /* a stack has no time */
	CHECK(REFUSED(0x0f, 0x00, 0)); /* and no extras */
}

TEST(stack_end_and_guess_define_the_next_id)
{
	struct event_encoder e = encoder();
	struct event ev;

	CHECK_EQ(event_put_stack_end(&e, STACK_END_NOT_CODE), FIRST_STACK);
	CHECK_BYTES(&e, 0x85, 2, 0, 4);
	ev = DECODE(0x85, 2, 0, 4);
	CHECK_EQ(ev.kind, EVENT_STACK_END);
	CHECK_EQ(ev.stack, FIRST_STACK);
	CHECK_EQ(ev.parent, 0);
	CHECK_EQ(ev.field[0], STACK_END_NOT_CODE);
	e = encoder();
	CHECK_EQ(event_put_stack_guess(&e, 3), FIRST_STACK);
	CHECK_BYTES(&e, 0x86, 2, 0, 1);
	ev = DECODE(0x86, 2, 0, 1);
	CHECK_EQ(ev.kind, EVENT_STACK_GUESS);
	CHECK_EQ(ev.stack, FIRST_STACK);
	CHECK_EQ(ev.parent, 3);
	CHECK(REFUSED(0x86, 2, 0, 5));
}

TEST(time_may_go_back)
{
	struct event_encoder e = encoder();
	struct event_call c = {.ticks = START_TICKS - 3, .addr = 0x10, .size_bytes = 1};

	event_put_call(&e, EVENT_MALLOC, &c);
	CHECK_BYTES(&e, 0x81, 1, 5, 0x01, 0x09, 1, 1); /* TIME with zigzag(-3), then no time */
	CHECK_EQ(DECODE(0x81, 1, 5).ticks, START_TICKS - 3);
}

/* Every rare kind with fields: what the encoder writes is what the decoder gives. */
static void check_rare(unsigned kind, const uint64_t *field, unsigned n, const uint64_t *expected)
{
	struct event_encoder e = encoder();
	struct event ev;

	event_put_rare(&e, kind, START_TICKS + 7, field, n);
	CHECK(e.pos - out <= EVENT_MAX_BYTES);
	CHECK_EQ(out[0], kind);
	ev = decode_one(out, (size_t)(e.pos - out));
	CHECK_EQ(ev.kind, kind);
	CHECK_EQ(ev.ticks, START_TICKS + 7);
	for (unsigned i = 0; i < n; i++)
		CHECK_EQ(ev.field[i], expected[i]);
}

TEST(rare_kinds_keep_their_fields)
{
	static const uint64_t plain[EVENT_MAX_FIELDS] = {UINT64_MAX, 2, 3, 4, 0, 0, 0};
	static const uint8_t simple[] = {
		EVENT_TIME,          EVENT_REALLOC_CANCEL,
		EVENT_REALLOC_FREED, EVENT_REALLOC_UNTRACKED,
		EVENT_MARKER,        EVENT_TIMESTAMP_OVERRIDE,
		EVENT_LOST,          EVENT_SWITCH,
		EVENT_PROCESS_END,   EVENT_EXEC_FAILED,
		EVENT_FORK,          EVENT_GENERATION,
		EVENT_MUNMAP,        EVENT_BRK,
		EVENT_MALLOC_TRIM,
	};

	for (size_t i = 0; i < ARRAY_LEN(simple); i++)
		check_rare(simple[i], plain, simple[i] == EVENT_MALLOC_TRIM ? 3 : 2, plain);
}

TEST(signed_fields_of_rare_kinds_are_zigzag)
{
	const uint64_t mmap_in[] = {0x7f0000000000, 4096, 3, 34, zigzag(-1), 0, 4};
	const uint64_t mmap_out[] = {0x7f0000000000, 4096, 3, 34, (uint64_t)-1, 0, 4};
	const uint64_t opt_in[] = {zigzag(-3), zigzag(-5), zigzag(1), 2};
	const uint64_t opt_out[] = {(uint64_t)-3, (uint64_t)-5, 1, 2};
	const uint64_t mremap[] = {1, 2, 3, 4, 5, 1};

	check_rare(EVENT_MMAP, mmap_in, 7, mmap_out);
	check_rare(EVENT_MALLOPT, opt_in, 4, opt_out);
	check_rare(EVENT_MREMAP, mremap, 6, mremap);
}

TEST(rare_kinds_that_name_a_stack_give_it)
{
	CHECK_EQ(DECODE(0x95, 8, 0, 1, 2, 3, 4, 0, 0, 4).stack, 4);
	CHECK_EQ(DECODE(0x89, 4, 0, 1, 2, 4).stack, 4);
	CHECK_EQ(DECODE(0x8a, 7, 0, 1, 2, 3, 4, 5, 4).stack, 4);
	CHECK_EQ(DECODE(0x8b, 4, 0, 1, 2, 4).stack, 4);
	CHECK_EQ(DECODE(0x8c, 5, 0, 1, 2, 3, 4).stack, 4);
	CHECK_EQ(DECODE(0x8d, 4, 0, 1, 2, 4).stack, 4);
	CHECK(REFUSED(0x89, 4, 0, 1, 2, 5)); /* not defined yet */
}

TEST(worked_bytes_of_rare_kinds)
{
	CHECK_EQ(DECODE(0x8e, 3, 2, 0x80, 0x01).field[0], 128); /* MARKER 128, one tick later */
	CHECK_EQ(DECODE(0x8e, 3, 2, 0x80, 0x01).ticks, START_TICKS + 1);
	CHECK_EQ(DECODE(0x96, 2, 0, 9).field[0], 9); /* LOST */
	CHECK_EQ(DECODE(0x92, 3, 0, 2, 17).field[1], 17); /* PROCESS_END _exit(17) */
	CHECK_EQ(DECODE(0x87, 2, 0, 6).field[0], 6); /* GENERATION */
}

TEST(calls_are_about_the_allocator_that_was_named_last)
{
	struct event_encoder e = encoder();
	struct event_call call = {.ticks = START_TICKS, .addr = 0x1000, .size_bytes = 10};
	struct event_compact run[4];
	struct event_decoder d;
	struct event ev;

	event_put_call(&e, EVENT_MALLOC, &call);
	event_put_allocator(&e, 31);
	event_put_call(&e, EVENT_FREE, &call);
	call.size_bytes = 1 << 20; /* the long form */
	event_put_call(&e, EVENT_MALLOC, &call);
	event_put_allocator(&e, 0);
	event_put_call(&e, EVENT_MALLOC, &call);
	memset(e.pos, 0, 64); /* room for the fast decoder to look ahead */
	event_decoder_init(&d, &header, out, (size_t)(e.pos - out) + 64);
	CHECK_EQ(event_decode_calls(&d, run, ARRAY_LEN(run)), 1u);
	CHECK_EQ(event_compact_allocator(&run[0]), 0u);
	CHECK_EQ(event_decode(&d, &ev), 1);
	CHECK_EQ(ev.kind, EVENT_ALLOCATOR);
	CHECK_EQ(event_decode_calls(&d, run, ARRAY_LEN(run)), 2u);
	CHECK_EQ(event_compact_allocator(&run[0]), 31u);
	CHECK_EQ(event_compact_allocator(&run[1]), 31u);
	CHECK_EQ(event_decode(&d, &ev), 1);
	CHECK_EQ(event_decode(&d, &ev), 1);
	CHECK_EQ(ev.allocator, 0u);
	event_encoder_begin(&e, out, out + sizeof(out), START_TICKS);
	CHECK_EQ(e.allocator, 0u); /* a block begins anew */
	CHECK(REFUSED(0x99, 2, 0, 32)); /* there are no more numbers */
}

TEST(unknown_rare_kinds_are_given_and_skipped_by_their_length)
{
	struct event ev = DECODE(0xff, 4, 2, 1, 2, 3);

	CHECK_EQ(ev.kind, 0xff);
	CHECK_EQ(ev.ticks, START_TICKS + 1);
	CHECK(REFUSED(0xfe, 0)); /* the time is not optional */
}

TEST(more_fields_than_known_are_ignored)
{
	CHECK_EQ(DECODE(0x8e, 11, 0, 7, 1, 1, 1, 1, 1, 1, 1, 1, 1).field[0], 7);
}

TEST(malformed_bytes_are_refused)
{
	CHECK(REFUSED(0x00, 0x00)); /* kind 0 */
	CHECK(REFUSED(0x01)); /* half a head */
	CHECK(REFUSED(0x11, 0x00)); /* time missing */
	CHECK(REFUSED(0x01, 0x49, 1, 2)); /* stack missing */
	CHECK(REFUSED(0x01, 0x40, 5)); /* stack 5 is the next one, not defined */
	CHECK(REFUSED(0x01, 0x40, 0xff)); /* stack -1 */
	CHECK(REFUSED(0x8e)); /* no length */
	CHECK(REFUSED(0x8e, 2, 0)); /* shorter than its length */
	CHECK(REFUSED(0x8e, 1, 0x80)); /* a number that does not end in its payload */
	CHECK(REFUSED(0x8e, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02));
}

TEST(id_numbers_do_not_wrap)
{
	const struct block_header last = {.first_stack = UINT32_MAX};
	static const uint8_t bytes[] = {0x07, 0x00};
	struct event_decoder d;
	struct event ev;

	event_decoder_init(&d, &last, bytes, sizeof(bytes));
	CHECK_EQ(event_decode(&d, &ev), -1);
}

TEST(a_cut_at_any_byte_is_refused_and_read_no_further)
{
	struct event_encoder e = encoder();
	struct event_call c = {
		.ticks = START_TICKS + 0x123456789abcdeull,
		.addr = 0x7fffdeadbee7,
		.size_bytes = UINT64_MAX,
		.alignment = 1ull << 63,
		.usable_extra_bytes = UINT64_MAX,
		.extras = EVENT_EXTRA_USABLE | EVENT_EXTRA_ALIGNMENT,
		.stack = 4,
	};
	size_t len;

	event_put_call(&e, EVENT_ALIGNED, &c);
	len = (size_t)(e.pos - out);
	CHECK(len <= EVENT_MAX_BYTES);
	for (size_t cut = 1; cut < len; cut++)
		CHECK(is_refused(out, cut));
	CHECK(!is_refused(out, len));
	CHECK_EQ(decode_one(out, len).size_bytes, UINT64_MAX);
}

TEST(calls_survive_encoding_and_decoding)
{
	static const uint64_t value[] = {0,          1,          15,         16,         127,
					 128,        255,        256,        32767,      65535,
					 1ull << 24, 1ull << 31, 1ull << 32, 1ull << 47, 1ull << 56,
					 1ull << 63, UINT64_MAX};
	struct event_encoder e;
	struct event_call c = {.ticks = START_TICKS};
	struct event ev;

	for (size_t i = 0; i < ARRAY_LEN(value) * ARRAY_LEN(value); i++) {
		c.addr = value[i % ARRAY_LEN(value)];
		c.size_bytes = value[i / ARRAY_LEN(value)];
		c.ticks = START_TICKS + value[i % 14];
		c.stack = (uint32_t)(i % FIRST_STACK);
		e = encoder();
		event_put_call(&e, EVENT_REALLOC_END, &c);
		ev = decode_one(out, (size_t)(e.pos - out));
		CHECK_EQ(ev.addr, c.addr);
		CHECK_EQ(ev.size_bytes, c.size_bytes);
		CHECK_EQ(ev.ticks, c.ticks);
		CHECK_EQ(ev.stack, c.stack);
	}
}

TEST(only_calls_of_the_program_are_calls)
{
	CHECK(event_is_call(EVENT_MALLOC) && event_is_call(EVENT_FREE) &&
	      event_is_call(EVENT_MMAP));
	CHECK(event_is_call(EVENT_REALLOC_BEGIN));
	CHECK(!event_is_call(EVENT_REALLOC_END) && !event_is_call(EVENT_STACK));
	CHECK(!event_is_call(EVENT_MARKER) && !event_is_call(0xff));
}

/* What the decoder gives for any bytes; what it refuses is passed over by a byte. is_fast: let it see
 * all that is left, else no more than 39 bytes, which are enough for any frequent event but not for
 * the fast way. */
static size_t decode_stream(const uint8_t *bytes, size_t len, bool is_fast, struct event *ev,
			    size_t max)
{
	struct event_decoder d;
	size_t n = 0;

	event_decoder_init(&d, &header, bytes, len);
	d.next_stack = 1u << 30; /* nearly every difference leads to a stack that may be */
	d.stack[0] = d.stack[1] = 1u << 29;
	while (n < max && d.in.pos < len) {
		bool is_rare = bytes[d.in.pos] & 0x80 && bytes[d.in.pos] & 7;
		size_t window = is_fast && !is_rare ? len : 39;

		d.in.len = len - d.in.pos < window ? len : d.in.pos + window;
		memset(&ev[n], 0, sizeof(ev[n]));
		if (event_decode(&d, &ev[n]) > 0) {
			n++;
			continue;
		}
		d.in.failed = false;
		d.in.pos++;
	}
	return n;
}

TEST(the_fast_way_gives_what_the_careful_one_gives)
{
	static uint8_t bytes[4096];
	static struct event fast[4096], careful[4096];
	uint64_t state = RANDOM_SEED;
	size_t n_all = 0;

	for (unsigned round = 0; round < 300; round++) {
		size_t n;

		for (size_t i = 0; i < sizeof(bytes); i++) {
			uint64_t random = random_next(&state);

			bytes[i] = (uint8_t)(random >> 20);
			if (random % 32) /* few rare events */
				bytes[i] &= 0x7f;
			if (random % 3 == 0) /* many short forms, half of them of known addresses */
				bytes[i] = (bytes[i] & 0x78) | (random & 0x80);
		}
		n = decode_stream(bytes, sizeof(bytes), false, careful, ARRAY_LEN(careful));
		n_all += n;
		CHECK_EQ(decode_stream(bytes, sizeof(bytes), true, fast, ARRAY_LEN(fast)), n);
		CHECK_MEM_EQ(fast, careful, n * sizeof(*fast));
	}
	CHECK(n_all > 20000);
}
