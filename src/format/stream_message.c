/* format/stream_message.c - see stream_message.h. */
#include "format/stream_message.h"

#include <string.h>

#include "base/cursor.h"

#define ANNOUNCE_MAGIC "MPSTRANN"
#define MAGIC_BYTES 8

static size_t put_name(const char *name, uint8_t *out)
{
	size_t len = 0;

	while (len < STREAM_MAX_NAME - 1 && name[len])
		len++;
	store_le32(out, (uint32_t)len);
	memcpy(out + 4, name, len);
	return 4 + len;
}

/* The last field of its message. */
static void get_name(struct cursor *c, char *ret)
{
	uint32_t len = cursor_u32(c);
	const uint8_t *bytes = len < STREAM_MAX_NAME ? cursor_take(c, len) : NULL;

	if (bytes)
		memcpy(ret, bytes, len);
	else
		c->failed = true;
	ret[bytes ? len : 0] = 0;
}

static void get_id(struct cursor *c, uint8_t *ret)
{
	const uint8_t *id = cursor_take(c, STREAM_ID_BYTES);

	if (id)
		memcpy(ret, id, STREAM_ID_BYTES);
}

size_t stream_process_encode(const struct stream_process *p, uint8_t *out)
{
	memcpy(out, p->id, STREAM_ID_BYTES);
	store_le32(out + 16, p->pid);
	store_le32(out + 20, p->first_piece);
	store_le32(out + 24, p->last_piece);
	return 28 + put_name(p->name, out + 28);
}

bool stream_process_decode(const uint8_t *data, size_t len, struct stream_process *ret)
{
	struct cursor c = cursor_make(data, len);
	struct stream_process p = {0};

	get_id(&c, p.id);
	p.pid = cursor_u32(&c);
	p.first_piece = cursor_u32(&c);
	p.last_piece = cursor_u32(&c);
	get_name(&c, p.name);
	if (c.failed || p.first_piece == 0 || p.last_piece < p.first_piece)
		return false;
	*ret = p;
	return true;
}

size_t stream_piece_encode(const struct stream_piece *p, uint8_t *out)
{
	memcpy(out, p->id, STREAM_ID_BYTES);
	store_le64(out + 16, p->start_realtime_ns);
	store_le32(out + 24, p->number);
	store_le32(out + 28, p->flags);
	store_le64(out + 32, p->n_bytes);
	return STREAM_PIECE_BYTES;
}

bool stream_piece_decode(const uint8_t *data, size_t len, struct stream_piece *ret)
{
	struct cursor c = cursor_make(data, len);
	struct stream_piece p = {0};

	get_id(&c, p.id);
	p.start_realtime_ns = cursor_u64(&c);
	p.number = cursor_u32(&c);
	p.flags = cursor_u32(&c);
	p.n_bytes = cursor_u64(&c);
	if (c.failed || p.number == 0)
		return false;
	*ret = p;
	return true;
}

size_t stream_announcement_encode(const struct stream_announcement *a, uint8_t *out)
{
	memcpy(out, ANNOUNCE_MAGIC, MAGIC_BYTES);
	store_le32(out + 8, STREAM_VERSION);
	store_le32(out + 12, a->needs_token ? STREAM_NEEDS_TOKEN : 0);
	memcpy(out + 16, a->id, STREAM_ID_BYTES);
	store_le32(out + 32, a->pid);
	store_le32(out + 36, a->port);
	return 40 + put_name(a->name, out + 40);
}

bool stream_announcement_decode(const uint8_t *data, size_t len, struct stream_announcement *ret)
{
	struct cursor c = cursor_make(data, len);
	struct stream_announcement a = {0};
	const uint8_t *magic = cursor_take(&c, MAGIC_BYTES);
	uint32_t version = cursor_u32(&c), flags = cursor_u32(&c), port;

	get_id(&c, a.id);
	a.pid = cursor_u32(&c);
	port = cursor_u32(&c);
	get_name(&c, a.name);
	if (c.failed || memcmp(magic, ANNOUNCE_MAGIC, MAGIC_BYTES) != 0 || port == 0 ||
	    port > 65535 || version != STREAM_VERSION)
		return false;
	a.port = (uint16_t)port;
	a.needs_token = flags & STREAM_NEEDS_TOKEN;
	*ret = a;
	return true;
}
