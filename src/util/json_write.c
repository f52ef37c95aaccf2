/* util/json_write.c - see json_write.h. */
#include "util/json_write.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "util/utf8.h"

void json_init(struct json *j, FILE *out)
{
	*j = (struct json){.out = out};
}

static void put_text(struct json *j, const char *text, size_t len)
{
	const uint8_t *p = (const uint8_t *)text;

	putc('"', j->out);
	for (size_t i = 0; i < len;) {
		unsigned n = utf8_length(p + i, len - i);

		if (n == 0) {
			fputs("\\ufffd", j->out);
			n = 1;
		} else if (n > 1) {
			fwrite(p + i, 1, n, j->out);
		} else if (p[i] == '"' || p[i] == '\\') {
			putc('\\', j->out);
			putc(p[i], j->out);
		} else if (p[i] == '\n') {
			fputs("\\n", j->out);
		} else if (p[i] < 0x20 || p[i] == 0x7f) {
			fprintf(j->out, "\\u%04x", p[i]);
		} else {
			putc(p[i], j->out);
		}
		i += n;
	}
	putc('"', j->out);
}

/* Comma and name, before every value. */
static void begin_value(struct json *j, const char *name)
{
	if (j->depth > 0) {
		if (j->has_value[j->depth - 1])
			putc(',', j->out);
		j->has_value[j->depth - 1] = true;
	}
	if (name) {
		put_text(j, name, strlen(name));
		putc(':', j->out);
	}
}

static void open_level(struct json *j, const char *name, char c)
{
	begin_value(j, name);
	putc(c, j->out);
	ASSERT(j->depth < JSON_MAX_DEPTH);
	j->has_value[j->depth++] = false;
}

static void close_level(struct json *j, char c)
{
	ASSERT(j->depth > 0);
	j->depth--;
	putc(c, j->out);
}

void json_object(struct json *j, const char *name)
{
	open_level(j, name, '{');
}

void json_array(struct json *j, const char *name)
{
	open_level(j, name, '[');
}

void json_at_end(struct json *j, void (*fn)(void *user), void *user)
{
	j->at_end = fn;
	j->at_end_user = user;
}

void json_end_object(struct json *j)
{
	if (j->at_end && j->depth == 1)
		j->at_end(j->at_end_user);
	close_level(j, '}');
}

void json_end_array(struct json *j)
{
	close_level(j, ']');
}

void json_u64(struct json *j, const char *name, uint64_t value)
{
	begin_value(j, name);
	fprintf(j->out, "%" PRIu64, value);
}

void json_i64(struct json *j, const char *name, int64_t value)
{
	begin_value(j, name);
	fprintf(j->out, "%" PRId64, value);
}

void json_bool(struct json *j, const char *name, bool value)
{
	begin_value(j, name);
	fputs(value ? "true" : "false", j->out);
}

void json_null(struct json *j, const char *name)
{
	begin_value(j, name);
	fputs("null", j->out);
}

void json_double(struct json *j, const char *name, double value, unsigned n_decimals)
{
	if (!isfinite(value)) {
		json_null(j, name);
		return;
	}
	begin_value(j, name);
	fprintf(j->out, "%.*f", (int)n_decimals, value);
}

void json_hex(struct json *j, const char *name, uint64_t value)
{
	begin_value(j, name);
	fprintf(j->out, "\"0x%" PRIx64 "\"", value);
}

void json_hex_bytes(struct json *j, const char *name, const uint8_t *bytes, size_t len)
{
	begin_value(j, name);
	putc('"', j->out);
	for (size_t i = 0; i < len; i++)
		fprintf(j->out, "%02x", bytes[i]);
	putc('"', j->out);
}

void json_text(struct json *j, const char *name, const char *text)
{
	if (!text) {
		json_null(j, name);
		return;
	}
	json_bytes(j, name, text, strlen(text));
}

void json_bytes(struct json *j, const char *name, const char *bytes, size_t len)
{
	begin_value(j, name);
	put_text(j, bytes, len);
}

void json_list(struct json *j, const char *name, const char *bytes, size_t len)
{
	json_array(j, name);
	for (size_t at = 0; at < len;) {
		size_t n = strnlen(bytes + at, len - at);

		json_bytes(j, NULL, bytes + at, n);
		at += n + 1;
	}
	json_end_array(j);
}

void json_line(struct json *j)
{
	ASSERT(j->depth == 0);
	putc('\n', j->out);
}
