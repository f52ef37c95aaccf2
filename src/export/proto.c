/* export/proto.c - see proto.h. */
#include "export/proto.h"

#include <stdlib.h>
#include <string.h>

#include "util/vec.h"

enum wire_type {
	WIRE_VARINT = 0,
	WIRE_LENGTH = 2,
};

void proto_fini(struct proto *p)
{
	free(p->byte);
	*p = (struct proto){0};
}

void proto_clear(struct proto *p)
{
	p->n = 0;
}

static bool reserve(struct proto *p, size_t n_more)
{
	if (vec_reserve(&p->byte, &p->cap, p->n + n_more, 1, NULL) < 0)
		p->failed = true;
	return !p->failed;
}

void proto_varint(struct proto *p, uint64_t value)
{
	if (!reserve(p, 10))
		return;
	for (; value >= 0x80; value >>= 7)
		p->byte[p->n++] = (uint8_t)(value | 0x80);
	p->byte[p->n++] = (uint8_t)value;
}

static void put_key(struct proto *p, unsigned field, enum wire_type type)
{
	proto_varint(p, (uint64_t)field << 3 | type);
}

void proto_u64(struct proto *p, unsigned field, uint64_t value)
{
	if (value == 0)
		return;
	put_key(p, field, WIRE_VARINT);
	proto_varint(p, value);
}

void proto_bytes(struct proto *p, unsigned field, const void *bytes, size_t len)
{
	put_key(p, field, WIRE_LENGTH);
	proto_varint(p, len);
	if (len == 0 || !reserve(p, len))
		return;
	memcpy(p->byte + p->n, bytes, len);
	p->n += len;
}

void proto_message(struct proto *p, unsigned field, const struct proto *message)
{
	proto_bytes(p, field, message->byte, message->n);
	p->failed = p->failed || message->failed;
}

int proto_check(const struct proto *p, struct err *err)
{
	return p->failed ? err_set_memory(err, p->n) : 0;
}
