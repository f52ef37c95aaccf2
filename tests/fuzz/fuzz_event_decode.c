/* Any bytes as the events of a block: decoding ends, stays inside, and keeps its promises. */
#include "harness/fuzz.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "format/event.h"

#define HEAD_BYTES 16 /* of the input: start values of the block */

static void check(bool ok)
{
	if (!ok)
		abort();
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
	return 0;
}
