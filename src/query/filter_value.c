/* query/filter_value.c - see filter_value.h. */
#include "query/filter_value.h"

#include <string.h>

#include "base/units.h"

/* A decimal number with up to 9 places behind the point: value * 10^9, exact. */
#define PLACES 9u
#define SCALE 1000000000ull

struct decimal {
	unsigned __int128 scaled; /* value * SCALE */
	unsigned n_places; /* that were written behind the point */
};

/* 2^64 * SCALE and more fits nowhere; far below the end of 128 bits. */
#define DECIMAL_MAX (((unsigned __int128)1 << 64) * SCALE)

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static void skip_spaces(const char **at)
{
	while (**at == ' ' || **at == '\t')
		(*at)++;
}

static bool take_decimal(const char **at, struct decimal *ret)
{
	struct decimal d = {0};
	const char *p = *at;

	if (!is_digit(*p))
		return false;
	for (; is_digit(*p); p++) {
		d.scaled = d.scaled * 10 + (unsigned)(*p - '0') * SCALE;
		if (d.scaled >= DECIMAL_MAX)
			return false;
	}
	if (*p == '.') {
		uint64_t unit = SCALE / 10;

		for (p++; is_digit(*p); p++, unit /= 10) {
			if (d.n_places == PLACES)
				return false;
			d.n_places++;
			d.scaled += (unsigned)(*p - '0') * unit;
		}
		if (!d.n_places)
			return false;
	}
	*at = p;
	*ret = d;
	return true;
}

/* d * unit as a whole number, rounded down. */
static bool multiply(struct decimal d, uint64_t unit, uint64_t *ret)
{
	unsigned __int128 whole = d.scaled / SCALE, part = d.scaled % SCALE;
	unsigned __int128 product;

	if (whole > UINT64_MAX / unit)
		return false;
	product = whole * unit + part * unit / SCALE;
	if (product > UINT64_MAX)
		return false;
	*ret = (uint64_t)product;
	return true;
}

/* The letters at *at, in lower case; "" when there are none, false when they are too many. */
static bool take_word(const char **at, char word[8])
{
	size_t len = 0;

	skip_spaces(at);
	for (; lower(**at) >= 'a' && lower(**at) <= 'z'; (*at)++) {
		if (len == 7)
			return false;
		word[len++] = lower(**at);
	}
	word[len] = 0;
	return true;
}

struct unit {
	const char *name;
	uint64_t factor;
};

static bool find_unit(const struct unit *units, size_t n, const char *name, uint64_t *ret)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(units[i].name, name) == 0) {
			*ret = units[i].factor;
			return true;
		}
	}
	return false;
}

bool filter_value_count(const char *text, uint64_t *ret)
{
	struct decimal d;

	skip_spaces(&text);
	if (!take_decimal(&text, &d) || d.n_places)
		return false;
	skip_spaces(&text);
	return !*text && multiply(d, 1, ret);
}

bool filter_value_size(const char *text, uint64_t *ret_bytes)
{
	static const struct unit units[] = {
		{"", 1},
		{"b", 1},
		{"k", KIB},
		{"kb", KIB},
		{"kib", KIB},
		{"m", MIB},
		{"mb", MIB},
		{"mib", MIB},
		{"g", GIB},
		{"gb", GIB},
		{"gib", GIB},
		{"t", 1024 * GIB},
		{"tb", 1024 * GIB},
		{"tib", 1024 * GIB},
	};
	struct decimal d;
	uint64_t factor;
	char word[8];

	skip_spaces(&text);
	if (!take_decimal(&text, &d) || !take_word(&text, word) ||
	    !find_unit(units, ARRAY_LEN(units), word, &factor))
		return false;
	skip_spaces(&text);
	if (*text || (factor == 1 && d.n_places))
		return false;
	return multiply(d, factor, ret_bytes);
}

static bool take_hex(const char *p, uint64_t *ret)
{
	uint64_t value = 0;
	unsigned n = 0;

	for (; *p && *p != ' '; p++, n++) {
		char c = lower(*p);

		if (n == 16 || !(is_digit(c) || (c >= 'a' && c <= 'f')))
			return false;
		value = value << 4 | (unsigned)(is_digit(c) ? c - '0' : c - 'a' + 10);
	}
	skip_spaces(&p);
	if (*p || n == 0)
		return false;
	*ret = value;
	return true;
}

bool filter_value_address(const char *text, uint64_t *ret)
{
	skip_spaces(&text);
	if (text[0] == '0' && lower(text[1]) == 'x')
		return take_hex(text + 2, ret);
	return filter_value_count(text, ret);
}

bool filter_value_interval(const char *text, uint64_t *ret_ns)
{
	static const struct unit units[] = {
		{"", NS_PER_S},
		{"s", NS_PER_S},
		{"ms", NS_PER_MS},
		{"us", NS_PER_US},
		{"ns", 1},
		{"m", 60 * NS_PER_S},
		{"h", 3600 * NS_PER_S},
		{"d", 24 * 3600 * NS_PER_S},
	};
	uint64_t sum = 0;
	bool is_first = true;

	skip_spaces(&text);
	do {
		struct decimal d;
		uint64_t factor, ns;
		char word[8];

		if (!take_decimal(&text, &d) || !take_word(&text, word) ||
		    !find_unit(units, ARRAY_LEN(units), word, &factor) ||
		    !multiply(d, factor, &ns) || __builtin_add_overflow(sum, ns, &sum))
			return false;
		skip_spaces(&text);
		if (!word[0] && (!is_first || *text)) /* a bare number stands alone */
			return false;
		is_first = false;
	} while (*text);
	*ret_ns = sum;
	return true;
}

bool filter_value_share(const char *text, uint64_t *ret_ppm)
{
	struct decimal d;
	uint64_t ppm;

	skip_spaces(&text);
	if (!take_decimal(&text, &d))
		return false;
	skip_spaces(&text);
	if (*text++ != '%')
		return false;
	skip_spaces(&text);
	if (*text || !multiply(d, FILTER_PPM_PER_PERCENT, &ppm))
		return false;
	*ret_ppm = ppm;
	return true;
}

/* 1e11 seconds are the year 5138; 1e11 milliseconds are March 1973. */
#define FIRST_MILLISECONDS 100000000000ull

static bool unix_time(const char *text, bool is_upper, uint64_t *ret_ns)
{
	struct decimal d;
	uint64_t unit = NS_PER_S, ns, last_digit;

	if (!take_decimal(&text, &d))
		return false;
	skip_spaces(&text);
	if (*text)
		return false;
	if (d.scaled / SCALE >= FIRST_MILLISECONDS)
		unit = NS_PER_MS;
	if (!multiply(d, unit, &ns))
		return false;
	last_digit = unit;
	for (unsigned i = 0; i < d.n_places && last_digit > 1; i++)
		last_digit /= 10;
	if (is_upper && __builtin_add_overflow(ns, last_digit - 1, &ns))
		return false;
	*ret_ns = ns;
	return true;
}

bool filter_value_time(const char *text, bool is_upper, struct filter_time *ret)
{
	struct filter_time t = {0};
	uint64_t ppm;

	skip_spaces(&text);
	if (filter_value_share(text, &ppm)) {
		t.kind = FILTER_TIME_PERCENT;
		t.percent = (double)ppm / FILTER_PPM_PER_PERCENT;
	} else if (*text == '+') {
		t.kind = FILTER_TIME_RELATIVE;
		if (!filter_value_interval(text + 1, &t.ns))
			return false;
	} else if (unix_time(text, is_upper, &t.ns)) {
		t.kind = FILTER_TIME_UNIX;
	} else {
		size_t len = strlen(text);

		/* Without a plus sign only a unit at the end tells it from a UNIX time. */
		while (len && text[len - 1] == ' ')
			len--;
		if (!len || is_digit(text[len - 1]) || !filter_value_interval(text, &t.ns))
			return false;
		t.kind = FILTER_TIME_RELATIVE;
	}
	*ret = t;
	return true;
}
