/* base/cursor.h - a bounds-checked reader with a sticky error.
 *
 * Every parser of bytes from files, sockets and other memory uses it. A read past the end gives 0
 * and sets failed; the caller checks failed once, at the end of a record. Never reads outside
 * [data, data + len). The bytes are borrowed.
 */
#ifndef BASE_CURSOR_H
#define BASE_CURSOR_H

#include "base/bytes.h"

struct cursor {
	const uint8_t *data;
	size_t len;
	size_t pos; /* always <= len */
	bool failed; /* a read went past the end, or a value made no sense */
};

static inline struct cursor cursor_make(const void *data, size_t len)
{
	return (struct cursor){.data = data, .len = len, .pos = 0, .failed = false};
}

static inline size_t cursor_left(const struct cursor *c)
{
	return c->len - c->pos;
}

/* Borrowed pointer to the next n bytes, or NULL (and failed) when there are fewer. */
static inline const uint8_t *cursor_take(struct cursor *c, size_t n)
{
	const uint8_t *p = c->data + c->pos;

	if (c->failed || n > c->len - c->pos) {
		c->failed = true;
		return NULL;
	}
	c->pos += n;
	return p;
}

static inline uint8_t cursor_u8(struct cursor *c)
{
	const uint8_t *p = cursor_take(c, 1);
	return p ? *p : 0;
}

static inline uint16_t cursor_u16(struct cursor *c)
{
	const uint8_t *p = cursor_take(c, 2);
	return p ? load_le16(p) : 0;
}

static inline uint32_t cursor_u32(struct cursor *c)
{
	const uint8_t *p = cursor_take(c, 4);
	return p ? load_le32(p) : 0;
}

static inline uint64_t cursor_u64(struct cursor *c)
{
	const uint8_t *p = cursor_take(c, 8);
	return p ? load_le64(p) : 0;
}

/* Unsigned LEB128. A value of more than 64 bits fails. */
static inline uint64_t cursor_uleb(struct cursor *c)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t b = cursor_u8(c);

		if (shift == 63 && (b & 0x7e))
			break;
		value |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80))
			return c->failed ? 0 : value;
	}
	c->failed = true;
	return 0;
}

/* Signed LEB128. More than ten bytes fail. */
static inline int64_t cursor_sleb(struct cursor *c)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 70; shift += 7) {
		uint8_t b = cursor_u8(c);

		if (shift < 64)
			value |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80)) {
			if (shift + 7 < 64 && (b & 0x40))
				value |= ~0ull << (shift + 7);
			return c->failed ? 0 : (int64_t)value;
		}
	}
	c->failed = true;
	return 0;
}

#endif
