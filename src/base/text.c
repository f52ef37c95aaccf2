/* base/text.c - see text.h. */
#include "base/text.h"

#include <string.h>

void text_put_bytes(struct text *t, const char *s, size_t len)
{
	size_t room = t->capacity - t->len - 1;

	if (len > room) {
		len = room;
		t->was_cut = true;
	}
	memcpy(t->data + t->len, s, len);
	t->len += len;
	t->data[t->len] = 0;
}

void text_put_char(struct text *t, char c)
{
	text_put_bytes(t, &c, 1);
}

void text_put(struct text *t, const char *s)
{
	text_put_bytes(t, s, strlen(s));
}

static void put_digits(struct text *t, uint64_t value, unsigned base, unsigned min_digits)
{
	char digits[24];
	unsigned n = 0;

	do {
		digits[n++] = "0123456789abcdef"[value % base];
		value /= base;
	} while (value && n < sizeof(digits));
	while (n < min_digits && n < sizeof(digits))
		digits[n++] = '0';
	while (n > 0)
		text_put_char(t, digits[--n]);
}

void text_put_u64(struct text *t, uint64_t value)
{
	put_digits(t, value, 10, 1);
}

void text_put_i64(struct text *t, int64_t value)
{
	if (value < 0)
		text_put_char(t, '-');
	text_put_u64(t, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void text_put_hex(struct text *t, uint64_t value, unsigned min_digits)
{
	put_digits(t, value, 16, min_digits);
}

int text_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

bool text_parse_u64(const char *s, uint64_t *ret)
{
	uint64_t value = 0;

	if (!*s)
		return false;
	for (; *s; s++) {
		if (*s < '0' || *s > '9' || value > (UINT64_MAX - 9) / 10)
			return false;
		value = value * 10 + (uint64_t)(*s - '0');
	}
	*ret = value;
	return true;
}

const char *text_basename(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}
