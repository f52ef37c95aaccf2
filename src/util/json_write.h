/* util/json_write.h - writing JSON to a stdio stream.
 *
 * The caller opens and closes objects and arrays in a sensible order (asserted where cheap); the
 * writer puts commas, quotes and escapes. Each byte that is not valid UTF-8 becomes U+FFFD, so
 * every JSON parser accepts the result. The byte itself is lost: names of files and arguments that
 * are not UTF-8 are rare, and readers of the JSON show them instead of opening them.
 * Errors: check ferror() of the stream at the end. Threads: one at a time per struct json.
 */
#ifndef UTIL_JSON_WRITE_H
#define UTIL_JSON_WRITE_H

#include <stdio.h>

#include "base/compiler.h"

#define JSON_MAX_DEPTH 32

struct json {
	FILE *out;
	void (*at_end)(void *user); /* json_at_end(); or NULL */
	void *at_end_user;
	unsigned depth;
	bool has_value[JSON_MAX_DEPTH]; /* of the open object or array at each depth */
};

void json_init(struct json *j, FILE *out);

/* Calls fn before the object at the top ends, so that it can add members. */
void json_at_end(struct json *j, void (*fn)(void *user), void *user);

/* name is NULL inside arrays and at the top. */
void json_object(struct json *j, const char *name); /* opens */
void json_array(struct json *j, const char *name);
void json_end_object(struct json *j);
void json_end_array(struct json *j);
void json_u64(struct json *j, const char *name, uint64_t value);
void json_i64(struct json *j, const char *name, int64_t value);
void json_bool(struct json *j, const char *name, bool value);
void json_null(struct json *j, const char *name);
void json_double(struct json *j, const char *name, double value, unsigned n_decimals);
void json_hex(struct json *j, const char *name, uint64_t value); /* "0x..." */
void json_hex_bytes(struct json *j, const char *name, const uint8_t *bytes, size_t len);
void json_text(struct json *j, const char *name, const char *text); /* NULL: null */
void json_bytes(struct json *j, const char *name, const char *bytes, size_t len);

/* An array of the texts in bytes, each but the last ended by a zero byte. */
void json_list(struct json *j, const char *name, const char *bytes, size_t len);

/* Ends the line after a top-level value; another value may follow. */
void json_line(struct json *j);

#endif
