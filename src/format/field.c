/* format/field.c - see field.h. */
#include "format/field.h"

#include <string.h>

#include "base/bits.h"
#include "base/varint.h"

void field_put_bytes(struct field_writer *w, unsigned tag, const void *bytes, size_t len)
{
	uint8_t head[2 * ULEB_MAX_BYTES];
	size_t head_len = (size_t)(uleb_put(uleb_put(head, tag), len) - head);

	if (w->full || len > w->capacity - w->len || head_len > w->capacity - w->len - len) {
		w->full = true;
		return;
	}
	memcpy(w->data + w->len, head, head_len);
	if (len)
		memcpy(w->data + w->len + head_len, bytes, len);
	w->len += head_len + len;
}

void field_put_u64(struct field_writer *w, unsigned tag, uint64_t value)
{
	uint8_t bytes[8];

	store_le64(bytes, value);
	field_put_bytes(w, tag, bytes, bytes_for_unsigned(value));
}

void field_put_text(struct field_writer *w, unsigned tag, const char *text)
{
	field_put_bytes(w, tag, text, strlen(text));
}

bool field_next(struct cursor *c, struct field *ret)
{
	struct field f;

	if (c->failed || cursor_left(c) == 0)
		return false;
	f.tag = cursor_uleb(c);
	f.len = cursor_uleb(c);
	f.bytes = cursor_take(c, f.len);
	if (c->failed)
		return false;
	*ret = f;
	return true;
}

uint64_t field_u64(const struct field *f)
{
	uint64_t value = 0;

	for (size_t i = 0; i < f->len && i < 8; i++)
		value |= (uint64_t)f->bytes[i] << (8 * i);
	return value;
}
