/* serve/encoder.c - see encoder.h. */
#include "serve/encoder.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>
#include <zstd.h>

#define OUT_BYTES 32768u
#define GZIP_LEVEL 1
#define ZSTD_LEVEL 1
#define GZIP_WINDOW (15 + 16) /* 32 KiB; + 16: with gzip's header instead of zlib's */

struct encoder {
	enum encoding kind;
	encoder_sink sink;
	void *user;
	z_stream gzip;
	ZSTD_CStream *zstd;
	uint8_t out[OUT_BYTES];
};

const char *encoding_name(enum encoding e)
{
	return e == ENCODING_GZIP ? "gzip" : e == ENCODING_ZSTD ? "zstd" : NULL;
}

/* Is there a q= of zero among the parameters? */
static bool is_refused(const char *parameters, size_t len)
{
	for (size_t i = 0; i + 2 < len; i++) {
		if ((parameters[i] == 'q' || parameters[i] == 'Q') && parameters[i + 1] == '=')
			return parameters[i + 2] == '0' &&
			       strspn(parameters + i + 2, "0.") >=
				       strcspn(parameters + i + 2, ",; ");
	}
	return false;
}

enum encoding encoding_choose(const char *accept_encoding)
{
	const char *p = accept_encoding ? accept_encoding : "";
	enum encoding best = ENCODING_NONE;

	while (*p) {
		size_t len, name;

		p += strspn(p, " \t,");
		len = strcspn(p, ",");
		name = strcspn(p, " \t,;");
		if (!is_refused(p + name, len - name)) {
			if (name == 4 && strncasecmp(p, "zstd", 4) == 0)
				best = ENCODING_ZSTD;
			else if (name == 4 && strncasecmp(p, "gzip", 4) == 0 && best == 0)
				best = ENCODING_GZIP;
		}
		p += len;
	}
	return best;
}

int encoder_create(enum encoding kind, encoder_sink sink, void *user, struct encoder **ret,
		   struct err *err)
{
	struct encoder *e = calloc(1, sizeof(*e));

	if (!e)
		return err_set_memory(err, sizeof(*e));
	e->kind = kind;
	e->sink = sink;
	e->user = user;
	if (kind == ENCODING_GZIP && deflateInit2(&e->gzip, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, 8,
						  Z_DEFAULT_STRATEGY) != Z_OK) {
		free(e);
		return err_set(err, ERR_MEMORY, "cannot set up gzip");
	}
	if (kind == ENCODING_ZSTD) {
		e->zstd = ZSTD_createCStream();
		if (!e->zstd || ZSTD_isError(ZSTD_initCStream(e->zstd, ZSTD_LEVEL))) {
			ZSTD_freeCStream(e->zstd);
			free(e);
			return err_set(err, ERR_MEMORY, "cannot set up zstd");
		}
	}
	*ret = e;
	return 0;
}

void encoder_destroy(struct encoder *e)
{
	if (!e)
		return;
	if (e->kind == ENCODING_GZIP)
		deflateEnd(&e->gzip);
	ZSTD_freeCStream(e->zstd);
	free(e);
}

static bool write_gzip(struct encoder *e, const uint8_t *bytes, size_t len, bool is_last)
{
	int r;

	e->gzip.next_in = (Bytef *)(uintptr_t)bytes;
	e->gzip.avail_in = (uInt)len;
	do {
		e->gzip.next_out = e->out;
		e->gzip.avail_out = OUT_BYTES;
		r = deflate(&e->gzip, is_last ? Z_FINISH : Z_NO_FLUSH);
		if (r == Z_STREAM_ERROR)
			return false;
		if (e->gzip.avail_out < OUT_BYTES &&
		    !e->sink(e->user, e->out, OUT_BYTES - e->gzip.avail_out))
			return false;
	} while (e->gzip.avail_out == 0 || (is_last && r != Z_STREAM_END));
	return true;
}

static bool write_zstd(struct encoder *e, const uint8_t *bytes, size_t len, bool is_last)
{
	ZSTD_inBuffer in = {bytes, len, 0};
	size_t left;

	do {
		ZSTD_outBuffer out = {e->out, OUT_BYTES, 0};

		left = ZSTD_compressStream2(e->zstd, &out, &in,
					    is_last ? ZSTD_e_end : ZSTD_e_continue);
		if (ZSTD_isError(left))
			return false;
		if (out.pos && !e->sink(e->user, e->out, out.pos))
			return false;
	} while (in.pos < in.size || (is_last && left));
	return true;
}

static bool encode(struct encoder *e, const uint8_t *bytes, size_t len, bool is_last)
{
	if (e->kind == ENCODING_GZIP)
		return write_gzip(e, bytes, len, is_last);
	if (e->kind == ENCODING_ZSTD)
		return write_zstd(e, bytes, len, is_last);
	return len == 0 || e->sink(e->user, bytes, len);
}

bool encoder_write(struct encoder *e, const uint8_t *bytes, size_t len)
{
	ASSERT(len <= UINT32_MAX);
	return encode(e, bytes, len, false);
}

bool encoder_finish(struct encoder *e)
{
	return encode(e, NULL, 0, true);
}
