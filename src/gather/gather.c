/* gather/gather.c - see gather.h. */
#include "gather/gather.h"

#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gather/gather_text.h"
#include "util/human.h"
#include "util/monotonic.h"
#include "util/vec.h"

#define TICK_MS 200
#define MAX_LINKS 1000
#define SHOW_TERMINAL_NS NS_PER_S
#define SHOW_FILE_NS (10 * NS_PER_S)
#define FORGET_NS (60 * NS_PER_S) /* a link that failed may be tried again after this time */

struct gather {
	const struct gather_options *options;
	struct gather_link **link; /* each its own allocation: addresses stay */
	size_t n, cap;
	int announcements; /* UDP socket; -1: none */
	struct gather_text text;
	unsigned n_ended, n_cut;
	struct err failure; /* of the target */
	bool has_failed;
};

static volatile sig_atomic_t wants_stop;

void gather_stop(void)
{
	wants_stop = 1;
}

static int add_link(struct gather *g, struct gather_link **ret, struct err *err)
{
	struct gather_link *l;
	int r;

	if (g->n == MAX_LINKS)
		return err_set(err, ERR_LIMIT, "more than %d recorders", MAX_LINKS);
	r = vec_reserve(&g->link, &g->cap, g->n + 1, sizeof(g->link[0]), err);
	l = r == 0 ? malloc(sizeof(*l)) : NULL;
	if (!l)
		return r < 0 ? r : err_set_memory(err, sizeof(*l));
	r = gather_link_init(l, &g->options->link, err);
	if (r < 0) {
		free(l);
		return r;
	}
	g->link[g->n++] = l;
	*ret = l;
	return 0;
}

static void remove_link(struct gather *g, size_t i)
{
	gather_link_fini(g->link[i]);
	free(g->link[i]);
	g->link[i] = g->link[--g->n];
}

/* Splits HOST, HOST:PORT or [HOST]:PORT. */
static int split_target(const char *target, char *host, size_t host_bytes, const char **port,
			struct err *err)
{
	const char *colon = strrchr(target, ':');
	const char *end = target + strlen(target);
	bool has_brackets = target[0] == '[';

	if (has_brackets) {
		target++;
		end = strchr(target, ']');
		if (!end)
			return err_set(err, ERR_USAGE, "'[%s' lacks a ']'", target);
		colon = end[1] == ':' ? end + 1 : NULL;
	} else if (colon && strchr(target, ':') != colon) {
		colon = NULL; /* an IPv6 address */
	} else if (colon) {
		end = colon;
	}
	if ((size_t)(end - target) >= host_bytes || end == target)
		return err_set(err, ERR_USAGE, "'%s' names no host", target);
	memcpy(host, target, (size_t)(end - target));
	host[end - target] = 0;
	*port = colon ? colon + 1 : "8100";
	return 0;
}

static int add_target(struct gather *g, struct err *err)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	struct addrinfo *found = NULL;
	struct gather_link *l;
	char host[256];
	const char *port = NULL;
	int r = split_target(g->options->target, host, sizeof(host), &port, err);

	if (r < 0)
		return r;
	r = getaddrinfo(host, port, &hints, &found);
	if (r != 0)
		return err_set(err, ERR_USAGE, "%s: %s", g->options->target, gai_strerror(r));
	r = add_link(g, &l, err);
	for (const struct addrinfo *a = found; r == 0 && a; a = a->ai_next)
		gather_link_add_address(l, a->ai_addr, a->ai_addrlen);
	freeaddrinfo(found);
	return r;
}

static int listen_for_announcements(struct gather *g, struct err *err)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(STREAM_BROADCAST_PORT),
	};
	int one = 1;

	g->announcements = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (g->announcements < 0)
		return err_set_errno(err, errno, "no socket");
	setsockopt(g->announcements, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(g->announcements, (struct sockaddr *)&address, sizeof(address)) < 0)
		return err_set_errno(err, errno, "cannot listen on UDP port %d",
				     STREAM_BROADCAST_PORT);
	return 0;
}

/* A recorder says where it is. */
static void take_announcement(struct gather *g, const struct stream_announcement *a,
			      struct sockaddr_in from)
{
	struct gather_link *l;

	from.sin_port = htons(a->port);
	for (size_t i = 0; i < g->n; i++) {
		struct gather_link *known = g->link[i];

		if (memcmp(known->process.id, a->id, sizeof(a->id)) != 0)
			continue;
		if (known->state == GATHER_LINK_WAITING) /* it may listen on another port now */
			memcpy(&known->address[0].address, &from, sizeof(from));
		return;
	}
	if (add_link(g, &l, NULL) < 0)
		return;
	gather_link_add_address(l, &from, sizeof(from));
	memcpy(l->process.id, a->id, sizeof(a->id));
	memcpy(l->process.name, a->name, sizeof(a->name));
	l->process.pid = a->pid;
}

static void receive_announcements(struct gather *g)
{
	uint8_t datagram[STREAM_ANNOUNCE_MAX + 1];
	struct stream_announcement a;
	struct sockaddr_in from;

	for (int i = 0; i < 100; i++) {
		socklen_t len = sizeof(from);
		ssize_t n = recvfrom(g->announcements, datagram, sizeof(datagram), 0,
				     (struct sockaddr *)&from, &len);

		if (n < 0)
			return;
		if (stream_announcement_decode(datagram, (size_t)n, &a))
			take_announcement(g, &a, from);
	}
}

/* Counts and tells what has happened to a link. */
static void note_event(struct gather *g, struct gather_link *l)
{
	enum gather_link_event event = l->event;

	if (event == GATHER_LINK_NOTHING)
		return;
	l->event = GATHER_LINK_NOTHING;
	g->n_ended += event == GATHER_LINK_ENDED;
	g->n_cut += event == GATHER_LINK_CUT;
	if (event == GATHER_LINK_FAILED) {
		g->failure = l->err;
		g->has_failed = true;
	}
	gather_text_event(&g->text, l, event);
	if (l->state == GATHER_LINK_OVER)
		received_file_close(&l->file);
}

static void step_links(struct gather *g, const struct pollfd *ready, size_t n_ready)
{
	uint64_t now_ns = monotonic_ns();

	for (size_t i = 0; i < g->n; i++) {
		gather_link_step(g->link[i], i < n_ready ? ready[i].revents : 0, now_ns);
		note_event(g, g->link[i]);
	}
	/* Those that failed are forgotten after a while: their next announcement tries again. */
	for (size_t i = g->n; i-- > 0 && !g->options->target;) {
		const struct gather_link *l = g->link[i];

		if (l->state == GATHER_LINK_OVER && l->n_received == 0 &&
		    now_ns - l->since_ns > FORGET_NS)
			remove_link(g, i);
	}
}

static bool is_over(const struct gather *g)
{
	if (wants_stop)
		return true;
	return g->options->target && g->link[0]->state == GATHER_LINK_OVER;
}

static int wait_and_step(struct gather *g, struct err *err)
{
	struct pollfd *p = calloc(g->n + 1, sizeof(*p));
	size_t n = g->n;

	if (!p)
		return err_set_memory(err, (g->n + 1) * sizeof(*p));
	for (size_t i = 0; i < n; i++)
		p[i] = (struct pollfd){.fd = g->link[i]->fd,
				       .events = gather_link_wants(g->link[i])};
	p[n] = (struct pollfd){.fd = g->announcements, .events = POLLIN};
	poll(p, n + 1, TICK_MS);
	if (p[n].revents)
		receive_announcements(g);
	step_links(g, p, n);
	free(p);
	return 0;
}

int gather_run(const struct gather_options *options, unsigned *n_cut, struct err *err)
{
	struct gather g = {.options = options, .announcements = -1};
	uint64_t every_ns = options->is_terminal ? SHOW_TERMINAL_NS : SHOW_FILE_NS;
	uint64_t show_ns = monotonic_ns() + every_ns;
	int r = options->target ? add_target(&g, err) : listen_for_announcements(&g, err);

	gather_text_init(&g.text, options->out, options->is_terminal);
	while (r == 0 && !is_over(&g)) {
		r = wait_and_step(&g, err);
		if (monotonic_ns() < show_ns)
			continue;
		show_ns += every_ns;
		gather_text_rates(&g.text, g.link, g.n);
	}
	for (size_t i = 0; i < g.n; i++) {
		gather_link_stop(g.link[i]);
		note_event(&g, g.link[i]);
		gather_link_fini(g.link[i]);
		free(g.link[i]);
	}
	gather_text_end(&g.text);
	free(g.link);
	if (g.announcements >= 0)
		close(g.announcements);
	*n_cut = g.n_cut;
	if (r == 0 && options->target && g.has_failed) {
		*err = g.failure;
		err_prefix(err, "%s", options->target);
		r = -(int)err->code;
	}
	return r < 0 ? r : (int)g.n_ended;
}
