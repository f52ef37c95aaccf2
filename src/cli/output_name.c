/* cli/output_name.c - see output_name.h. */
#include "cli/output_name.h"

#include <string.h>

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Is text a suffix that the recorder may add: nothing, .old, .<number> or .<number>.old? */
static bool is_suffix(const char *text)
{
	if (*text == 0 || strcmp(text, ".old") == 0)
		return true;
	if (*text != '.' || !text[1])
		return false;
	for (text++; is_digit(*text); text++)
		;
	return *text == 0 || strcmp(text, ".old") == 0;
}

/* Length of the placeholder at p, or 0. *wild is 'd' if it stands for digits, 'a' for any text. */
static size_t placeholder(const char *p, char *wild)
{
	if (p[0] != '%' || !p[1] || !strchr("pten", p[1]))
		return 0;
	*wild = p[1] == 'e' ? 'a' : 'd';
	return 2;
}

bool output_name_matches(const char *pattern, const char *name)
{
	char wild;

	for (; *pattern; pattern++, name++) {
		size_t len = placeholder(pattern, &wild);

		if (len) {
			for (; *name && (wild == 'a' || is_digit(*name)); name++) {
				if (output_name_matches(pattern + len, name + 1))
					return true;
			}
			return false;
		}
		if (*pattern != *name)
			return false;
		if (pattern[0] == '%' && pattern[1] == '%')
			pattern++; /* two in the pattern are one in the name */
	}
	return is_suffix(name);
}

bool output_name_has_placeholder(const char *pattern)
{
	char wild;

	for (; *pattern; pattern++) {
		if (placeholder(pattern, &wild))
			return true;
		if (pattern[0] == '%' && pattern[1] == '%')
			pattern++;
	}
	return false;
}

bool output_name_quote(const char *text, char *out, size_t capacity)
{
	size_t n = 0;

	for (; *text; text++) {
		if (n + 3 > capacity)
			return false;
		out[n++] = *text;
		if (*text == '%')
			out[n++] = '%';
	}
	out[n] = 0;
	return true;
}
