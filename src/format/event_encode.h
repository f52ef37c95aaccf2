/* format/event_encode.h - writing events into a block. On the record path, hence inline.
 *
 * Before each event the caller makes sure that event_encoder_has_room(), and afterwards it
 * publishes pos. Little-endian machines only, like struct block.
 */
#ifndef FORMAT_EVENT_ENCODE_H
#define FORMAT_EVENT_ENCODE_H

#include <string.h>

#include "base/bits.h"
#include "base/varint.h"
#include "format/event.h"

/* Mirrors the state of the decoder. Reset at the start of each block. */
struct event_encoder {
	uint8_t *pos;
	uint8_t *end; /* one past the block's last byte */
	uint64_t ticks;
	uint64_t addr[2]; /* of the last block allocated, of the last block released */
	uint64_t code; /* return address of the last definition */
	uint32_t stack[2]; /* of the last call that allocated, of the last that released */
	uint32_t next_stack;
	uint32_t allocator; /* of the calls that follow: event_put_allocator() */
	struct event_recent {
		uint64_t addr;
		uint64_t owner_tag; /* event_call.owner_tag of the last call about it */
	} recent[EVENT_N_RECENT];
};

/* Resets the encoder for a block that starts at this time and has room from data to end. Ids of
 * stacks go on from the block before. */
static inline void event_encoder_begin(struct event_encoder *e, uint8_t *data, uint8_t *end,
				       uint64_t ticks)
{
	uint32_t next_stack = e->next_stack;

	memset(e, 0, sizeof(*e));
	e->pos = data;
	e->end = end;
	e->ticks = ticks;
	e->next_stack = next_stack;
}

static inline bool event_encoder_has_room(const struct event_encoder *e, unsigned n_events)
{
	return (size_t)(e->end - e->pos) >= (size_t)n_events * EVENT_MAX_BYTES;
}

static ALWAYS_INLINE uint8_t *event_put_word(uint8_t *p, uint64_t value, unsigned n_bytes)
{
	memcpy(p, &value, 8); /* EVENT_MAX_BYTES leaves room for the bytes beyond n_bytes */
	return p + n_bytes;
}

/* Puts a rare event: its kind and n fields, zigzagged by the caller where the format says so. */
static inline void event_put_rare(struct event_encoder *e, unsigned kind, uint64_t ticks,
				  const uint64_t *field, unsigned n)
{
	uint8_t payload[ULEB_MAX_BYTES * (EVENT_MAX_FIELDS + 1)];
	uint8_t *p = uleb_put(payload, zigzag((int64_t)(ticks - e->ticks)));
	size_t len;

	for (unsigned i = 0; i < n; i++)
		p = uleb_put(p, field[i]);
	len = (size_t)(p - payload);
	e->pos[0] = (uint8_t)kind;
	p = uleb_put(e->pos + 1, len);
	memcpy(p, payload, len);
	e->pos = p + len;
	e->ticks = ticks;
}

/* The calls that follow are about blocks of this allocator. Each block of events begins with
 * allocator 0. */
static inline void event_put_allocator(struct event_encoder *e, uint32_t allocator)
{
	event_put_rare(e, EVENT_ALLOCATOR, e->ticks, (uint64_t[]){allocator}, 1);
	e->allocator = allocator;
}

struct event_call {
	uint64_t ticks;
	uint64_t addr;
	uint64_t size_bytes;
	uint64_t usable_extra_bytes; /* with EVENT_EXTRA_USABLE */
	uint64_t alignment; /* with EVENT_EXTRA_ALIGNMENT */
	uint64_t owner_tag; /* the user's: kept with the address, not written */
	uint32_t stack;
	uint32_t extras; /* EVENT_EXTRA_ bits; UNALIGNED is added here */
};

/* The call was put: everything that the next one may refer to. */
static ALWAYS_INLINE void event_remember_call(struct event_encoder *e, unsigned kind,
					      const struct event_call *c)
{
	struct event_recent *recent = &e->recent[event_recent_slot(c->addr)];

	e->ticks = c->ticks;
	e->addr[event_is_release(kind)] = c->addr;
	e->stack[event_is_release(kind)] = c->stack;
	recent->addr = c->addr;
	recent->owner_tag = c->owner_tag;
}

static inline uint8_t *event_put_extras(uint8_t *p, const struct event_call *c, unsigned bits)
{
	*p++ = (uint8_t)bits;
	if (bits & EVENT_EXTRA_USABLE)
		p = uleb_put(p, c->usable_extra_bytes);
	if (bits & EVENT_EXTRA_ALIGNMENT)
		p = uleb_put(p, c->alignment);
	return p;
}

/* Puts a call in the short form. False: the call does not fit, and nothing is written. Nearly all
 * events of a busy program come through here and fit, so the code is straight: no branch depends on
 * the layout, because no CPU can predict which calls are about a recent address. */
static ALWAYS_INLINE bool event_put_short(struct event_encoder *e, unsigned kind,
					  const struct event_call *c)
{
	uint64_t slot = event_recent_slot(c->addr);
	uint64_t is_known = e->recent[slot].addr == c->addr;
	uint64_t delta_ticks = c->ticks - e->ticks;
	uint64_t a = rotate_right64(
		c->addr - e->addr[event_is_release(kind)] + EVENT_SHORT_ADDR_BIAS, 4);
	uint32_t s = c->stack - e->stack[event_is_release(kind)];
	uint64_t is_wide = (c->size_bytes | (s + 0x80)) > 0xff;
	uint64_t unknown, n_addr;
	uint8_t *p = e->pos;

	FORGET_ORIGIN(is_known);
	unknown = is_known - 1; /* a mask */
	a = (a & unknown) | (slot & ~unknown);
	n_addr = 1 + (unknown & (EVENT_SHORT_ADDR_BYTES - 1));
	if (unlikely(delta_ticks >> 8 | a >> 32 | ((s + 0x8000) | c->size_bytes) >> 16 | c->extras))
		return false;
	event_put_word(p,
		       kind << 3 | is_wide << 6 | is_known << 7 | delta_ticks << 8 | a << 16 |
			       (kind == EVENT_FREE ? 0 : c->size_bytes << (16 + 8 * n_addr)),
		       8);
	p += 2 + n_addr + (kind == EVENT_FREE ? 0 : 1 + is_wide);
	store_le16(p, (uint16_t)s);
	e->pos = p + 1 + is_wide;
	event_remember_call(e, kind, c);
	return true;
}

/* Puts a call in the long form, which has room for everything. Time that went backwards costs a
 * TIME record. */
static inline void event_put_long(struct event_encoder *e, unsigned kind,
				  const struct event_call *c)
{
	uint64_t delta_ticks = c->ticks - e->ticks;
	int64_t a = (int64_t)(c->addr - e->addr[event_is_release(kind)]);
	int64_t s = (int64_t)c->stack - (int64_t)e->stack[event_is_release(kind)];
	uint64_t size_bytes = event_is_release(kind) ? 0 : c->size_bytes;
	unsigned extras = c->extras | (a & 15 ? EVENT_EXTRA_UNALIGNED : 0);
	unsigned n_time, n_a, n_b, n_c;
	uint8_t *p;

	if (delta_ticks >> 56) {
		event_put_rare(e, EVENT_TIME, c->ticks, NULL, 0);
		delta_ticks = 0;
	}
	if (!(a & 15))
		a >>= 4;
	n_time = bytes_for_unsigned(delta_ticks);
	n_a = bytes_for_signed(a);
	n_b = bytes_for_unsigned(size_bytes);
	n_c = bytes_for_signed(s);
	n_a += n_a == 7;
	n_b += n_b == 7;
	n_c += n_c == 3;
	p = e->pos;
	store_le16(p, (uint16_t)(kind | (extras ? 8 : 0) | n_time << 4 | (n_a == 8 ? 7 : n_a) << 8 |
				 (n_b == 8 ? 7 : n_b) << 11 | (n_c == 4 ? 3 : n_c) << 14));
	p = event_put_word(p + 2, delta_ticks, n_time);
	p = event_put_word(p, (uint64_t)a, n_a);
	p = event_put_word(p, size_bytes, n_b);
	p = event_put_word(p, (uint64_t)s, n_c);
	if (extras)
		p = event_put_extras(p, c, extras);
	e->pos = p;
	event_remember_call(e, kind, c);
}

/* Puts a call (kinds 1 to 6) in the shortest form. Needs room for two events. */
static inline void event_put_call(struct event_encoder *e, unsigned kind,
				  const struct event_call *c)
{
	if (!event_put_short(e, kind, c))
		event_put_long(e, kind, c);
}

/* Turns a REALLOC_BEGIN into a whole realloc whose block stayed where it was. event_put_short() put
 * the record, with the size that is asked for, and nothing was put after it. One byte changes, so a
 * concurrent reader of the block sees either the one event or the other. */
static inline void event_make_in_place(uint8_t *record)
{
	__atomic_store_n(record, (uint8_t)(*record | EVENT_SHORT_IN_PLACE << 3), __ATOMIC_RELEASE);
}

/* Defines the next stack id: a call at the return address code, from the stack parent. Returns the
 * id. */
static inline uint32_t event_put_stack(struct event_encoder *e, uint64_t code, uint32_t parent)
{
	int64_t a = (int64_t)(code - e->code);
	uint64_t b = e->next_stack - 1 - parent;
	unsigned n_a = bytes_for_signed(a);
	unsigned n_b = bytes_for_unsigned(b);
	uint8_t *p = e->pos;

	n_a += n_a == 7;
	store_le16(p, (uint16_t)(EVENT_STACK | (n_a == 8 ? 7 : n_a) << 8 | n_b << 11));
	p = event_put_word(p + 2, (uint64_t)a, n_a);
	e->pos = event_put_word(p, b, n_b);
	e->code = code;
	return e->next_stack++;
}

/* Defines the next stack id: the walk could not go further out, because (enum format_stack_end). */
static inline uint32_t event_put_stack_end(struct event_encoder *e, unsigned why)
{
	event_put_rare(e, EVENT_STACK_END, e->ticks, (uint64_t[]){why}, 1);
	return e->next_stack++;
}

/* Defines the next stack id: the frames outside of it (parent) were found by frame pointers
 * alone. */
static inline uint32_t event_put_stack_guess(struct event_encoder *e, uint32_t parent)
{
	event_put_rare(e, EVENT_STACK_GUESS, e->ticks, (uint64_t[]){e->next_stack - 1 - parent}, 1);
	return e->next_stack++;
}

#endif
