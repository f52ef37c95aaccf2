/* cli/output_name.c - see output_name.h. */
#include "cli/output_name.h"

#include <string.h>

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* The text behind a dot and digits, or text if there are none. */
static const char *skip_number(const char *text)
{
	const char *end = text + 1;

	if (*text != '.' || !is_digit(*end))
		return text;
	while (is_digit(*end))
		end++;
	return end;
}

/* Is text a suffix that the recorder may add: nothing, .old or .old.<number>, and a number before
 * it if the name has no ending? */
static bool is_suffix(const char *text)
{
	text = skip_number(text);
	if (strncmp(text, ".old", 4) == 0)
		text = skip_number(text + 4);
	return *text == 0;
}

/* Length of the placeholder at p, or 0. *wild is 'd' if it stands for digits, 'a' for any text. */
static size_t placeholder(const char *p, char *wild)
{
	if (p[0] != '%' || !p[1] || !strchr("pten", p[1]))
		return 0;
	*wild = p[1] == 'e' ? 'a' : 'd';
	return 2;
}

/* Does name match the pattern, where is_numbered tells whether it has got a number already? */
static bool matches(const char *pattern, const char *name, bool is_numbered)
{
	char wild;

	for (; *pattern; pattern++, name++) {
		size_t len = placeholder(pattern, &wild);

		if (len) {
			for (; *name && (wild == 'a' || is_digit(*name)); name++) {
				if (matches(pattern + len, name + 1, is_numbered))
					return true;
			}
			return false;
		}
		if (*pattern == '.' && !is_numbered && !strchr(pattern + 1, '.') &&
		    skip_number(name) != name && matches(pattern, skip_number(name), true))
			return true; /* the number is in front of the ending */
		if (*pattern != *name)
			return false;
		if (pattern[0] == '%' && pattern[1] == '%')
			pattern++; /* two in the pattern are one in the name */
	}
	return is_suffix(name);
}

bool output_name_matches(const char *pattern, const char *name)
{
	return matches(pattern, name, false);
}

/* Has the pattern a placeholder; wanted: of this letter, or 0? */
static bool has_placeholder(const char *pattern, char wanted)
{
	char wild;

	for (; *pattern; pattern++) {
		if (placeholder(pattern, &wild) && (!wanted || pattern[1] == wanted))
			return true;
		if (pattern[0] == '%' && pattern[1] == '%')
			pattern++;
	}
	return false;
}

bool output_name_has_placeholder(const char *pattern)
{
	return has_placeholder(pattern, 0);
}

bool output_name_has_process(const char *pattern)
{
	return has_placeholder(pattern, 'p');
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

void output_name_unquote(char *text)
{
	for (char *p = text; (p = strstr(p, "%%")); p++)
		memmove(p, p + 1, strlen(p));
}
