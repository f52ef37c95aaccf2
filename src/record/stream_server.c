/* record/stream_server.c - see stream_server.h. */
#include "record/stream_server.h"

#include <string.h>

#include "record/log.h"
#include "record/own_memory.h"
#include "record/program_path.h"
#include "record/stream_client.h"
#include "record/sys.h"

#pragma GCC diagnostic ignored "-Wframe-larger-than=" /* the writer's own stack, not the target's */

#define MAX_CONNECTIONS 32 /* with those that have not proved anything yet */
#define MAX_CLIENTS 8 /* that know the token */
#define MAX_ACCEPTS 16 /* in one step */
#define HANDSHAKE_NS (10 * NS_PER_S)
#define CROWDED_NS NS_PER_S /* the same, when others want the slot */
#define ANNOUNCE_NS NS_PER_S
#define COMPLAIN_NS NS_PER_S
#define LISTEN_AGAIN_NS (5 * NS_PER_S)
#define STEP_NS (100 * NS_PER_MS) /* between two looks for new connections */

struct stream_server {
	struct recorder *rec;
	int listen_fd; /* -1: does not listen */
	uint16_t port;
	uint64_t listen_due_ns;
	struct stream_offer offer;
	struct stream_client client[MAX_CONNECTIONS];
	struct stream_client_memory memory[MAX_CLIENTS];
	uint64_t announce_due_ns;
	uint64_t complain_due_ns;
	uint64_t n_complaints; /* since the last line in the log */
	char complaint[160]; /* the last one */
	bool has_complained_of_port;
};

static bool map_clients(struct stream_server *server)
{
	size_t sent_bytes = STREAM_SOURCE_MAX_BLOCKS * sizeof(struct stream_sent);
	size_t area_bytes = RECORD_MAX_AREAS * sizeof(struct stream_area);
	size_t client_bytes = MAX_CLIENTS * (STREAM_CLIENT_OUT_BYTES + sent_bytes);
	uint8_t *memory = own_memory_map(client_bytes + STREAM_CLIENT_MAX_FILES * area_bytes);

	for (unsigned i = 0; memory && i < STREAM_CLIENT_MAX_FILES; i++)
		server->offer.file[i].area =
			(struct stream_area *)(memory + client_bytes + i * area_bytes);

	for (unsigned i = 0; memory && i < MAX_CLIENTS; i++) {
		server->memory[i].sent = (struct stream_sent *)(memory + i * sent_bytes);
		server->memory[i].out =
			memory + MAX_CLIENTS * sent_bytes + i * STREAM_CLIENT_OUT_BYTES;
	}
	return memory != NULL;
}

struct stream_server *stream_server_create(struct recorder *rec)
{
	const char *token = options_active.SERVER_TOKEN;
	struct stream_server *server;

	if (!options_active.ENABLE_SERVER)
		return NULL;
	if (token[0] && strlen(token) < STREAM_MIN_TOKEN_BYTES) {
		log_put(LOG_ERROR, "no server: MEMORY_PROFILER_SERVER_TOKEN has fewer than 16 "
				   "characters; 'openssl rand -hex 32' makes a good one");
		return NULL;
	}
	server = own_memory_map(sizeof(*server));
	if (!server || !map_clients(server)) {
		log_put(LOG_ERROR, "no server: out of memory");
		return NULL;
	}
	server->rec = rec;
	server->listen_fd = -1;
	server->offer.needs_token = token[0];
	server->offer.process.pid = rec->pid;
	stream_token_key(token, server->offer.token_key);
	return server;
}

/* Does a client receive this file? */
static bool is_read(const struct stream_server *server, const struct stream_file *f)
{
	for (unsigned i = 0; i < MAX_CONNECTIONS; i++) {
		if (server->client[i].state >= STREAM_CLIENT_OPENED && server->client[i].file == f)
			return true;
	}
	return false;
}

/* Closes files that were removed from their folder (MEMORY_PROFILER_KEEP), so that their space becomes
 * free; except those that a client receives. */
static void drop_removed(struct stream_server *server)
{
	struct stream_offer *o = &server->offer;
	struct stat st;

	for (uint32_t i = 0; i < o->n_files; i++) {
		struct stream_file *f = &o->file[i];

		if (f->fd < 0 || f->is_current || is_read(server, f) ||
		    arch_syscall2(SYS_fstat, f->fd, &st) < 0 || st.st_nlink > 0)
			continue;
		sys_close(f->fd);
		f->fd = -1;
	}
	for (uint32_t i = o->n_files; i-- > 0;) {
		if (o->file[i].fd >= 0)
			o->process.first_piece = o->file[i].number;
	}
}

/* Makes room for a file: drops the oldest one. All files move, and clients have pointers to them: so
 * their connections are closed; the clients connect again. */
static void drop_oldest(struct stream_server *server)
{
	struct stream_offer *o = &server->offer;
	struct stream_area *area = o->file[0].area;

	for (unsigned i = 0; i < MAX_CONNECTIONS; i++) {
		if (server->client[i].state >= STREAM_CLIENT_OPENED)
			stream_client_end(&server->client[i]);
	}
	if (o->file[0].fd >= 0)
		sys_close(o->file[0].fd);
	memmove(o->file, o->file + 1, (o->n_files - 1) * sizeof(o->file[0]));
	o->n_files--;
	o->file[o->n_files].area = area;
}

/* Takes the session over as a file that clients can have. */
static void add_file(struct stream_server *server, const struct session *session)
{
	struct stream_offer *o = &server->offer;
	struct stream_file *f;
	struct stream_area *area;

	if (o->n_files == STREAM_CLIENT_MAX_FILES)
		drop_oldest(server);
	for (uint32_t i = 0; i < o->n_files; i++)
		o->file[i].is_current = false;
	f = &o->file[o->n_files++];
	area = f->area;
	*f = (struct stream_file){
		.session = session,
		.fd = (int)arch_syscall3(SYS_fcntl, session->fd, F_DUPFD_CLOEXEC, 3),
		.number = session->piece,
		.is_current = true,
		.area = area,
	};
	o->process.last_piece = session->piece;
	memcpy(o->process.id, server->rec->run_id, STREAM_ID_BYTES);
	drop_removed(server);
}

void stream_server_keep(struct stream_server *server, const struct session *session)
{
	for (uint32_t i = 0; server && i < server->offer.n_files; i++) {
		if (server->offer.file[i].session == session)
			stream_source_keep(&server->offer.file[i]);
	}
}

static void name_process(struct stream_server *server)
{
	char path[512];
	size_t n = program_path(path, sizeof(path));
	struct text text =
		text_make(server->offer.process.name, sizeof(server->offer.process.name));

	text_put(&text, n > 0 ? text_basename(path) : "unknown");
}

static void say_where(struct stream_server *server)
{
	char line[LOG_RING_LINE_BYTES];
	struct text text = text_make(line, sizeof(line));

	text_put(&text, "the recording can be received on port ");
	text_put_u64(&text, server->port);
	text_put(&text, server->offer.needs_token
				? " with the token"
				: " of this host only; set MEMORY_PROFILER_SERVER_TOKEN to let "
				  "other hosts in");
	log_put(LOG_INFO, line);
}

static void listen_again(struct stream_server *server, uint64_t now_ns)
{
	long fd;

	if (server->listen_fd >= 0 || now_ns < server->listen_due_ns)
		return;
	server->listen_due_ns = now_ns + LISTEN_AGAIN_NS;
	fd = stream_socket_listen(options_active.BASE_SERVER_PORT, STREAM_N_PORTS,
				  !server->offer.needs_token, &server->port);
	if (fd >= 0) {
		server->listen_fd = (int)fd;
		name_process(server);
		say_where(server);
	} else if (!server->has_complained_of_port) {
		server->has_complained_of_port = true;
		log_put_error(LOG_ERROR, "no server: cannot listen",
			      "MEMORY_PROFILER_BASE_SERVER_PORT and the 99 ports behind it", -fd);
	}
}

/* Somebody was refused. The log gets one line per second at most: a stranger must not be able to
 * fill the disk. */
static void complain(struct stream_server *server, const struct stream_client *c)
{
	struct text text = text_make(server->complaint, sizeof(server->complaint));

	server->n_complaints++;
	text_put(&text, "a client at ");
	stream_socket_put_address(&text, &c->peer);
	text_put(&text, " was refused: ");
	text_put(&text, c->why);
}

static void flush_complaints(struct stream_server *server, uint64_t now_ns)
{
	char line[LOG_RING_LINE_BYTES];
	struct text text = text_make(line, sizeof(line));

	if (server->n_complaints == 0 || now_ns < server->complain_due_ns)
		return;
	server->complain_due_ns = now_ns + COMPLAIN_NS;
	text_put(&text, server->complaint);
	if (server->n_complaints > 1) {
		text_put(&text, " (and ");
		text_put_u64(&text, server->n_complaints - 1);
		text_put(&text, " others in the last second)");
	}
	server->n_complaints = 0;
	log_put(LOG_WARN, line);
}

/* A slot for a new connection; NULL: all are taken. A connection that proves nothing for a second
 * gives way. */
static struct stream_client *find_slot(struct stream_server *server, uint64_t now_ns)
{
	struct stream_client *oldest = NULL;

	for (unsigned i = 0; i < MAX_CONNECTIONS; i++) {
		struct stream_client *c = &server->client[i];

		if (c->state == STREAM_CLIENT_NONE)
			return c;
		if (c->state == STREAM_CLIENT_HANDSHAKE && now_ns - c->began_ns > CROWDED_NS &&
		    (!oldest || c->began_ns < oldest->began_ns))
			oldest = c;
	}
	if (oldest) {
		oldest->why = "no proof within a second, and others wait";
		complain(server, oldest);
		stream_client_end(oldest);
	}
	return oldest;
}

static void accept_clients(struct stream_server *server, uint64_t now_ns)
{
	struct sockaddr_in6 peer;

	for (unsigned i = 0; i < MAX_ACCEPTS; i++) {
		long fd = stream_socket_accept(server->listen_fd, &peer);
		struct stream_client *c;

		if (fd < 0)
			return;
		c = find_slot(server, now_ns);
		if (!c) {
			struct stream_client refused = {.peer = peer,
							.why = "too many connections"};

			complain(server, &refused);
			sys_close((int)fd);
			continue;
		}
		stream_client_begin(c, (int)fd, &peer, &server->offer, now_ns);
	}
}

static void log_arrival(const struct stream_client *c, const char *what)
{
	char line[LOG_RING_LINE_BYTES];
	struct text text = text_make(line, sizeof(line));

	text_put(&text, "a client at ");
	stream_socket_put_address(&text, &c->peer);
	text_put(&text, what);
	log_put(LOG_INFO, line);
}

static void step_client(struct stream_server *server, struct stream_client *c, uint64_t now_ns)
{
	bool was_known = c->state != STREAM_CLIENT_HANDSHAKE;

	if (c->state < STREAM_CLIENT_SENDING && now_ns - c->began_ns > HANDSHAKE_NS)
		c->why = "it asked for nothing within 10 seconds";
	if (stream_client_step(c, &server->offer, server->memory, MAX_CLIENTS, now_ns)) {
		if (!was_known && c->state != STREAM_CLIENT_HANDSHAKE)
			log_arrival(c, " receives the recording");
		return;
	}
	if (c->why && !was_known)
		complain(server, c);
	else if (was_known)
		log_arrival(c, " is gone");
	stream_client_end(c);
}

static void announce(struct stream_server *server, uint64_t now_ns)
{
	uint8_t datagram[STREAM_ANNOUNCE_MAX];
	struct stream_announcement a = {
		.pid = server->rec->pid,
		.port = server->port,
		.needs_token = server->offer.needs_token,
	};

	if (!options_active.ENABLE_BROADCAST || now_ns < server->announce_due_ns)
		return;
	server->announce_due_ns = now_ns + ANNOUNCE_NS;
	memcpy(a.id, server->offer.process.id, sizeof(a.id));
	memcpy(a.name, server->offer.process.name, sizeof(a.name));
	stream_socket_broadcast(datagram, stream_announcement_encode(&a, datagram),
				STREAM_BROADCAST_PORT, !server->offer.needs_token);
}

void stream_server_step(struct stream_server *server, struct session *session)
{
	uint64_t now_ns;

	if (!server || !session)
		return;
	if (server->offer.n_files == 0 ||
	    server->offer.file[server->offer.n_files - 1].number != session->piece)
		add_file(server, session);
	now_ns = sys_clock_ns(CLOCK_MONOTONIC);
	listen_again(server, now_ns);
	if (server->listen_fd < 0)
		return;
	accept_clients(server, now_ns);
	for (unsigned i = 0; i < MAX_CONNECTIONS; i++) {
		if (server->client[i].state != STREAM_CLIENT_NONE)
			step_client(server, &server->client[i], now_ns);
	}
	flush_complaints(server, now_ns);
	announce(server, now_ns);
}

uint64_t stream_server_pause_ns(const struct stream_server *server)
{
	uint64_t least_ns = STEP_NS, now_ns = 0;

	for (unsigned i = 0; server && i < MAX_CONNECTIONS; i++) {
		uint64_t ns;

		if (server->client[i].state == STREAM_CLIENT_NONE)
			continue;
		if (!now_ns)
			now_ns = sys_clock_ns(CLOCK_MONOTONIC);
		ns = stream_client_pause_ns(&server->client[i], now_ns);
		if (ns < least_ns)
			least_ns = ns;
	}
	return least_ns;
}

bool stream_server_is_behind(const struct stream_server *server)
{
	for (unsigned i = 0; server && i < MAX_CONNECTIONS; i++) {
		if (stream_client_is_behind(&server->client[i]))
			return true;
	}
	return false;
}

void stream_server_suspend(struct stream_server *server)
{
	if (!server)
		return;
	for (unsigned i = 0; i < MAX_CONNECTIONS; i++) {
		if (server->client[i].state != STREAM_CLIENT_NONE)
			stream_client_end(&server->client[i]);
	}
	for (uint32_t i = 0; i < server->offer.n_files; i++) {
		if (server->offer.file[i].fd >= 0)
			sys_close(server->offer.file[i].fd);
	}
	server->offer.n_files = 0; /* the current one is added again */
	if (server->listen_fd >= 0)
		sys_close(server->listen_fd);
	server->listen_fd = -1;
	server->listen_due_ns = 0;
}
