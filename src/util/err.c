/* util/err.c - see err.h. */
#include "util/err.h"

#include <stdio.h>
#include <string.h>

int err_set(struct err *err, enum err_code code, const char *fmt, ...)
{
	va_list ap;

	if (err) {
		err->code = code;
		va_start(ap, fmt);
		vsnprintf(err->text, sizeof(err->text), fmt, ap);
		va_end(ap);
	}
	return -(int)code;
}

int err_set_errno(struct err *err, int errno_value, const char *fmt, ...)
{
	char why[128];
	size_t len;
	va_list ap;

	if (!err)
		return -ERR_IO;
	err->code = ERR_IO;
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	len = strlen(err->text);
	snprintf(err->text + len, sizeof(err->text) - len, ": %s",
		 strerror_r(errno_value, why, sizeof(why)));
	return -ERR_IO;
}

int err_set_memory(struct err *err, size_t size_bytes)
{
	return err_set(err, ERR_MEMORY, "out of memory (%zu bytes asked for)", size_bytes);
}

void err_prefix(struct err *err, const char *fmt, ...)
{
	char rest[sizeof(err->text)];
	size_t len;
	va_list ap;

	if (!err)
		return;
	memcpy(rest, err->text, sizeof(rest));
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	len = strlen(err->text);
	snprintf(err->text + len, sizeof(err->text) - len, ": %s", rest);
}
