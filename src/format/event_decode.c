/* format/event_decode.c - bytes to events. Trusts nothing: every length is checked, and a stack
 * that an event names must have been possible to define before it.
 */
#include "format/event.h"

#include "base/varint.h"

void event_decoder_init(struct event_decoder *d, const struct block_header *h, const uint8_t *data,
			size_t len)
{
	*d = (struct event_decoder){
		.in = cursor_make(data, len),
		.ticks = h->start_ticks,
		.next_stack = h->first_stack,
		.generation = h->generation,
	};
}

static uint64_t take_unsigned(struct cursor *c, unsigned n_bytes)
{
	const uint8_t *p = cursor_take(c, n_bytes);
	uint64_t value = 0;

	for (unsigned i = 0; p && i < n_bytes; i++)
		value |= (uint64_t)p[i] << (8 * i);
	return value;
}

static int64_t take_signed(struct cursor *c, unsigned n_bytes)
{
	uint64_t value = take_unsigned(c, n_bytes);
	unsigned unused = 64 - 8 * n_bytes;

	if (n_bytes == 0)
		return 0;
	return (int64_t)(value << unused) >> unused;
}

static void decode_extras(struct cursor *c, struct event *ev, unsigned *bits)
{
	*bits = cursor_u8(c);
	if (*bits & ~7u)
		c->failed = true; /* a bit whose bytes we could not skip */
	if (*bits & EVENT_EXTRA_USABLE)
		ev->usable_extra_bytes = cursor_uleb(c);
	if (*bits & EVENT_EXTRA_ALIGNMENT)
		ev->alignment = cursor_uleb(c);
}

/* Ids grow by one with each definition; 32 bits of them is a limit of the format. */
static void define_stack(struct event_decoder *d, struct event *ev, uint64_t distance)
{
	if (d->next_stack == 0 || distance >= d->next_stack || d->next_stack == UINT32_MAX) {
		d->in.failed = true;
		return;
	}
	ev->stack = d->next_stack++;
	ev->parent = ev->stack - 1 - (uint32_t)distance;
}

/* What all forms of calls have in common: differences become values. */
static void finish_call(struct event_decoder *d, struct event *ev, uint64_t a, int64_t s)
{
	uint64_t *base = &d->addr[event_is_release(ev->kind)];
	uint32_t *stack = &d->stack[event_is_release(ev->kind)];

	s += *stack;
	if (s < 0 || s >= d->next_stack)
		d->in.failed = true;
	*base += a;
	*stack = (uint32_t)s;
	ev->ticks = d->ticks;
	ev->addr = *base;
	ev->stack = *stack;
}

static void decode_short(struct event_decoder *d, struct event *ev, unsigned head)
{
	struct cursor *c = &d->in;
	unsigned kind = head >> 3 & 7;
	bool is_wide = head & 0x40;
	uint64_t delta_ticks = take_unsigned(c, 1);
	uint64_t a = take_unsigned(c, EVENT_SHORT_ADDR_BYTES(kind)) << 4;
	uint64_t size_bytes = kind == EVENT_FREE ? 0 : take_unsigned(c, 1 + is_wide);
	int64_t stack = take_signed(c, 1 + is_wide);

	if (kind == 0)
		c->failed = true;
	d->is_in_place = kind == EVENT_SHORT_IN_PLACE;
	d->in_place_bytes = (uint32_t)size_bytes;
	ev->kind = d->is_in_place ? EVENT_REALLOC_BEGIN : (uint8_t)kind;
	d->ticks += delta_ticks;
	finish_call(d, ev, a - EVENT_SHORT_ADDR_BIAS(kind), stack);
	ev->size_bytes = event_is_release(ev->kind) ? 0 : size_bytes;
	ev->usable_extra_bytes = event_usual_usable(ev->size_bytes) - ev->size_bytes;
}

/* The second event of a realloc in place: the block is back where it was, at the same time. */
static void decode_second_half(struct event_decoder *d, struct event *ev)
{
	*ev = (struct event){
		.kind = EVENT_REALLOC_END,
		.ticks = d->ticks,
		.addr = d->addr[1],
		.size_bytes = d->in_place_bytes,
		.usable_extra_bytes = event_usual_usable(d->in_place_bytes) - d->in_place_bytes,
		.stack = d->stack[1],
	};
	d->is_in_place = false;
}

static void decode_frequent(struct event_decoder *d, struct event *ev, unsigned head)
{
	static const uint8_t width8[8] = {0, 1, 2, 3, 4, 5, 6, 8};
	static const uint8_t width4[4] = {0, 1, 2, 4};
	struct cursor *c = &d->in;
	uint64_t delta_ticks = take_unsigned(c, head >> 4 & 7);
	int64_t a = take_signed(c, width8[head >> 8 & 7]);
	uint64_t b = take_unsigned(c, width8[head >> 11 & 7]);
	int64_t stack = take_signed(c, width4[head >> 14 & 3]);
	unsigned extras = 0;

	ev->kind = head & 7;
	if (head & 8)
		decode_extras(c, ev, &extras);
	if (ev->kind == EVENT_STACK) {
		define_stack(d, ev, b);
		if (head & 8 || delta_ticks || stack)
			c->failed = true;
		d->code += (uint64_t)a;
		ev->addr = d->code;
		ev->ticks = d->ticks;
		return;
	}
	if (!(extras & EVENT_EXTRA_UNALIGNED))
		a = (int64_t)((uint64_t)a << 4);
	d->ticks += delta_ticks;
	finish_call(d, ev, (uint64_t)a, stack);
	ev->size_bytes = event_is_release(ev->kind) ? 0 : b;
	if (!(extras & EVENT_EXTRA_USABLE))
		ev->usable_extra_bytes = event_usual_usable(ev->size_bytes) - ev->size_bytes;
}

/* Which fields of a rare kind are signed, and which one is a stack id (or none: -1). */
static void fix_rare_fields(struct event_decoder *d, struct event *ev)
{
	int stack_field = -1;

	switch (ev->kind) {
	case EVENT_STACK_END:
		define_stack(d, ev, d->next_stack - 1u);
		return;
	case EVENT_STACK_GUESS:
		define_stack(d, ev, ev->field[0]);
		return;
	case EVENT_GENERATION:
		d->generation = (uint32_t)ev->field[0];
		return;
	case EVENT_MMAP:
		ev->field[4] = (uint64_t)unzigzag(ev->field[4]);
		stack_field = 6;
		break;
	case EVENT_MUNMAP:
	case EVENT_BRK:
	case EVENT_MALLOC_TRIM:
		stack_field = 2;
		break;
	case EVENT_MREMAP:
		stack_field = 5;
		break;
	case EVENT_MALLOPT:
		for (unsigned i = 0; i < 3; i++)
			ev->field[i] = (uint64_t)unzigzag(ev->field[i]);
		stack_field = 3;
		break;
	default:
		break;
	}
	if (stack_field >= 0) {
		if (ev->field[stack_field] >= d->next_stack)
			d->in.failed = true;
		ev->stack = (uint32_t)ev->field[stack_field];
	}
}

static void decode_rare(struct event_decoder *d, struct event *ev, unsigned kind)
{
	uint64_t len = cursor_uleb(&d->in);
	const uint8_t *payload = cursor_take(&d->in, len);
	struct cursor c = cursor_make(payload, len);

	ev->kind = (uint8_t)kind;
	if (!payload)
		return; /* d->in.failed says so */
	d->ticks += (uint64_t)unzigzag(cursor_uleb(&c));
	ev->ticks = d->ticks;
	for (unsigned i = 0; i < EVENT_MAX_FIELDS && cursor_left(&c) > 0; i++)
		ev->field[i] = cursor_uleb(&c);
	if (c.failed)
		d->in.failed = true;
	if (!d->in.failed)
		fix_rare_fields(d, ev);
}

#define FAST_BYTES 40 /* no frequent record, and no load below, reaches further */

static inline uint64_t low_bytes(uint64_t word, unsigned n_bytes)
{
	return n_bytes == 0 ? 0 : word << (64 - 8 * n_bytes) >> (64 - 8 * n_bytes);
}

static inline int64_t low_bytes_signed(uint64_t word, unsigned n_bytes)
{
	return n_bytes == 0 ? 0 : (int64_t)(word << (64 - 8 * n_bytes)) >> (64 - 8 * n_bytes);
}

/* The parts of a call, taken without a check of each length. */
struct fast_call {
	unsigned kind;
	unsigned n_bytes; /* of the record; 0: it is not for the fast way */
	uint64_t delta_ticks;
	uint64_t a;
	uint64_t size_bytes;
	int64_t stack;
};

static ALWAYS_INLINE struct fast_call fast_short(const uint8_t *p)
{
	uint64_t word = load_le64(p);
	unsigned kind = word >> 3 & 7, width = 1 + (word >> 6 & 1);
	unsigned addr_width = EVENT_SHORT_ADDR_BYTES(kind);
	unsigned size_width = kind == EVENT_FREE ? 0 : width;
	uint64_t rest = load_le64(p + 2 + addr_width);

	return (struct fast_call){
		.kind = kind,
		.n_bytes = kind == 0 ? 0 : 2 + addr_width + size_width + width,
		.delta_ticks = word >> 8 & 0xff,
		.a = low_bytes(word >> 16, addr_width) * 16 - EVENT_SHORT_ADDR_BIAS(kind),
		.size_bytes = low_bytes(rest, size_width),
		.stack = low_bytes_signed(rest >> (8 * size_width), width),
	};
}

static ALWAYS_INLINE struct fast_call fast_long(const uint8_t *p)
{
	static const uint8_t width8[8] = {0, 1, 2, 3, 4, 5, 6, 8};
	static const uint8_t width4[4] = {0, 1, 2, 4};
	unsigned head = load_le16(p);
	unsigned time_width = head >> 4 & 7, a_width = width8[head >> 8 & 7];
	unsigned b_width = width8[head >> 11 & 7], c_width = width4[head >> 14 & 3];
	const uint8_t *a = p + 2 + time_width, *b = a + a_width, *c = b + b_width;

	if ((head & 7) == EVENT_STACK || head & 8)
		return (struct fast_call){0};
	return (struct fast_call){
		.kind = head & 7,
		.n_bytes = (unsigned)(c - p) + c_width,
		.delta_ticks = low_bytes(load_le64(p + 2), time_width),
		.a = (uint64_t)low_bytes_signed(load_le64(a), a_width) << 4,
		.size_bytes = low_bytes(load_le64(b), b_width),
		.stack = low_bytes_signed(load_le64(c), c_width),
	};
}

static ALWAYS_INLINE uint16_t usual_extra(uint64_t size_bytes)
{
	return (uint16_t)(event_usual_usable(size_bytes) - size_bytes);
}

/* The way nearly all events go: a call without extras, with bytes enough behind it. False: it is
 * something else, or not right, and nothing has changed. */
static ALWAYS_INLINE bool decode_fast(struct event_decoder *d, struct event *ret)
{
	const uint8_t *p = d->in.data + d->in.pos;
	struct fast_call call;
	unsigned is_release;
	int64_t stack;

	if (unlikely(d->is_in_place || d->in.failed || cursor_left(&d->in) < FAST_BYTES ||
		     *p & 0x80))
		return false;
	call = *p & 7 ? fast_long(p) : fast_short(p);
	is_release = event_is_release(call.kind);
	stack = (int64_t)d->stack[is_release] + call.stack;
	if (unlikely(call.n_bytes == 0 || call.kind == EVENT_SHORT_IN_PLACE || stack < 0 ||
		     stack >= d->next_stack))
		return false;
	d->in.pos += call.n_bytes;
	d->ticks += call.delta_ticks;
	d->stack[is_release] = (uint32_t)stack;
	d->addr[is_release] += call.a;
	ret->kind = (uint8_t)call.kind;
	ret->ticks = d->ticks;
	ret->addr = d->addr[is_release];
	ret->size_bytes = is_release ? 0 : call.size_bytes;
	ret->stack = (uint32_t)stack;
	ret->parent = 0;
	ret->usable_extra_bytes = event_usual_usable(ret->size_bytes) - ret->size_bytes;
	ret->alignment = 0;
	return true;
}

size_t event_decode_plain(struct event_decoder *d, struct event_plain *ret, size_t max)
{
	const uint8_t *p = d->in.data + d->in.pos;
	const uint8_t *end = d->in.len > FAST_BYTES ? d->in.data + d->in.len - FAST_BYTES : p;
	uint64_t ticks = d->ticks, addr[2] = {d->addr[0], d->addr[1]};
	uint32_t stack[2] = {d->stack[0], d->stack[1]};
	size_t n = 0;

	if (d->is_in_place || d->in.failed)
		return 0;
	while (p < end && n + 1 < max && !(*p & 0x80)) {
		struct fast_call call = *p & 7 ? fast_long(p) : fast_short(p);
		bool is_in_place = call.kind == EVENT_SHORT_IN_PLACE;
		unsigned is_release = event_is_release(call.kind) || is_in_place;
		int64_t id = (int64_t)stack[is_release] + call.stack;

		if (unlikely(call.n_bytes == 0 || id < 0 || id >= d->next_stack ||
			     call.size_bytes > UINT32_MAX))
			break;
		p += call.n_bytes;
		ticks += call.delta_ticks;
		stack[is_release] = (uint32_t)id;
		addr[is_release] += call.a;
		ret[n++] = (struct event_plain){
			.ticks = ticks,
			.addr = addr[is_release],
			.size_bytes = is_release ? 0 : (uint32_t)call.size_bytes,
			.stack = (uint32_t)id,
			.lane = d->lane,
			.extra_bytes = usual_extra(is_release ? 0 : call.size_bytes),
			.kind = is_in_place ? EVENT_REALLOC_BEGIN : (uint8_t)call.kind,
		};
		if (unlikely(is_in_place)) {
			ret[n] = ret[n - 1];
			ret[n].kind = EVENT_REALLOC_END;
			ret[n].size_bytes = (uint32_t)call.size_bytes;
			ret[n++].extra_bytes = usual_extra(call.size_bytes);
		}
	}
	d->in.pos = (size_t)(p - d->in.data);
	d->ticks = ticks;
	for (unsigned i = 0; i < 2; i++) {
		d->stack[i] = stack[i];
		d->addr[i] = addr[i];
	}
	return n;
}

int event_decode(struct event_decoder *d, struct event *ret)
{
	struct event ev;
	size_t start = d->in.pos;
	unsigned first;

	if (likely(decode_fast(d, ret)))
		return 1;
	ev = (struct event){0};
	if (d->in.failed)
		return -1;
	if (d->is_in_place) {
		decode_second_half(d, ret);
		return 1;
	}
	if (cursor_left(&d->in) == 0)
		return 0;
	first = cursor_u8(&d->in);
	if (first & 0x80) {
		decode_rare(d, &ev, first);
	} else if (first & 7) {
		decode_frequent(d, &ev, first | (unsigned)cursor_u8(&d->in) << 8);
	} else {
		decode_short(d, &ev, first);
	}
	if (d->in.failed) {
		d->in.pos = start;
		return -1;
	}
	*ret = ev;
	return 1;
}

bool event_is_call(unsigned kind)
{
	switch (kind) {
	case EVENT_MALLOC:
	case EVENT_CALLOC:
	case EVENT_ALIGNED:
	case EVENT_REALLOC_BEGIN:
	case EVENT_FREE:
	case EVENT_MMAP:
	case EVENT_MUNMAP:
	case EVENT_MREMAP:
	case EVENT_BRK:
	case EVENT_MALLOPT:
	case EVENT_MALLOC_TRIM:
		return true;
	default:
		return false;
	}
}
