/* Any bytes from a client to the embedded server of the recorder, over a socket.
 *
 * The first byte says whether the client proves that it knows the token. Then the rest are frames
 * with a MAC: a byte for the type, a byte for the length, the payload. Otherwise the rest is sent as
 * it is.
 */
#include "harness/fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"
#include "record/stream_client.h"

#define AREA_OFFSET 8192

struct world {
	struct session session;
	struct stream_offer offer;
	struct stream_client_memory memory[2];
	struct stream_client client;
	uint64_t now_ns;
	int peer; /* the client's end */
};

static void check(bool ok)
{
	if (!ok)
		abort();
}

/* A recording of one area without blocks in use. */
static void make_world(struct world *w)
{
	uint8_t page[FORMAT_HEADER_BYTES] = {0};
	struct file_header h = {.header_bytes = FORMAT_HEADER_BYTES, .pid = 1};
	struct stream_file *f = &w->offer.file[0];

	f->fd = memfd_create("recording", 0);
	file_header_encode(&h, page);
	check(f->fd >= 0 && write(f->fd, page, sizeof(page)) == (ssize_t)sizeof(page));
	w->session.end_offset = AREA_OFFSET + FORMAT_BLOCK_BYTES;
	w->session.area[0].file_offset = AREA_OFFSET;
	w->session.area[0].n_blocks = 1;
	w->session.n_areas = 1;
	check(ftruncate(f->fd, (off_t)w->session.end_offset) == 0);
	f->session = &w->session;
	f->number = 1;
	f->is_current = true;
	w->offer.n_files = 1;
	w->offer.process.first_piece = w->offer.process.last_piece = 1;
	w->offer.needs_token = true;
	stream_token_key("the token of the fuzzer", w->offer.token_key);
	for (unsigned i = 0; i < 2; i++) {
		w->memory[i].out = malloc(STREAM_CLIENT_OUT_BYTES);
		w->memory[i].sent = mmap(
			NULL, STREAM_SOURCE_MAX_BLOCKS * sizeof(struct stream_sent),
			PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		check(w->memory[i].out && w->memory[i].sent != MAP_FAILED);
	}
}

static bool step(struct world *w)
{
	uint8_t sink[8192];

	w->now_ns += 50 * NS_PER_MS;
	if (!stream_client_step(&w->client, &w->offer, w->memory, 2, w->now_ns))
		return false;
	while (recv(w->peer, sink, sizeof(sink), MSG_DONTWAIT) > 0)
		;
	check(stream_client_pause_ns(&w->client, w->now_ns) <= NS_PER_S);
	return true;
}

/* Proves that it knows the token; *seal is for the frames after it. */
static bool prove(struct world *w, struct stream_seal *seal)
{
	struct stream_handshake h = w->client.handshake;
	uint8_t frame[STREAM_HEAD_BYTES + 72] = {0}, *payload = frame + STREAM_HEAD_BYTES;
	struct stream_seal plain = {0};
	size_t len;

	store_le32(payload, STREAM_VERSION);
	stream_handshake_proof(&h, STREAM_CLIENT, payload + 40);
	len = stream_frame_seal(&plain, STREAM_PROOF, frame, 72);
	check(send(w->peer, frame, len, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)len);
	stream_handshake_seal(&h, STREAM_CLIENT, seal);
	return step(w) && w->client.state == STREAM_CLIENT_LISTED;
}

static void send_sealed(struct world *w, const uint8_t *data, size_t len)
{
	struct stream_seal seal;
	uint8_t frame[STREAM_HEAD_BYTES + 256 + STREAM_MAC_BYTES];

	check(prove(w, &seal));
	while (len >= 2) {
		size_t n = data[1] < len - 2 ? data[1] : len - 2, total;

		memcpy(frame + STREAM_HEAD_BYTES, data + 2, n);
		total = stream_frame_seal(&seal, data[0], frame, n);
		if (send(w->peer, frame, total, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 || !step(w))
			return;
		data += 2 + n;
		len -= 2 + n;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct world w;
	const struct sockaddr_in6 nobody = {0};
	int pair[2];

	if (len == 0 || len > 65536)
		return 0;
	if (!w.offer.n_files)
		make_world(&w);
	w.now_ns = NS_PER_S;
	check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0);
	w.peer = pair[1];
	stream_client_begin(&w.client, pair[0], &nobody, &w.offer, w.now_ns);
	if (step(&w) && data[0] & 1) {
		send_sealed(&w, data + 1, len - 1);
	} else {
		for (size_t at = 1; at < len; at += 100) {
			size_t n = len - at < 100 ? len - at : 100;

			if (send(w.peer, data + at, n, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ||
			    !step(&w))
				break;
		}
		check(w.client.state == STREAM_CLIENT_HANDSHAKE); /* nobody guesses the proof */
	}
	stream_client_end(&w.client);
	check(!w.memory[0].is_taken && !w.memory[1].is_taken);
	close(pair[1]);
	return 0;
}
