/* format/field.h - tag, length, value: the payload of descriptive chunks (docs/FORMAT.md 3). */
#ifndef FORMAT_FIELD_H
#define FORMAT_FIELD_H

#include "base/cursor.h"

/* Appends fields to a buffer of the caller. When a field does not fit, full is set and later calls
 * do nothing, so the caller checks once, at the end. */
struct field_writer {
	uint8_t *data;
	size_t len; /* bytes used */
	size_t capacity;
	bool full;
};

static inline struct field_writer field_writer_make(uint8_t *data, size_t capacity)
{
	return (struct field_writer){.data = data, .len = 0, .capacity = capacity, .full = false};
}

void field_put_u64(struct field_writer *w, unsigned tag, uint64_t value);
void field_put_bytes(struct field_writer *w, unsigned tag, const void *bytes, size_t len);
void field_put_text(struct field_writer *w, unsigned tag, const char *text); /* up to the zero */

struct field {
	uint64_t tag;
	const uint8_t *bytes; /* borrowed from the payload */
	size_t len;
};

/* Reads the next field of a payload. False at the end of the payload, and when the rest is
 * malformed (then c->failed is set). */
bool field_next(struct cursor *c, struct field *ret);

/* Value of a number field; fields longer than 8 bytes give the low 64 bits. */
uint64_t field_u64(const struct field *f);

#endif
