/* query/frame_name.c - see frame_name.h.
 *
 * One scanner walks over a name and knows brackets, operators and the places where a bracket is
 * part of a name: "(anonymous namespace)", "operator()", "{lambda(int)#1}", "<T as Trait>::f".
 */
#include "query/frame_name.h"

#include <string.h>

#include "util/utf8.h"

#define MAX_NESTING 16 /* of "<T as Trait>" that are opened up; deeper ones become ".." */

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static bool starts(const char *p, const char *end, const char *text)
{
	size_t len = strlen(text);

	return (size_t)(end - p) >= len && memcmp(p, text, len) == 0;
}

/* Length of "operator" and its symbol at p, 0 when there is none. begin: of the whole name. */
static size_t operator_length(const char *begin, const char *p, const char *end)
{
	static const char *const symbol[] = {
		"()", "[]", "<=>", "<<=",    ">>=",  "->*",       "<<",     ">>", "<=",
		">=", "->", "==",  "!=",     "&&",   "||",        "++",     "--", "+=",
		"-=", "*=", "/=",  "%=",     "^=",   "&=",        "|=",     "<",  ">",
		"+",  "-",  "*",   "/",      "%",    "^",         "&",      "|",  "~",
		"!",  "=",  ",",   " new[]", " new", " delete[]", " delete"};
	const char *q = p + 8;

	if (!starts(p, end, "operator") || (p > begin && is_word(p[-1])) ||
	    (q < end && is_word(*q)))
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(symbol); i++) {
		if (starts(q, end, symbol[i]))
			return 8 + strlen(symbol[i]);
	}
	while (q < end && !strchr("<>(){}[]", *q)) /* a conversion: operator unsigned int */
		q++;
	return (size_t)(q - p);
}

/* The bracket that closes the one at p, or NULL. */
static const char *closing(const char *begin, const char *p, const char *end)
{
	char stack[256];
	size_t n = 0;

	for (; p < end; p++) {
		size_t len = operator_length(begin, p, end);
		char c = *p;

		if (len > 0) {
			p += len - 1;
			continue;
		}
		if (c == '<' || c == '(' || c == '{' || c == '[') {
			if (n == sizeof(stack))
				return NULL;
			stack[n++] = c == '<' ? '>' : c == '(' ? ')' : c == '{' ? '}' : ']';
		} else if (c == '>' && p > begin && (p[-1] == '-' || p[-1] == '=')) {
			continue; /* an arrow */
		} else if (n > 0 && c == stack[n - 1]) {
			if (--n == 0)
				return p;
		}
	}
	return NULL;
}

/* Is the '(' at p part of a name, not the start of parameters? */
static bool is_name_parenthesis(const char *begin, const char *p, const char *end)
{
	return starts(p, end, "(anonymous") || starts(p, end, "('lambda") ||
	       (p - begin >= 8 && memcmp(p - 8, "decltype", 8) == 0) ||
	       (p - begin >= 9 && memcmp(p - 9, "decltype ", 9) == 0);
}

/* What may stand between the parameters of a function and "::" of something inside of it. */
static const char *skip_qualifiers(const char *p, const char *end)
{
	static const char *const word[] = {" const", " volatile", " &&", " &", "[abi:cxx11]"};

	for (size_t i = 0; i < ARRAY_LEN(word); i++) {
		if (starts(p, end, word[i])) {
			p += strlen(word[i]);
			i = (size_t)-1; /* from the start */
		}
	}
	return p;
}

struct frame_name_path frame_name_path(const char *name)
{
	const char *end = name + strlen(name);
	struct frame_name_path whole = {.start = name, .len = (size_t)(end - name)};
	const char *start = name;

	for (const char *p = name; p < end; p++) {
		size_t len = operator_length(name, p, end);
		const char *close;

		if (len > 0) {
			p += len - 1;
			continue;
		}
		if (starts(p, end, " [")) /* [clone .isra.0] */
			return (struct frame_name_path){start, (size_t)(p - start)};
		if (*p == ' ' && !starts(p, end, " <")) { /* operator< <int> */
			start = p + 1;
			continue;
		}
		if (!strchr("<({[", *p))
			continue;
		close = closing(name, p, end);
		if (!close)
			return whole;
		if (*p == '(' && !is_name_parenthesis(name, p, end)) {
			const char *after = skip_qualifiers(close + 1, end);

			if (!starts(after, end, "::"))
				return (struct frame_name_path){start, (size_t)(p - start)};
			close = after;
		}
		p = close;
	}
	return start < end ? (struct frame_name_path){start, (size_t)(end - start)} : whole;
}

struct out {
	char *buf;
	size_t n;
	bool is_cut;
};

static void put(struct out *o, const char *text, size_t len)
{
	if (len > FRAME_NAME_BYTES - 4 - o->n) {
		len = FRAME_NAME_BYTES - 4 - o->n;
		o->is_cut = true;
	}
	memcpy(o->buf + o->n, text, len);
	o->n += len;
}

static void shorten(struct out *o, const char *begin, const char *end, unsigned nesting);

/* The bracket at p up to close. Returns where to go on. */
static const char *shorten_bracket(struct out *o, const char *begin, const char *p,
				   const char *close, const char *end)
{
	const char *inner;

	switch (*p) {
	case '<':
		put(o, "<..>", 4);
		return close + 1;
	case '{': /* {lambda(int)#1}, {closure#0}, {{closure}} */
		inner = memchr(p, '(', (size_t)(close - p));
		if (inner) {
			const char *hash = memrchr(inner, '#', (size_t)(close - inner));

			put(o, p, (size_t)(inner - p));
			if (hash)
				put(o, hash, (size_t)(close - hash));
			put(o, "}", 1);
		} else {
			put(o, p, (size_t)(close + 1 - p));
		}
		return close + 1;
	case '(':
		if (!is_name_parenthesis(begin, p, end))
			return skip_qualifiers(close + 1, end);
		put(o, p, (size_t)(close + 1 - p));
		return close + 1;
	default:
		put(o, p, (size_t)(close + 1 - p));
		return close + 1;
	}
}

/* Does a path begin here, so that '<' is "<T as Trait>" and not a list of arguments? */
static bool is_path_start(const char *begin, const char *p, const char *end)
{
	if (p > begin && p[-1] == ' ')
		return p - begin < 2 || p[-2] != '<'; /* operator< <int> */
	return p == begin || strchr("&([", p[-1]) || starts(p, end, "<impl ");
}

static void shorten(struct out *o, const char *begin, const char *end, unsigned nesting)
{
	for (const char *p = begin; p < end && !o->is_cut;) {
		size_t len = operator_length(begin, p, end);
		const char *close;

		if (len > 0) {
			put(o, p, len);
			p += len;
			continue;
		}
		if (!strchr("<({[", *p)) {
			put(o, p++, 1);
			continue;
		}
		close = closing(begin, p, end);
		if (!close) {
			put(o, p, (size_t)(end - p));
			return;
		}
		if (*p == '<' && nesting < MAX_NESTING && is_path_start(begin, p, end)) {
			put(o, "<", 1);
			shorten(o, p + 1, close, nesting + 1);
			put(o, ">", 1);
			p = close + 1;
			continue;
		}
		p = shorten_bracket(o, begin, p, close, end);
	}
}

/* len, or less if the text was cut inside a character of UTF-8. */
static size_t without_half_character(const char *text, size_t len)
{
	size_t lead = len;

	while (lead > 0 && len - lead < 4 && ((unsigned char)text[lead - 1] & 0xc0) == 0x80)
		lead--;
	if (lead == 0 || (unsigned char)text[lead - 1] < 0x80)
		return len;
	lead--;
	return utf8_length((const uint8_t *)text + lead, len - lead) == len - lead ? len : lead;
}

char *frame_name_short(const char *name, char buf[FRAME_NAME_BYTES])
{
	struct frame_name_path path = frame_name_path(name);
	struct out o = {.buf = buf};

	shorten(&o, path.start, path.start + path.len, 0);
	if (o.is_cut) {
		o.n = without_half_character(buf, o.n);
		memcpy(buf + o.n, "...", 3);
		o.n += 3;
	}
	buf[o.n] = 0;
	return buf;
}
