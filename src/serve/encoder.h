/* serve/encoder.h - compresses an answer while it is made.
 *
 * The levels are fast ones. The client is nearly always on the same machine: there compression
 * saves memory in queues and caches rather than time on the network.
 */
#ifndef SERVE_ENCODER_H
#define SERVE_ENCODER_H

#include "util/err.h"

enum encoding {
	ENCODING_NONE,
	ENCODING_GZIP,
	ENCODING_ZSTD,
};

/* The best encoding that an Accept-Encoding header allows; NULL: ENCODING_NONE. A weight counts
 * only as zero or not zero. */
enum encoding encoding_choose(const char *accept_encoding);

/* The name for Content-Encoding; NULL for ENCODING_NONE. */
const char *encoding_name(enum encoding e);

struct encoder; /* opaque: defined in encoder.c */

/* Receives the result. Returns false to stop: the client has gone. */
typedef bool (*encoder_sink)(void *user, const uint8_t *bytes, size_t len);

int encoder_create(enum encoding e, encoder_sink sink, void *user, struct encoder **ret,
		   struct err *err);
void encoder_destroy(struct encoder *e); /* NULL does nothing */

/* False: the sink returned false, or the compressor failed. Nothing more can be written then. */
bool encoder_write(struct encoder *e, const uint8_t *bytes, size_t len);
bool encoder_finish(struct encoder *e);

#endif
