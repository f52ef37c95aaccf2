/* record/stream_client.c - see stream_client.h. */
#include "record/stream_client.h"

#include <string.h>

#include "base/blake2b.h"
#include "base/bytes.h"
#include "record/sys.h"

#pragma GCC diagnostic ignored "-Wframe-larger-than=" /* the writer's own stack, not the target's */

#define STEP_BYTES (1 * MIB) /* for one client, before the writer looks after its blocks again */
#define IDLE_NS NS_PER_S
#define HANDSHAKE_PAUSE_NS (10 * NS_PER_MS)
#define LEAST_RETRY_NS NS_PER_MS
#define MOST_RETRY_NS (32 * NS_PER_MS)
#define MAX_FRAMES_IN 8 /* in one step */

static uint8_t *out_buf(struct stream_client *c)
{
	return c->memory ? c->memory->out : c->early;
}

/* The payload of the next frame; only while no frame is on its way. */
static uint8_t *payload(struct stream_client *c)
{
	return out_buf(c) + STREAM_HEAD_BYTES;
}

static void put_frame(struct stream_client *c, unsigned type, size_t payload_bytes)
{
	c->out_bytes = stream_frame_seal(&c->out, type, out_buf(c), payload_bytes);
	c->out_done = 0;
}

void stream_client_begin(struct stream_client *c, int fd, const struct sockaddr_in6 *peer,
			 const struct stream_offer *offer, uint64_t now_ns)
{
	memset(c, 0, sizeof(*c));
	c->state = STREAM_CLIENT_HANDSHAKE;
	c->fd = fd;
	c->peer = *peer;
	c->began_ns = c->last_sent_ns = now_ns;
	memcpy(c->handshake.token_key, offer->token_key, STREAM_KEY_BYTES);
	if (arch_syscall3(SYS_getrandom, c->handshake.recorder_nonce, STREAM_NONCE_BYTES, 0) !=
	    STREAM_NONCE_BYTES) {
		c->why = "the system gives no random numbers";
		return;
	}
	memcpy(payload(c), STREAM_MAGIC, 8);
	store_le32(payload(c) + 8, STREAM_VERSION);
	store_le32(payload(c) + 12, offer->needs_token ? STREAM_NEEDS_TOKEN : 0);
	memcpy(payload(c) + 16, c->handshake.recorder_nonce, STREAM_NONCE_BYTES);
	put_frame(c, STREAM_HELLO, 16 + STREAM_NONCE_BYTES);
}

void stream_client_end(struct stream_client *c)
{
	if (c->memory)
		c->memory->is_taken = false;
	sys_close(c->fd);
	memset(c, 0, sizeof(*c));
}

/* Says why, as far as the socket takes it, and ends. */
static void refuse(struct stream_client *c, const char *why)
{
	size_t len = strlen(why);

	c->why = why;
	if (c->out_done < c->out_bytes)
		return;
	memcpy(payload(c), why, len);
	put_frame(c, STREAM_REFUSED, len);
	stream_socket_send(c->fd, out_buf(c), c->out_bytes);
}

static void take_proof(struct stream_client *c, const struct stream_frame *f,
		       struct stream_client_memory *memory, unsigned n_memory)
{
	uint8_t expected[STREAM_PROOF_BYTES];

	if (f->n_bytes != 8 + STREAM_NONCE_BYTES + STREAM_PROOF_BYTES) {
		refuse(c, "not a client of memory-profiler");
		return;
	}
	if (load_le32(f->payload) != STREAM_VERSION) {
		refuse(c, "the client speaks another version of the protocol");
		return;
	}
	memcpy(c->handshake.client_nonce, f->payload + 8, STREAM_NONCE_BYTES);
	stream_handshake_proof(&c->handshake, STREAM_CLIENT, expected);
	if (!blake2b_is_same(expected, f->payload + 8 + STREAM_NONCE_BYTES, sizeof(expected))) {
		refuse(c, "wrong token");
		return;
	}
	for (unsigned i = 0; i < n_memory && !c->memory; i++) {
		if (!memory[i].is_taken)
			c->memory = &memory[i];
	}
	if (!c->memory) {
		refuse(c, "too many clients");
		return;
	}
	c->memory->is_taken = true;
	stream_handshake_proof(&c->handshake, STREAM_RECORDER, payload(c));
	put_frame(c, STREAM_WELCOME, STREAM_PROOF_BYTES);
	stream_handshake_seal(&c->handshake, STREAM_CLIENT, &c->in);
	stream_handshake_seal(&c->handshake, STREAM_RECORDER, &c->out);
	c->state = STREAM_CLIENT_LISTED;
}

static const struct stream_file *find_file(const struct stream_offer *offer, uint32_t number)
{
	for (uint32_t i = 0; i < offer->n_files; i++) {
		if (offer->file[i].number == number && offer->file[i].fd >= 0)
			return &offer->file[i];
	}
	return NULL;
}

static void take_open(struct stream_client *c, const struct stream_offer *offer, uint32_t number)
{
	uint8_t head[FILE_HEADER_FIXED_BYTES];
	struct stream_piece piece = {.number = number};
	struct file_header h;

	if (number == 0) { /* asks what there is */
		put_frame(c, STREAM_PROCESS, stream_process_encode(&offer->process, payload(c)));
		return;
	}
	c->file = find_file(offer, number);
	if (!c->file || sys_pread(c->file->fd, head, sizeof(head), 0) != (long)sizeof(head) ||
	    file_header_decode(head, sizeof(head), &h) != FILE_HEADER_OK) {
		store_le32(payload(c), number);
		store_le32(payload(c) + 4, offer->process.first_piece);
		put_frame(c, STREAM_GONE, 8);
		c->state = STREAM_CLIENT_LISTED;
		return;
	}
	memcpy(piece.id, h.recording_id, sizeof(piece.id));
	piece.start_realtime_ns = h.start_realtime_ns;
	piece.n_bytes = stream_source_end(c->file);
	put_frame(c, STREAM_PIECE, stream_piece_encode(&piece, payload(c)));
	c->state = STREAM_CLIENT_OPENED;
}

/* A request of a client that knows the token. No frame is on its way. */
static void take_request(struct stream_client *c, const struct stream_frame *f,
			 const struct stream_offer *offer)
{
	uint64_t offset;

	if (f->type == STREAM_OPEN && f->n_bytes == 4) {
		take_open(c, offer, load_le32(f->payload));
		return;
	}
	if (f->type == STREAM_START && f->n_bytes == 8 && c->state == STREAM_CLIENT_OPENED) {
		offset = load_le64(f->payload);
		if (offset > stream_source_end(c->file)) {
			c->why = "the client asked for more than there is";
			return;
		}
		stream_source_begin(&c->source, c->file, offset, c->memory->sent);
		c->state = STREAM_CLIENT_SENDING;
		return;
	}
	if (f->type == STREAM_SEEN_END && f->n_bytes == 0) {
		c->has_seen_end = true;
		return;
	}
	if (f->type != STREAM_ACK)
		c->why = "the client broke the protocol";
}

/* Receives at most one buffer full. False: the connection is over. */
static bool receive(struct stream_client *c)
{
	long n;

	if (c->n_in == sizeof(c->in_buf))
		return true;
	n = stream_socket_receive(c->fd, c->in_buf + c->n_in, sizeof(c->in_buf) - c->n_in);
	if (n == SYS_EAGAIN || n == SYS_EINTR)
		return true;
	if (n <= 0)
		return false;
	c->n_in += (size_t)n;
	return true;
}

/* Takes the next request if there is one, while no frame of ours is on its way: so a client that
 * asks without listening waits for itself. */
static void take_requests(struct stream_client *c, const struct stream_offer *offer,
			  struct stream_client_memory *memory, unsigned n_memory)
{
	struct stream_frame f;
	size_t used;

	for (unsigned i = 0; i < MAX_FRAMES_IN && !c->why && c->out_done == c->out_bytes; i++) {
		enum stream_parse p = stream_frame_parse(&c->in, c->in_buf, c->n_in,
							 STREAM_MAX_REQUEST, &f, &used);

		if (p == STREAM_PARSE_MORE)
			return;
		if (p == STREAM_PARSE_BAD) {
			c->why = c->in.is_on ? "a frame that the client did not make"
					     : "not a client of memory-profiler";
			return;
		}
		if (c->state != STREAM_CLIENT_HANDSHAKE)
			take_request(c, &f, offer);
		else if (f.type == STREAM_PROOF)
			take_proof(c, &f, memory, n_memory);
		else
			refuse(c, "not a client of memory-profiler");
		if (c->state == STREAM_CLIENT_NONE)
			return;
		memmove(c->in_buf, c->in_buf + used, c->n_in - used);
		c->n_in -= used;
	}
}

/* Makes the next frame. False: there is none now. */
static bool make_frame(struct stream_client *c, uint64_t now_ns)
{
	size_t n_bytes = 0;
	long type = 0;

	if (c->state == STREAM_CLIENT_SENDING)
		type = stream_source_next(&c->source, now_ns, payload(c), &n_bytes);
	if (type < 0) {
		c->why = "the recording cannot be read";
		return false;
	}
	if (type == STREAM_PIECE_END) {
		c->state = STREAM_CLIENT_LISTED;
		c->began_ns = now_ns;
	}
	if (type == STREAM_END)
		c->has_seen_end = false;
	if (type == 0 && c->memory && now_ns - c->last_sent_ns > IDLE_NS)
		type = STREAM_IDLE;
	if (type == 0)
		return false;
	put_frame(c, (unsigned)type, n_bytes);
	return true;
}

/* Sends until the socket is full, there is nothing to send, or it is others' turn. */
static void send_frames(struct stream_client *c, uint64_t now_ns)
{
	size_t n_sent = 0;
	long n;

	while (!c->why && n_sent < STEP_BYTES) {
		if (c->out_done == c->out_bytes && !make_frame(c, now_ns))
			return;
		n = stream_socket_send(c->fd, out_buf(c) + c->out_done, c->out_bytes - c->out_done);
		if (n == SYS_EAGAIN || n == SYS_EINTR) {
			c->retry_ns = c->retry_ns ? c->retry_ns * 2 : LEAST_RETRY_NS;
			if (c->retry_ns > MOST_RETRY_NS)
				c->retry_ns = MOST_RETRY_NS;
			return;
		}
		if (n <= 0) {
			c->why = "the connection broke";
			return;
		}
		c->out_done += (size_t)n;
		n_sent += (size_t)n;
		c->retry_ns = 0;
		c->last_sent_ns = now_ns;
	}
	c->retry_ns = LEAST_RETRY_NS; /* there is more */
}

bool stream_client_step(struct stream_client *c, const struct stream_offer *offer,
			struct stream_client_memory *memory, unsigned n_memory, uint64_t now_ns)
{
	if (c->why || !receive(c))
		return false;
	take_requests(c, offer, memory, n_memory);
	if (!c->why)
		send_frames(c, now_ns);
	return !c->why;
}

uint64_t stream_client_pause_ns(const struct stream_client *c, uint64_t now_ns)
{
	if (c->retry_ns)
		return c->retry_ns;
	if (c->state != STREAM_CLIENT_SENDING)
		return HANDSHAKE_PAUSE_NS;
	if (stream_client_is_behind(c) || now_ns >= c->source.pass_due_ns)
		return LEAST_RETRY_NS;
	return c->source.pass_due_ns - now_ns;
}

bool stream_client_is_behind(const struct stream_client *c)
{
	return c->state >= STREAM_CLIENT_LISTED &&
	       !(c->state == STREAM_CLIENT_SENDING && c->has_seen_end && c->source.is_end_sent) &&
	       (c->state != STREAM_CLIENT_SENDING || stream_source_has_ended(c->source.file) ||
		!stream_source_is_abreast(&c->source));
}
