/* export/proto.h - writing Protocol Buffers: fields of a message into a growing buffer.
 *
 * A message inside another one is made in a buffer of its own and added with proto_message().
 * Fields with the value 0 are left out, as proto3 does. A call that finds no memory sets `failed`;
 * proto_check() reports the failure, so single calls need no check.
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
void proto_varint(struct proto *p, uint64_t value); /* without a field number: for packed fields */
void proto_u64(struct proto *p, unsigned field, uint64_t value);
void proto_bytes(struct proto *p, unsigned field, const void *bytes, size_t len);
void proto_message(struct proto *p, unsigned field, const struct proto *message);
int proto_check(const struct proto *p, struct err *err); /* 0, or -ERR_MEMORY */

#endif
