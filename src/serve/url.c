/* serve/url.c - see url.h. */
#include "serve/url.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

size_t url_decode(const char *from, size_t len, bool plus_is_space, char *to)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		char c = from[i];

		if (c == '+' && plus_is_space) {
			c = ' ';
		} else if (c == '%' && len - i > 2 && text_hex_digit(from[i + 1]) >= 0 &&
			   text_hex_digit(from[i + 2]) >= 0) {
			c = (char)(text_hex_digit(from[i + 1]) << 4 | text_hex_digit(from[i + 2]));
			i += 2;
		}
		if (c == '\0')
			return SIZE_MAX;
		to[n++] = c;
	}
	to[n] = '\0';
	return n;
}

/* Decodes a part into the url's text, behind what is there. */
static int put(char **at, const char *from, size_t len, bool plus_is_space, const char **ret,
	       struct err *err)
{
	size_t n = url_decode(from, len, plus_is_space, *at);

	if (n == SIZE_MAX)
		return err_set(err, ERR_USAGE, "the address holds a zero byte");
	*ret = *at;
	*at += n + 1;
	return 0;
}

static int parse_path(struct url *u, char **at, const char *path, size_t len, struct err *err)
{
	size_t begin = 1, i;
	int r;

	if (len == 0 || path[0] != '/')
		return err_set(err, ERR_USAGE, "the path does not begin with '/'");
	if (len == 1)
		return 0;
	for (i = 1; i <= len; i++) {
		if (i < len && path[i] != '/')
			continue;
		if (u->n_segments == URL_MAX_SEGMENTS)
			return err_set(err, ERR_LIMIT, "the path has more than %u parts",
				       URL_MAX_SEGMENTS);
		r = put(at, path + begin, i - begin, false, &u->segment[u->n_segments], err);
		if (r < 0)
			return r;
		u->n_segments++;
		begin = i + 1;
	}
	return 0;
}

static int parse_pair(struct url *u, char **at, const char *text, size_t len, struct err *err)
{
	const char *equals = memchr(text, '=', len);
	size_t name_len = equals ? (size_t)(equals - text) : len;
	struct url_pair *p = &u->pair[u->n_pairs];
	int r;

	if (len == 0)
		return 0; /* "a=1&&b=2" */
	if (u->n_pairs == URL_MAX_PAIRS)
		return err_set(err, ERR_LIMIT, "there are more than %u parameters", URL_MAX_PAIRS);
	r = put(at, text, name_len, true, &p->name, err);
	if (r < 0)
		return r;
	if (equals)
		name_len++;
	r = put(at, text + name_len, len - name_len, true, &p->value, err);
	if (r < 0)
		return r;
	u->n_pairs++;
	return 0;
}

static int parse_query(struct url *u, char **at, const char *query, size_t len, struct err *err)
{
	size_t begin = 0;

	for (size_t i = 0; i <= len; i++) {
		int r;

		if (i < len && query[i] != '&')
			continue;
		r = parse_pair(u, at, query + begin, i - begin, err);
		if (r < 0)
			return r;
		begin = i + 1;
	}
	return 0;
}

int url_parse(const char *target, struct url *ret, struct err *err)
{
	size_t len = strcspn(target, "#");
	size_t path_len = strcspn(target, "?#");
	struct url u = URL_NONE;
	char *at;
	int r;

	if (len > URL_MAX_BYTES)
		return err_set(err, ERR_LIMIT, "the address has %zu bytes; %u are allowed", len,
			       URL_MAX_BYTES);
	/* Each part ends with a zero byte where there was a separator, or the target's end; a pair
	 * without '=' needs one more. */
	u.text = malloc(len + URL_MAX_PAIRS + 4);
	u.pair = calloc(URL_MAX_PAIRS, sizeof(*u.pair));
	if (!u.text || !u.pair) {
		r = err_set_memory(err, len + URL_MAX_PAIRS * sizeof(*u.pair));
		goto out;
	}
	at = u.text;
	r = parse_path(&u, &at, target, path_len, err);
	if (r < 0)
		goto out;
	if (path_len < len)
		r = parse_query(&u, &at, target + path_len + 1, len - path_len - 1, err);
	if (r < 0)
		goto out;
	*ret = u;
	u = URL_NONE; /* the caller's now */
out:
	url_fini(&u);
	return r;
}

void url_fini(struct url *u)
{
	free(u->text);
	free(u->pair);
	*u = URL_NONE;
}

void url_remove(struct url *u, const char *name)
{
	size_t n = 0;

	for (size_t i = 0; i < u->n_pairs; i++) {
		if (strcmp(u->pair[i].name, name) != 0)
			u->pair[n++] = u->pair[i];
	}
	u->n_pairs = n;
}

const char *url_find(const struct url *u, const char *name)
{
	for (size_t i = u->n_pairs; i-- > 0;) {
		if (strcmp(u->pair[i].name, name) == 0)
			return u->pair[i].value;
	}
	return NULL;
}

void url_encode(FILE *out, const char *text)
{
	for (; *text; text++) {
		bool is_plain = (*text >= '0' && *text <= '9') || (*text >= 'a' && *text <= 'z') ||
				(*text >= 'A' && *text <= 'Z') || strchr("-._~", *text);

		if (is_plain)
			putc(*text, out);
		else
			fprintf(out, "%%%02X", (unsigned char)*text);
	}
}
