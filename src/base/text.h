/* base/text.h - building text in a buffer of the caller, without stdio.
 *
 * The text always ends in a zero byte. What does not fit is cut, and was_cut says so.
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

/* The value of a hexadecimal digit; -1: c is none. */
int text_hex_digit(char c);

/* Parses a whole string as a decimal number; false on anything else or overflow. */
bool text_parse_u64(const char *s, uint64_t *ret);

/* The part behind the last '/', or all of path. Borrowed from path. */
const char *text_basename(const char *path);

#endif
