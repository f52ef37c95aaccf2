/* export/gzip_out.c - see gzip_out.h. */
#include "export/gzip_out.h"

#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/units.h"

struct gzip_out {
	FILE *out;
	z_stream z;
	uint8_t buffer[64 * KIB];
};

#define GZIP_WINDOW (15 + 16) /* + 16: gzip instead of zlib */
#define GZIP_MEMORY 8
#define GZIP_LEVEL 6

/* Compresses the input of z and writes the result. 0, or -1. */
static int pump(struct gzip_out *g, int flush)
{
	int r;

	do {
		g->z.next_out = g->buffer;
		g->z.avail_out = sizeof(g->buffer);
		r = deflate(&g->z, flush);
		if (r == Z_STREAM_ERROR)
			return -1;
		size_t n = sizeof(g->buffer) - g->z.avail_out;

		if (n && fwrite(g->buffer, 1, n, g->out) != n)
			return -1;
	} while (g->z.avail_out == 0);
	return 0;
}

static ssize_t gzip_write(void *cookie, const char *bytes, size_t len)
{
	struct gzip_out *g = cookie;
	uInt n = len > UINT32_MAX / 2 ? UINT32_MAX / 2 : (uInt)len;

	g->z.next_in = (Bytef *)(uintptr_t)bytes;
	g->z.avail_in = n;
	return pump(g, Z_NO_FLUSH) < 0 ? 0 : (ssize_t)n; /* 0: an error, for fopencookie() */
}

static int gzip_close(void *cookie)
{
	struct gzip_out *g = cookie;
	int r;

	g->z.avail_in = 0;
	r = pump(g, Z_FINISH);
	deflateEnd(&g->z);
	free(g);
	return r;
}

int gzip_out_open(FILE *out, FILE **ret, struct err *err)
{
	const cookie_io_functions_t io = {.write = gzip_write, .close = gzip_close};
	struct gzip_out *g = calloc(1, sizeof(*g));
	FILE *f;

	if (!g)
		return err_set_memory(err, sizeof(*g));
	g->out = out;
	if (deflateInit2(&g->z, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY,
			 Z_DEFAULT_STRATEGY) != Z_OK) {
		free(g);
		return err_set_memory(err, 256 * KIB);
	}
	f = fopencookie(g, "w", io);
	if (!f) {
		deflateEnd(&g->z);
		free(g);
		return err_set_memory(err, sizeof(FILE));
	}
	*ret = f;
	return 0;
}

int gzip_out_close(FILE *gzip, FILE *out, struct err *err)
{
	bool failed = fflush(gzip) != 0;

	failed = fclose(gzip) != 0 || failed || ferror(out);
	return failed ? err_set_errno(err, errno ? errno : EIO, "cannot write the output") : 0;
}
