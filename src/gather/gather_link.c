/* gather/gather_link.c - see gather_link.h. */
#include "gather/gather_link.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/blake2b.h"
#include "base/bytes.h"

#define IN_BYTES (2 * (STREAM_HEAD_BYTES + STREAM_MAX_PAYLOAD + STREAM_MAC_BYTES))
#define PAUSE_NS NS_PER_S /* before the next try */
#define CONNECT_NS (10 * NS_PER_S)
#define SILENCE_NS (15 * NS_PER_S) /* the recorder says something every second */
#define MAX_REFUSED 4 /* in a row, PAUSE_NS apart: nobody listens there any more */
#define MAX_READS 64 /* in one step: others wait */

int gather_link_init(struct gather_link *l, const struct gather_link_options *options,
		     struct err *err)
{
	*l = (struct gather_link){
		.options = options,
		.fd = -1,
		.file = RECEIVED_FILE_NONE,
		.in_buf = malloc(IN_BYTES),
	};
	if (!l->in_buf)
		return err_set_memory(err, IN_BYTES);
	stream_token_key(options->token, l->handshake.token_key);
	return 0;
}

void gather_link_add_address(struct gather_link *l, const void *address, size_t n_bytes)
{
	struct gather_address *a = &l->address[l->n_addresses];

	if (l->n_addresses == GATHER_LINK_MAX_ADDRESSES || n_bytes > sizeof(a->address))
		return;
	memcpy(&a->address, address, n_bytes);
	a->n_bytes = (socklen_t)n_bytes;
	l->n_addresses++;
}

static void disconnect(struct gather_link *l)
{
	if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
	l->n_in = l->n_out = l->out_done = 0;
	memset(&l->in, 0, sizeof(l->in));
	memset(&l->out, 0, sizeof(l->out));
}

void gather_link_fini(struct gather_link *l)
{
	disconnect(l);
	received_file_close(&l->file);
	free(l->in_buf);
	l->in_buf = NULL;
}

static void enter(struct gather_link *l, enum gather_link_state state, uint64_t now_ns)
{
	l->state = state;
	l->since_ns = now_ns;
}

/* It is over for good. */
static void finish(struct gather_link *l, enum gather_link_event event)
{
	disconnect(l);
	l->state = GATHER_LINK_OVER;
	l->event = event;
}

void gather_link_stop(struct gather_link *l)
{
	if (l->state == GATHER_LINK_OVER)
		return;
	err_set(&l->err, ERR_CANCELLED, "stopped");
	finish(l, l->has_ended      ? GATHER_LINK_ENDED
		  : l->file.fd >= 0 ? GATHER_LINK_CUT
				    : GATHER_LINK_NOTHING);
}

/* The connection broke, or never came to be. l->err says why. */
static void lose(struct gather_link *l, bool was_refused, uint64_t now_ns)
{
	bool was_receiving = l->state >= GATHER_LINK_LISTED;

	disconnect(l);
	if (l->has_ended) {
		finish(l, GATHER_LINK_ENDED);
		return;
	}
	if (!l->lost_ns)
		l->lost_ns = now_ns;
	if (l->state == GATHER_LINK_CONNECTING && ++l->at_address < l->n_addresses) {
		enter(l, GATHER_LINK_WAITING, 0); /* the next address at once */
		return;
	}
	l->at_address = was_receiving ? l->at_address : 0;
	l->n_refused = was_refused ? l->n_refused + 1 : 0;
	if (l->n_refused >= MAX_REFUSED ||
	    now_ns - l->lost_ns > (uint64_t)l->options->wait_s * NS_PER_S) {
		finish(l, l->file.fd >= 0 ? GATHER_LINK_CUT : GATHER_LINK_FAILED);
		return;
	}
	enter(l, GATHER_LINK_WAITING, now_ns);
	if (was_receiving)
		l->event = GATHER_LINK_BROKE;
}

/* ---- what we send ---- */

static void put_frame(struct gather_link *l, unsigned type, const void *payload, size_t len)
{
	uint8_t *at = l->out_buf + l->n_out;

	if (l->n_out + STREAM_HEAD_BYTES + len + STREAM_MAC_BYTES > sizeof(l->out_buf))
		return; /* the recorder reads nothing: SILENCE_NS ends the connection */
	if (len)
		memcpy(at + STREAM_HEAD_BYTES, payload, len);
	l->n_out += stream_frame_seal(&l->out, type, at, len);
}

static void ask_for_piece(struct gather_link *l, uint32_t number)
{
	uint8_t payload[4];

	store_le32(payload, number);
	put_frame(l, STREAM_OPEN, payload, sizeof(payload));
}

static void send_now(struct gather_link *l, uint64_t now_ns)
{
	ssize_t n;

	if (l->fd < 0 || l->out_done == l->n_out)
		return;
	n = send(l->fd, l->out_buf + l->out_done, l->n_out - l->out_done,
		 MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		err_set_errno(&l->err, errno, "the connection broke");
		lose(l, false, now_ns);
		return;
	}
	l->out_done += n > 0 ? (size_t)n : 0;
	if (l->out_done == l->n_out)
		l->out_done = l->n_out = 0;
}

/* ---- what the recorder sends ---- */

static int take_hello(struct gather_link *l, const struct stream_frame *f, struct err *err)
{
	uint8_t answer[8 + STREAM_NONCE_BYTES + STREAM_PROOF_BYTES] = {0};

	if (f->type == STREAM_REFUSED)
		return err_set(err, ERR_REFUSED, "the recorder refused: %.*s",
			       (int)(f->n_bytes < 200 ? f->n_bytes : 200),
			       (const char *)f->payload);
	if (f->type != STREAM_HELLO || f->n_bytes != 16 + STREAM_NONCE_BYTES ||
	    memcmp(f->payload, STREAM_MAGIC, 8) != 0)
		return err_set(err, ERR_FOREIGN, "no recorder of memory-profiler listens there");
	if (load_le32(f->payload + 8) != STREAM_VERSION)
		return err_set(err, ERR_VERSION,
			       "the recorder speaks version %" PRIu32
			       " of the protocol, this program version %d",
			       load_le32(f->payload + 8), STREAM_VERSION);
	if ((load_le32(f->payload + 12) & STREAM_NEEDS_TOKEN) && !l->options->token[0])
		return err_set(err, ERR_REFUSED,
			       "the recorder needs the token: set MEMORY_PROFILER_SERVER_TOKEN");
	memcpy(l->handshake.recorder_nonce, f->payload + 16, STREAM_NONCE_BYTES);
	if (getrandom(l->handshake.client_nonce, STREAM_NONCE_BYTES, 0) != STREAM_NONCE_BYTES)
		return err_set_errno(err, errno, "no random numbers");
	if (!(load_le32(f->payload + 12) & STREAM_NEEDS_TOKEN))
		stream_token_key("", l->handshake.token_key);
	else
		stream_token_key(l->options->token, l->handshake.token_key);
	store_le32(answer, STREAM_VERSION);
	memcpy(answer + 8, l->handshake.client_nonce, STREAM_NONCE_BYTES);
	stream_handshake_proof(&l->handshake, STREAM_CLIENT, answer + 8 + STREAM_NONCE_BYTES);
	put_frame(l, STREAM_PROOF, answer, sizeof(answer));
	l->state = GATHER_LINK_PROVED;
	return 0;
}

static int take_welcome(struct gather_link *l, const struct stream_frame *f, struct err *err)
{
	uint8_t expected[STREAM_PROOF_BYTES];

	if (f->type == STREAM_REFUSED)
		return take_hello(l, f, err);
	stream_handshake_proof(&l->handshake, STREAM_RECORDER, expected);
	if (f->type != STREAM_WELCOME || f->n_bytes != sizeof(expected) ||
	    !blake2b_is_same(expected, f->payload, sizeof(expected)))
		return err_set(err, ERR_REFUSED, "the other side does not know the token");
	stream_handshake_seal(&l->handshake, STREAM_RECORDER, &l->in);
	stream_handshake_seal(&l->handshake, STREAM_CLIENT, &l->out);
	ask_for_piece(l, 0);
	l->state = GATHER_LINK_LISTED;
	return 0;
}

/* Which pieces are there: goes on with ours, or begins with the first. */
static int take_process(struct gather_link *l, const struct stream_frame *f, struct err *err)
{
	struct stream_process p;

	if (!stream_process_decode(f->payload, f->n_bytes, &p))
		return err_set(err, ERR_FORMAT, "a PROCESS frame that makes no sense");
	if (l->process.pid && memcmp(l->process.id, p.id, sizeof(p.id)) != 0)
		return err_set(err, ERR_FOREIGN,
			       "another process has taken the port of process %" PRIu32,
			       l->process.pid);
	l->process = p;
	ask_for_piece(l, l->piece.number ? l->piece.number : p.first_piece);
	return 0;
}

static int take_piece(struct gather_link *l, const struct stream_frame *f, struct err *err)
{
	struct stream_piece p;
	uint8_t payload[8];
	int r;

	if (!stream_piece_decode(f->payload, f->n_bytes, &p))
		return err_set(err, ERR_FORMAT, "a PIECE frame that makes no sense");
	if (l->file.fd < 0 || memcmp(l->file.id, p.id, sizeof(p.id)) != 0) {
		received_file_close(&l->file);
		r = received_file_open(l->options->folder, &l->process, &p, &l->file, err);
		if (r < 0)
			return r;
		l->event = GATHER_LINK_BEGAN;
	} else if (l->lost_ns) {
		l->event = GATHER_LINK_CAME_BACK;
	}
	l->lost_ns = 0;
	l->n_refused = 0;
	l->piece = p;
	store_le64(payload, l->file.next);
	put_frame(l, STREAM_START, payload, sizeof(payload));
	l->state = GATHER_LINK_RECEIVING;
	return 0;
}

/* The recorder no longer has a piece. */
static int take_gone(struct gather_link *l, const struct stream_frame *f, struct err *err)
{
	uint32_t first = f->n_bytes == 8 ? load_le32(f->payload + 4) : 0;

	if (first == 0 || first <= l->piece.number)
		return err_set(err, ERR_FORMAT, "the recorder has no recording to send");
	l->piece.number = first;
	ask_for_piece(l, first);
	return 0;
}

static int take_data(struct gather_link *l, const struct stream_frame *f, struct err *err)
{
	struct file_status status;
	int r = received_file_data(&l->file, f->payload, f->n_bytes, err);

	/* The program announced an exec, which failed: it goes on, and so does its recording. */
	if (r == 0 && l->has_ended && load_le64(f->payload) == FILE_STATUS_OFFSET &&
	    file_status_decode(l->file.page, sizeof(l->file.page), &status) &&
	    status.field[STATUS_STATE] == FORMAT_STATE_RECORDING)
		l->has_ended = false;
	return r;
}

int gather_link_take_frame(struct gather_link *l, const struct stream_frame *f, struct err *err)
{
	if (l->state == GATHER_LINK_GREETED)
		return take_hello(l, f, err);
	if (l->state == GATHER_LINK_PROVED)
		return take_welcome(l, f, err);
	if (f->type == STREAM_IDLE)
		return 0;
	if (f->type == STREAM_PROCESS && l->state == GATHER_LINK_LISTED)
		return take_process(l, f, err);
	if (f->type == STREAM_PIECE && l->state == GATHER_LINK_LISTED && l->process.pid)
		return take_piece(l, f, err);
	if (f->type == STREAM_GONE && l->state == GATHER_LINK_LISTED)
		return take_gone(l, f, err);
	if (l->state != GATHER_LINK_RECEIVING)
		return err_set(err, ERR_FORMAT, "frame %u at the wrong time", f->type);
	switch (f->type) {
	case STREAM_DATA:
		return take_data(l, f, err);
	case STREAM_BLOCK:
		return received_file_block(&l->file, f->payload, f->n_bytes, err);
	case STREAM_END:
		l->has_ended = true;
		put_frame(l, STREAM_SEEN_END, NULL, 0);
		return 0;
	case STREAM_PIECE_END:
		l->state = GATHER_LINK_LISTED;
		l->piece.number++;
		ask_for_piece(l, l->piece.number);
		return 0;
	default:
		return err_set(err, ERR_FORMAT, "frame %u is unknown", f->type);
	}
}

/* Takes all whole frames of the buffer. False: the link is over or lost. */
static bool take_frames(struct gather_link *l, uint64_t now_ns)
{
	size_t at = 0, used;
	struct stream_frame f;
	int r = 0;

	for (;;) {
		enum stream_parse p = stream_frame_parse(&l->in, l->in_buf + at, l->n_in - at,
							 STREAM_MAX_PAYLOAD, &f, &used);

		if (p == STREAM_PARSE_MORE)
			break;
		r = p == STREAM_PARSE_OK
			    ? gather_link_take_frame(l, &f, &l->err)
			    : err_set(&l->err, ERR_FORMAT,
				      l->in.is_on ? "a frame that the recorder did not make"
						  : "no recorder of memory-profiler listens there");
		if (r < 0)
			break;
		at += used;
	}
	if (r == -ERR_FORMAT && l->state >= GATHER_LINK_LISTED) {
		lose(l, false, now_ns); /* bytes changed on the way: a new connection may do */
		return false;
	}
	if (r < 0) {
		finish(l,
		       l->file.fd >= 0 && r == -ERR_FOREIGN ? GATHER_LINK_CUT : GATHER_LINK_FAILED);
		return false;
	}
	memmove(l->in_buf, l->in_buf + at, l->n_in - at);
	l->n_in -= at;
	return true;
}

static void receive(struct gather_link *l, uint64_t now_ns)
{
	for (unsigned i = 0; i < MAX_READS; i++) {
		ssize_t n = recv(l->fd, l->in_buf + l->n_in, IN_BYTES - l->n_in, MSG_DONTWAIT);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n < 0)
			err_set_errno(&l->err, errno, "the connection broke");
		else if (n == 0)
			err_set(&l->err, ERR_IO, "the recorder closed the connection");
		if (n <= 0) {
			lose(l, false, now_ns);
			return;
		}
		l->heard_ns = now_ns;
		l->n_received += (uint64_t)n;
		l->n_in += (size_t)n;
		if (!take_frames(l, now_ns))
			return;
	}
}

/* ---- connecting ---- */

static void begin_connect(struct gather_link *l, uint64_t now_ns)
{
	const struct gather_address *a = &l->address[l->at_address];

	l->fd = socket(a->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->fd < 0) {
		err_set_errno(&l->err, errno, "no socket");
		finish(l, GATHER_LINK_FAILED);
		return;
	}
	enter(l, GATHER_LINK_CONNECTING, now_ns);
	if (connect(l->fd, (const struct sockaddr *)&a->address, a->n_bytes) == 0 ||
	    errno == EINPROGRESS)
		return;
	err_set_errno(&l->err, errno, "cannot connect");
	lose(l, errno == ECONNREFUSED, now_ns);
}

static void end_connect(struct gather_link *l, short revents, uint64_t now_ns)
{
	socklen_t len = sizeof(int);
	int error = 0;

	if (revents)
		getsockopt(l->fd, SOL_SOCKET, SO_ERROR, &error, &len);
	else if (now_ns - l->since_ns > CONNECT_NS)
		error = ETIMEDOUT;
	else
		return;
	if (error) {
		err_set_errno(&l->err, error, "cannot connect");
		lose(l, error == ECONNREFUSED, now_ns);
		return;
	}
	l->heard_ns = now_ns;
	enter(l, GATHER_LINK_GREETED, now_ns);
}

short gather_link_wants(const struct gather_link *l)
{
	if (l->fd < 0)
		return 0;
	if (l->state == GATHER_LINK_CONNECTING)
		return POLLOUT;
	return (short)(POLLIN | (l->out_done < l->n_out ? POLLOUT : 0));
}

void gather_link_step(struct gather_link *l, short revents, uint64_t now_ns)
{
	switch (l->state) {
	case GATHER_LINK_OVER:
		return;
	case GATHER_LINK_WAITING:
		if (!l->since_ns || now_ns - l->since_ns > PAUSE_NS)
			begin_connect(l, now_ns);
		return;
	case GATHER_LINK_CONNECTING:
		end_connect(l, revents, now_ns);
		return;
	default:
		break;
	}
	if (revents)
		receive(l, now_ns);
	send_now(l, now_ns);
	if (l->fd >= 0 && now_ns - l->heard_ns > SILENCE_NS) {
		err_set(&l->err, ERR_IO, "the recorder has said nothing for %llu s",
			SILENCE_NS / NS_PER_S);
		lose(l, false, now_ns);
	}
}
