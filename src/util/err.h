/* util/err.h - what went wrong, in words.
 *
 * A function that can fail returns 0 or -ERR_x and takes a struct err as its last parameter. The
 * lowest level writes the text with the numbers in it. Each caller that knows more puts its part in
 * front: "app.dat: block 17 at offset 4096: bad checksum". Only cli/ and serve/ show the text.
 */
#ifndef UTIL_ERR_H
#define UTIL_ERR_H

#include <stdarg.h>

#include "base/compiler.h"

enum err_code {
	ERR_NONE = 0,
	ERR_IO, /* the system refused: open, read, write */
	ERR_MEMORY, /* an allocation failed */
	ERR_LIMIT, /* more than a limit that the caller set or that the code has */
	ERR_FORMAT, /* the bytes make no sense */
	ERR_FOREIGN, /* a file of another kind */
	ERR_VERSION, /* a file of a version that this program does not read */
	ERR_USAGE, /* the user asked for something that does not exist */
	ERR_REFUSED, /* the operation would not work; the text says why */
	ERR_CANCELLED, /* the caller asked to stop */
};

struct err {
	enum err_code code;
	char text[512]; /* cut at the end when longer; never empty when code is set */
};

/* Sets code and text and returns -code. err may be NULL. */
int err_set(struct err *err, enum err_code code, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Sets ERR_IO and the text, adds ": " and the text for errno_value, and returns -ERR_IO. */
int err_set_errno(struct err *err, int errno_value, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Sets ERR_MEMORY and a text with the size, and returns -ERR_MEMORY. */
int err_set_memory(struct err *err, size_t size_bytes);

/* Puts "context: " in front of the text. err may be NULL. */
void err_prefix(struct err *err, const char *fmt, ...) PRINTF_LIKE(2, 3);

#endif
