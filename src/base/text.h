/* base/text.h - building text in a caller's buffer without stdio.
 *
 * Always zero-terminated; what does not fit is cut and remembered in was_cut.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include "base/compiler.h"

struct text {
	char *data;
	size_t len; /* without the ending zero; always < capacity */
	size_t capacity; /* at least 1 */
	bool was_cut;
};

static inline struct text text_make(char *data, size_t capacity)
{
	data[0] = 0;
	return (struct text){.data = data, .len = 0, .capacity = capacity, .was_cut = false};
}

void text_put_char(struct text *t, char c);
void text_put(struct text *t, const char *s);
void text_put_bytes(struct text *t, const char *s, size_t len);
void text_put_u64(struct text *t, uint64_t value);
void text_put_i64(struct text *t, int64_t value);
void text_put_hex(struct text *t, uint64_t value, unsigned min_digits); /* without 0x */

/* -1: it is none. */
int text_hex_digit(char c);

/* Parses a whole string as a decimal number; false on anything else or overflow. */
bool text_parse_u64(const char *s, uint64_t *ret);

/* The part behind the last '/'. */
const char *text_basename(const char *path);

#endif
