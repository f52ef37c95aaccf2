/* format/event_decode.c - bytes to events. Trusts nothing: every length is checked, and an event
 * can only name a stack that was defined before it.
 */
#include "format/event.h"

#include "base/varint.h"

/* Bytes of a field, by its code in the head of a record. */
static const uint8_t width8[8] = {0, 1, 2, 3, 4, 5, 6, 8};
static const uint8_t width4[4] = {0, 1, 2, 4};

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

/* Gives the next id to a stack. Ids grow by one with each definition; the format has 32 bits for
 * them. */
static void define_stack(struct event_decoder *d, struct event *ev, uint64_t distance)
{
	if (d->next_stack == 0 || distance >= d->next_stack || d->next_stack == UINT32_MAX) {
		d->in.failed = true;
		return;
	}
	ev->stack = d->next_stack++;
	ev->parent = ev->stack - 1 - (uint32_t)distance;
}

/* The end of decoding a call, in every form: differences to the last call become values. s is the
 * difference of the stack ids. */
static void finish_call(struct event_decoder *d, struct event *ev, uint64_t addr, int64_t s)
{
	uint32_t *stack = &d->stack[event_is_release(ev->kind)];

	s += *stack;
	if (s < 0 || s >= d->next_stack)
		d->in.failed = true;
	*stack = (uint32_t)s;
	d->addr[event_is_release(ev->kind)] = addr;
	d->recent[event_recent_slot(addr)] = addr;
	ev->ticks = d->ticks;
	ev->addr = addr;
	ev->stack = *stack;
	ev->allocator = d->allocator;
}

static void decode_short(struct event_decoder *d, struct event *ev, unsigned head)
{
	struct cursor *c = &d->in;
	unsigned kind = head >> 3 & 7;
	bool is_wide = head & EVENT_SHORT_WIDE, is_known = head & EVENT_SHORT_KNOWN;
	unsigned addr_width = is_known ? 1 : EVENT_SHORT_ADDR_BYTES;
	uint64_t delta_ticks = take_unsigned(c, 1);
	uint64_t a = take_unsigned(c, addr_width);
	uint64_t size_bytes = kind == EVENT_FREE ? 0 : take_unsigned(c, 1 + is_wide);
	int64_t stack = take_signed(c, 1 + is_wide);

	if (kind == 0 || (is_known && event_recent_slot(d->recent[a]) != a))
		c->failed = true; /* an empty slot holds 0, and address 0 belongs in slot 0 */
	d->is_in_place = kind == EVENT_SHORT_IN_PLACE;
	d->in_place_bytes = (uint32_t)size_bytes;
	ev->kind = d->is_in_place ? EVENT_REALLOC_BEGIN : (uint8_t)kind;
	d->ticks += delta_ticks;
	finish_call(d, ev,
		    is_known ? d->recent[a]
			     : d->addr[event_is_release(ev->kind)] + a * 16 - EVENT_SHORT_ADDR_BIAS,
		    stack);
	ev->size_bytes = event_is_release(ev->kind) ? 0 : size_bytes;
	ev->usable_extra_bytes = event_usual_usable(ev->size_bytes) - ev->size_bytes;
}

/* The second event of a realloc that left its block where it was: same address, same time. */
static void decode_second_half(struct event_decoder *d, struct event *ev)
{
	*ev = (struct event){
		.kind = EVENT_REALLOC_END,
		.ticks = d->ticks,
		.addr = d->addr[1],
		.size_bytes = d->in_place_bytes,
		.usable_extra_bytes = event_usual_usable(d->in_place_bytes) - d->in_place_bytes,
		.stack = d->stack[1],
		.allocator = d->allocator,
	};
	d->is_in_place = false;
}

static void decode_frequent(struct event_decoder *d, struct event *ev, unsigned head)
{
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
	finish_call(d, ev, d->addr[event_is_release(ev->kind)] + (uint64_t)a, stack);
	ev->size_bytes = event_is_release(ev->kind) ? 0 : b;
	if (!(extras & EVENT_EXTRA_USABLE))
		ev->usable_extra_bytes = event_usual_usable(ev->size_bytes) - ev->size_bytes;
}

/* Undoes zigzag in the signed fields of a rare kind, and takes its stack id out of the fields. */
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
	case EVENT_ALLOCATOR:
		if (ev->field[0] >= EVENT_N_ALLOCATORS)
			d->in.failed = true;
		d->allocator = (uint8_t)ev->field[0];
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
	case EVENT_CULLED:
	case EVENT_CULLED_REALLOCS:
		stack_field = CULLED_STACK;
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
	unsigned n_bytes; /* of the record; 0: decode_fast() cannot decode it */
	uint64_t delta_ticks;
	uint64_t a; /* difference of the address, unless is_known */
	bool is_known; /* the address is the one in this slot of recent: */
	uint8_t slot;
	uint64_t size_bytes;
	int64_t stack;
};

/* Where the parts of a record in the short form lie: its first byte determines all of that. */
struct short_form {
	uint32_t size_mask; /* of the bytes behind the address; 0 in releases */
	uint8_t n_bytes; /* of the record; 0: there is no such record */
	uint8_t size_at;
	uint8_t stack_up, stack_down; /* shifts that leave the stack, with its sign */
	uint8_t kind;
	uint8_t is_release;
	bool is_known; /* the record has a slot of recent instead of an address */
};

#define SHORT_FORM(k, addr_width, width, size_width)                                               \
	{                                                                                          \
		.size_mask = (k) == EVENT_REALLOC_BEGIN ? 0 : (1u << (8 * (size_width))) - 1,      \
		.n_bytes = 2 + (addr_width) + (size_width) + (width), .size_at = 2 + (addr_width), \
		.stack_up = 64 - 8 * ((size_width) + (width)), .stack_down = 64 - 8 * (width),     \
		.kind = (k), .is_release = (k) == EVENT_FREE || (k) == EVENT_REALLOC_BEGIN,        \
		.is_known = (addr_width) == 1,                                                     \
	}
#define SHORT_FORMS(addr_width, width)                                                             \
	{0}, SHORT_FORM(1, addr_width, width, width), SHORT_FORM(2, addr_width, width, width),     \
		SHORT_FORM(3, addr_width, width, width), SHORT_FORM(4, addr_width, width, width),  \
		SHORT_FORM(5, addr_width, width, width),                                           \
		SHORT_FORM(EVENT_FREE, addr_width, width, 0),                                      \
		SHORT_FORM(EVENT_SHORT_IN_PLACE, addr_width, width, width)

_Static_assert(EVENT_FREE == 6 && EVENT_SHORT_IN_PLACE == 7 && EVENT_SHORT_WIDE == 0x40 &&
		       EVENT_SHORT_KNOWN == 0x80,
	       "the order of the table");

/* By bits 3 to 7 of the first byte: kind, whether size and stack are wide, whether the address is
 * known. */
static const struct short_form short_forms[32] = {
	SHORT_FORMS(EVENT_SHORT_ADDR_BYTES, 1),
	SHORT_FORMS(EVENT_SHORT_ADDR_BYTES, 2),
	SHORT_FORMS(1, 1),
	SHORT_FORMS(1, 2),
};

#define CALL_BYTES(bits, addr_width, width)                                                        \
	[(bits) | 1 << 3] = 2 + (addr_width) + 2 * (width),                                        \
		       [(bits) | 2 << 3] = 2 + (addr_width) + 2 * (width),                         \
		       [(bits) | 3 << 3] = 2 + (addr_width) + 2 * (width),                         \
		       [(bits) | 4 << 3] = 2 + (addr_width) + 2 * (width),                         \
		       [(bits) | 5 << 3] = 2 + (addr_width) + 2 * (width),                         \
		       [(bits) | EVENT_FREE << 3] = 2 + (addr_width) + (width)

/* By the first byte: bytes of a record in the short form that is one call; 0: it is something else.
 * Where the next record begins depends on this alone: the shorter the way, the faster the loop. */
static const uint8_t short_call_bytes[256] = {
	CALL_BYTES(0, EVENT_SHORT_ADDR_BYTES, 1),
	CALL_BYTES(EVENT_SHORT_WIDE, EVENT_SHORT_ADDR_BYTES, 2),
	CALL_BYTES(EVENT_SHORT_KNOWN, 1, 1),
	CALL_BYTES(EVENT_SHORT_KNOWN | EVENT_SHORT_WIDE, 1, 2),
};

static ALWAYS_INLINE const struct short_form *short_form(uint64_t word)
{
	return &short_forms[word >> 3 & 31];
}

static ALWAYS_INLINE struct fast_call fast_short(const uint8_t *p, uint64_t word,
						 const struct short_form *form)
{
	uint64_t rest = load_le64(p + form->size_at);

	return (struct fast_call){
		.kind = form->kind,
		.n_bytes = form->n_bytes,
		.delta_ticks = word >> 8 & 0xff,
		.a = (uint64_t)(uint32_t)(word >> 16) * 16 - EVENT_SHORT_ADDR_BIAS,
		.is_known = form->is_known,
		.slot = (uint8_t)(word >> 16),
		.size_bytes = rest & form->size_mask,
		.stack = (int64_t)(rest << form->stack_up) >> form->stack_down,
	};
}

static ALWAYS_INLINE struct fast_call fast_long(const uint8_t *p)
{
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

static ALWAYS_INLINE struct fast_call fast_any(const uint8_t *p)
{
	uint64_t word = load_le64(p);

	return word & 7 ? fast_long(p) : fast_short(p, word, short_form(word));
}

static ALWAYS_INLINE uint16_t usual_extra(uint64_t size_bytes)
{
	return (uint16_t)(event_usual_usable(size_bytes) - size_bytes);
}

static ALWAYS_INLINE bool is_rare(unsigned first_byte)
{
	return first_byte & EVENT_RARE && first_byte & 7;
}

/* The address of a call. 0: the slot that the call names may still be empty. */
static ALWAYS_INLINE uint64_t fast_addr(const struct fast_call *call, uint64_t base,
					const uint64_t *recent)
{
	uint64_t known = recent[call->slot];

	return call->is_known ? known : base + call->a;
}

/* Decodes nearly all events: a call without extras, with enough bytes behind it. False: the record
 * is something else or malformed, and nothing has changed. */
static ALWAYS_INLINE bool decode_fast(struct event_decoder *d, struct event *ret)
{
	const uint8_t *p = d->in.data + d->in.pos;
	struct fast_call call;
	unsigned is_release;
	uint64_t addr;
	int64_t stack;

	if (unlikely(d->is_in_place || d->in.failed || cursor_left(&d->in) < FAST_BYTES ||
		     is_rare(*p)))
		return false;
	call = fast_any(p);
	is_release = event_is_release(call.kind);
	stack = (int64_t)d->stack[is_release] + call.stack;
	addr = fast_addr(&call, d->addr[is_release], d->recent);
	if (unlikely(call.n_bytes == 0 || call.kind == EVENT_SHORT_IN_PLACE || stack < 0 ||
		     stack >= d->next_stack || !addr))
		return false;
	d->in.pos += call.n_bytes;
	d->ticks += call.delta_ticks;
	d->stack[is_release] = (uint32_t)stack;
	d->addr[is_release] = d->recent[event_recent_slot(addr)] = addr;
	ret->kind = (uint8_t)call.kind;
	ret->ticks = d->ticks;
	ret->addr = addr;
	ret->size_bytes = is_release ? 0 : call.size_bytes;
	ret->stack = (uint32_t)stack;
	ret->parent = 0;
	ret->usable_extra_bytes = event_usual_usable(ret->size_bytes) - ret->size_bytes;
	ret->alignment = 0;
	ret->allocator = d->allocator;
	return true;
}

/* The parts of a decoder that every call changes, in local variables. */
struct run {
	const uint8_t *p, *end; /* from end on there may not be FAST_BYTES left */
	struct event_compact *to,
		*last; /* where the next call goes, and the last entry of the array */
	uint64_t ticks, n_stacks;
	uint64_t addr[2], stack[2];
	uint64_t *recent;
	uint32_t lane;
	uint8_t flags; /* of every call: its allocator */
};

/* Appends a call to the run; a release has no size. False: its stack or its address is not
 * valid. */
static ALWAYS_INLINE bool put_call(struct run *r, const struct fast_call *call, unsigned is_release)
{
	struct event_compact *to = r->to;
	uint64_t id = r->stack[is_release] + (uint64_t)call->stack;
	uint64_t addr = fast_addr(call, r->addr[is_release], r->recent);
	uint32_t size_bytes = (uint32_t)call->size_bytes;

	if (unlikely(id >= r->n_stacks || !addr))
		return false;
	r->p += call->n_bytes;
	r->ticks += call->delta_ticks;
	r->stack[is_release] = id;
	r->addr[is_release] = r->recent[event_recent_slot(addr)] = addr;
	to->ticks = r->ticks;
	to->addr = addr;
	to->size_bytes = size_bytes;
	to->stack_id = (uint32_t)id;
	to->lane = r->lane;
	to->extra_bytes = usual_extra(size_bytes);
	to->kind = (uint8_t)call->kind;
	to->flags = r->flags;
	r->to++;
	return true;
}

/* Decodes records in the short form that are one call each. */
static ALWAYS_INLINE void decode_shorts(struct run *r)
{
	unsigned n_bytes;

	while (r->p < r->end && r->to < r->last && (n_bytes = short_call_bytes[*r->p])) {
		uint64_t word = load_le64(r->p);
		const struct short_form *form = short_form(word);
		struct fast_call call = fast_short(r->p, word, form);

		call.n_bytes = n_bytes;
		if (unlikely(!put_call(r, &call, form->is_release)))
			break;
	}
}

/* Decodes a record of another form. False: event_decode() must decode it. */
static ALWAYS_INLINE bool decode_other(struct run *r)
{
	struct event_compact *begin = r->to;
	struct fast_call call;
	uint64_t size_bytes;

	if (r->p >= r->end || r->to >= r->last || is_rare(*r->p))
		return false;
	call = fast_any(r->p);
	if (call.n_bytes == 0 || call.size_bytes > UINT32_MAX)
		return false;
	size_bytes = call.size_bytes;
	if (event_is_release(call.kind) || call.kind == EVENT_SHORT_IN_PLACE)
		call.size_bytes = 0;
	if (call.kind != EVENT_SHORT_IN_PLACE)
		return put_call(r, &call, event_is_release(call.kind));
	call.kind = EVENT_REALLOC_BEGIN;
	if (!put_call(r, &call, true))
		return false;
	*r->to = *begin;
	r->to->kind = EVENT_REALLOC_END;
	r->to->size_bytes = (uint32_t)size_bytes;
	r->to->extra_bytes = usual_extra(size_bytes);
	r->to++;
	return true;
}

size_t event_decode_calls(struct event_decoder *d, struct event_compact *ret, size_t max)
{
	const uint8_t *p = d->in.data + d->in.pos;
	struct run r = {
		.p = p,
		.end = d->in.len > FAST_BYTES ? d->in.data + d->in.len - FAST_BYTES : p,
		.to = ret,
		.last = ret + max - 1,
		.ticks = d->ticks,
		.n_stacks = d->next_stack,
		.addr = {d->addr[0], d->addr[1]},
		.stack = {d->stack[0], d->stack[1]},
		.recent = d->recent,
		.lane = d->lane,
		.flags = (uint8_t)(d->allocator << EVENT_ALLOCATOR_SHIFT),
	};

	if (d->is_in_place || d->in.failed)
		return 0;
	do {
		decode_shorts(&r);
	} while (decode_other(&r));
	d->in.pos = (size_t)(r.p - d->in.data);
	d->ticks = r.ticks;
	for (unsigned i = 0; i < 2; i++) {
		d->stack[i] = (uint32_t)r.stack[i];
		d->addr[i] = r.addr[i];
	}
	return (size_t)(r.to - ret);
}

size_t event_decode_stacks(struct event_decoder *d, struct event_stack *ret, size_t max)
{
	size_t n = 0;

	while (n < max && !d->is_in_place && !d->in.failed && cursor_left(&d->in) >= FAST_BYTES) {
		const uint8_t *p = d->in.data + d->in.pos;
		unsigned head = load_le16(p);
		unsigned a_width = width8[head >> 8 & 7], b_width = width8[head >> 11 & 7];
		uint64_t distance = low_bytes(load_le64(p + 2 + a_width), b_width);

		/* A definition as the recorder writes it: without extras, time and stack. */
		if ((head & 0xc0ff) != EVENT_STACK || distance >= d->next_stack ||
		    d->next_stack == UINT32_MAX)
			break;
		d->code += (uint64_t)low_bytes_signed(load_le64(p + 2), a_width);
		d->in.pos += 2 + a_width + b_width;
		ret[n++] = (struct event_stack){
			.addr = d->code,
			.stack = d->next_stack,
			.parent = d->next_stack - 1 - (uint32_t)distance,
		};
		d->next_stack++;
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
	if (is_rare(first)) {
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
