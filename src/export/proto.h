/* export/proto.h - writing Protocol Buffers: fields of a message into a growing buffer.
 *
 * A message inside another one is made in a buffer of its own and put in with proto_bytes().
 * Fields that are 0 are left out, as proto3 does. Memory that runs out is remembered and told by
 * proto_check(), so that single calls need no check.
 */
#ifndef EXPORT_PROTO_H
#define EXPORT_PROTO_H

#include "util/err.h"

struct proto {
	uint8_t *byte;
	size_t n, cap;
	bool failed;
};

void proto_fini(struct proto *p);
void proto_clear(struct proto *p); /* keeps the memory */
void proto_varint(struct proto *p, uint64_t value); /* bare: for packed fields */
void proto_u64(struct proto *p, unsigned field, uint64_t value);
void proto_bytes(struct proto *p, unsigned field, const void *bytes, size_t len);
void proto_message(struct proto *p, unsigned field, const struct proto *message);
int proto_check(const struct proto *p, struct err *err);

#endif
