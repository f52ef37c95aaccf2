/* serve/encoder.h - compressing an answer while it is made.
 *
 * Fast levels: the client is nearly always on the same machine, where compression saves memory
 * in queues and caches rather than time on the wire.
 */
#ifndef SERVE_ENCODER_H
#define SERVE_ENCODER_H

#include "util/err.h"

enum encoding {
	ENCODING_NONE,
	ENCODING_GZIP,
	ENCODING_ZSTD,
};

/* The best of ours that an Accept-Encoding header allows; NULL: none. Weights count only as zero
 * or not. */
enum encoding encoding_choose(const char *accept_encoding);

/* As in Content-Encoding; NULL for none. */
const char *encoding_name(enum encoding e);

struct encoder; /* opaque: defined in encoder.c */

/* Where the result goes. Returns false to stop: the client has gone. */
typedef bool (*encoder_sink)(void *user, const uint8_t *bytes, size_t len);

int encoder_create(enum encoding e, encoder_sink sink, void *user, struct encoder **ret,
		   struct err *err);
void encoder_destroy(struct encoder *e); /* NULL does nothing */

/* False: the sink said so, or the compressor failed; nothing more can be written. */
bool encoder_write(struct encoder *e, const uint8_t *bytes, size_t len);
bool encoder_finish(struct encoder *e);

#endif
