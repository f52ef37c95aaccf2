/* export/row_text.h - the text of one row, made in a buffer and written at once.
 *
 * For formats with a line per row: printing one number with stdio takes longer than finding the
 * row. The buffer is larger than any line; text that does not fit is cut (asserted).
 */
#ifndef EXPORT_ROW_TEXT_H
#define EXPORT_ROW_TEXT_H

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"

struct row_text {
	size_t n;
	char byte[1024];
};

static inline void row_text_bytes(struct row_text *t, const char *bytes, size_t len)
{
	ASSERT(len <= sizeof(t->byte) - t->n);
	if (len > sizeof(t->byte) - t->n)
		len = sizeof(t->byte) - t->n;
	memcpy(t->byte + t->n, bytes, len);
	t->n += len;
}

static inline void row_text_put(struct row_text *t, const char *text)
{
	row_text_bytes(t, text, strlen(text));
}

static inline void row_text_u64(struct row_text *t, uint64_t v)
{
	char digit[20];
	unsigned at = sizeof(digit);

	do {
		digit[--at] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	row_text_bytes(t, digit + at, sizeof(digit) - at);
}

static inline void row_text_hex(struct row_text *t, uint64_t v)
{
	char digit[16];
	unsigned at = sizeof(digit);

	do {
		digit[--at] = "0123456789abcdef"[v & 15];
		v >>= 4;
	} while (v);
	row_text_bytes(t, digit + at, sizeof(digit) - at);
}

/* Writes the text to out and empties the buffer. */
static inline void row_text_write(struct row_text *t, FILE *out)
{
	fwrite_unlocked(t->byte, 1, t->n, out);
	t->n = 0;
}

#endif
