/* util/utf8.c - see utf8.h. */
#include "util/utf8.h"

unsigned utf8_length(const uint8_t *p, size_t left)
{
	static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
	unsigned n = p[0] < 0x80 ? 1 : p[0] < 0xc0 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	uint32_t c = n < 2 ? p[0] : p[0] & (0x7fu >> n);

	if (n < 2)
		return n;
	if (p[0] > 0xf4 || left < n)
		return 0;
	for (unsigned i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 0;
	return n;
}

bool utf8_is_control(const uint8_t *p, unsigned n)
{
	return p[0] < 0x20 || p[0] == 0x7f || (n == 2 && p[0] == 0xc2 && p[1] < 0xa0);
}
