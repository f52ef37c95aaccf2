/* symbol/template_args.c - names without their template arguments. See symbol.h. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/symbol.h"

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

/* Length of the operator's sign when name[at] is what follows the word "operator" and it has an
 * angle bracket: <, <=, <=>, <<, <<=, ->, ->*, >, >=, >>, >>=. 0: no such operator. */
static size_t operator_sign(const char *name, size_t at)
{
	static const char *const sign[] = {"<=>", "<<=", ">>=", "->*", "<<", ">>",
					   "<=",  ">=",  "->",  "<",   ">"};
	static const char word[] = "operator";
	size_t n = sizeof(word) - 1;

	if (at < n || strncmp(name + at - n, word, n) != 0 || (at > n && is_word(name[at - n - 1])))
		return 0;
	for (size_t i = 0; i < sizeof(sign) / sizeof(*sign); i++) {
		size_t len = strlen(sign[i]);

		if (strncmp(name + at, sign[i], len) != 0)
			continue;
		/* operator<<int>: the operator < with arguments, not the operator << */
		if (strcmp(sign[i], "<<") == 0 && is_word(name[at + 2]))
			continue;
		return len;
	}
	return 0;
}

/* The end of the arguments that open at name[at] == '<': behind the '>'. 0: it does not end. */
static size_t end_of_arguments(const char *name, size_t at)
{
	size_t depth = 0, brackets = 0;

	for (size_t i = at; name[i]; i++) {
		size_t sign = operator_sign(name, i);

		if (sign > 0) {
			i += sign - 1;
			continue;
		}
		if (strchr("([{", name[i])) {
			brackets++;
		} else if (strchr(")]}", name[i])) {
			if (brackets == 0)
				return 0;
			brackets--;
		} else if (brackets > 0) {
			continue; /* (a>b) is an expression, and f(x<y>) is in balance */
		} else if (name[i] == '<') {
			depth++;
		} else if (name[i] == '>' && i > 0 && name[i - 1] != '-' && name[i - 1] != '=') {
			/* "->" and "=>" are arrows: Rust's fn() -> T, C++'s expressions */
			if (--depth == 0)
				return i + 1;
		}
	}
	return 0;
}

/* <T as Trait>::f, <T>::f, <impl X for Y>::f: a path element, not the arguments of something. */
static bool is_path_element(const char *name, size_t at)
{
	char before = at > 0 ? name[at - 1] : 0;

	if (strncmp(name + at, "<impl ", 6) == 0)
		return true;
	if (before == ':') /* Rust's path::<T>: arguments; path::<impl ...> was caught above */
		return false;
	return !is_word(before) && before != '>' && before != '}' && before != ']' && before != ')';
}

char *symbol_strip_template_args(const char *name)
{
	size_t len = strlen(name), n = 0;
	char *out = malloc(2 * len + 1); /* <x> grows to <..>: less than double */
	bool after_operator =
		false; /* what opens now are the arguments of operator< and its like */

	if (!out)
		return NULL;
	for (size_t i = 0; i < len;) {
		size_t step = operator_sign(name, i), end = 0;

		if (step == 0 && name[i] == '<' && (after_operator || !is_path_element(name, i)))
			end = end_of_arguments(name, i);
		if (end > i + 2) {
			memcpy(out + n, "<..>", 4);
			n += 4;
			i = end;
			continue;
		}
		after_operator = step > 0 || (after_operator && name[i] == ' ');
		if (step == 0)
			step = 1;
		memcpy(out + n, name + i, step);
		n += step;
		i += step;
	}
	out[n] = 0;
	return out;
}
