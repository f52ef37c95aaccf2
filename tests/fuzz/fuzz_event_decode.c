/* Any bytes as the events of a block: decoding ends, stays inside, and keeps its promises. */
#include "harness/fuzz.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "format/event.h"

#define RUN_CALLS 7 /* small, so that runs end in the middle of something */
#define HEAD_BYTES 16 /* of the input: start values of the block */

static void check(bool ok)
{
	if (!ok)
		abort();
}

static bool is_same(const struct event_compact *a, const struct event_compact *b)
{
	return a->ticks == b->ticks && a->addr == b->addr && a->size_bytes == b->size_bytes &&
	       a->stack == b->stack && a->extra_bytes == b->extra_bytes && a->kind == b->kind &&
	       a->lane == b->lane;
}

/* Both ways to decode must tell the same: one by one, and plain calls in runs. */
static void check_runs(const struct block_header *h, const uint8_t *data, size_t len)
{
	struct event_decoder one, runs;
	struct event_compact call[RUN_CALLS], expected = {0};
	struct event_stack stack[RUN_CALLS];
	struct event ev, same;
	int r;

	event_decoder_init(&one, h, data, len);
	event_decoder_init(&runs, h, data, len);
	do {
		size_t n = event_decode_calls(&runs, call, RUN_CALLS);

		check(n <= RUN_CALLS);
		for (size_t i = 0; i < n; i++) {
			check(event_decode(&one, &ev) == 1 && ev.kind < EVENT_STACK);
			check(event_to_compact(&ev, 0, &expected));
			check(is_same(&call[i], &expected));
		}
		n = event_decode_stacks(&runs, stack, RUN_CALLS);
		for (size_t i = 0; i < n; i++) {
			check(event_decode(&one, &ev) == 1 && ev.kind == EVENT_STACK);
			check(ev.addr == stack[i].addr && ev.stack == stack[i].stack &&
			      ev.parent == stack[i].parent && ev.ticks == runs.ticks);
		}
		r = event_decode(&one, &ev);
		check(event_decode(&runs, &same) == r);
		check(r <= 0 || (ev.kind == same.kind && ev.ticks == same.ticks &&
				 ev.addr == same.addr && ev.stack == same.stack));
		check(one.in.pos == runs.in.pos && one.is_in_place == runs.is_in_place);
	} while (r > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	struct block_header h = {0};
	struct event_decoder d;
	struct event ev;
	size_t last = 0;
	bool is_second; /* of the two events that one record may be */
	int r;

	if (size_bytes < HEAD_BYTES)
		return 0;
	h.start_ticks = load_le64(data);
	h.first_stack = load_le32(data + 8);
	h.generation = load_le32(data + 12);
	if (h.first_stack == 0)
		h.first_stack = 1;
	event_decoder_init(&d, &h, data + HEAD_BYTES, size_bytes - HEAD_BYTES);
	while (is_second = d.is_in_place, (r = event_decode(&d, &ev)) > 0) {
		check((is_second ? d.in.pos == last : d.in.pos > last) && d.in.pos <= d.in.len);
		check(ev.kind != 0 && (ev.kind <= EVENT_STACK || ev.kind >= EVENT_RARE));
		check(ev.stack < d.next_stack && d.next_stack >= h.first_stack);
		if (ev.kind == EVENT_STACK || ev.kind == EVENT_STACK_END ||
		    ev.kind == EVENT_STACK_GUESS)
			check(ev.stack == d.next_stack - 1 && ev.parent < ev.stack);
		last = d.in.pos;
	}
	check(r == 0 ? d.in.pos == d.in.len : d.in.pos == last);
	check(event_decode(&d, &ev) == r);
	check_runs(&h, data + HEAD_BYTES, size_bytes - HEAD_BYTES);
	return 0;
}
