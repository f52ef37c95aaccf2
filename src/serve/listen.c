/* serve/listen.c - see listen.h. */
#include "serve/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* 0 or an errno. */
static int try_address(const struct addrinfo *a, int *ret)
{
	int one = 1;
	int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return errno;
	/* so that a server that just ended does not keep its port for a minute */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, a->ai_addr, a->ai_addrlen) < 0 || listen(fd, SOMAXCONN) < 0) {
		int e = errno;

		close(fd);
		return e;
	}
	*ret = fd;
	return 0;
}

static void describe(struct listening *l)
{
	struct sockaddr_storage s;
	socklen_t len = sizeof(s);

	memset(&s, 0, sizeof(s));
	getsockname(l->fd, (struct sockaddr *)&s, &len);
	if (s.ss_family == AF_INET6) {
		const struct sockaddr_in6 *in = (const struct sockaddr_in6 *)&s;

		l->port = ntohs(in->sin6_port);
		l->is_any_address = IN6_IS_ADDR_UNSPECIFIED(&in->sin6_addr);
		l->is_loopback = IN6_IS_ADDR_LOOPBACK(&in->sin6_addr);
		inet_ntop(AF_INET6, &in->sin6_addr, l->address, sizeof(l->address));
	} else {
		const struct sockaddr_in *in = (const struct sockaddr_in *)&s;

		l->port = ntohs(in->sin_port);
		l->is_any_address = in->sin_addr.s_addr == htonl(INADDR_ANY);
		l->is_loopback = ntohl(in->sin_addr.s_addr) >> 24 == 127;
		inet_ntop(AF_INET, &in->sin_addr, l->address, sizeof(l->address));
	}
}

int listen_open(const char *interface, unsigned port, struct listening *ret, struct err *err)
{
	struct addrinfo hint = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
	unsigned last = port && port <= 65535 - LISTEN_N_PORTS ? port + LISTEN_N_PORTS - 1 : port;
	struct listening l = {.fd = -1};
	int e = EADDRINUSE;

	for (unsigned p = port; p <= last && e == EADDRINUSE; p++) {
		struct addrinfo *found;
		char text[16];
		int r;

		snprintf(text, sizeof(text), "%u", p);
		r = getaddrinfo(interface, text, &hint, &found);
		if (r)
			return err_set(err, ERR_USAGE, "--interface %s: %s", interface,
				       gai_strerror(r));
		e = try_address(found, &l.fd);
		freeaddrinfo(found);
	}
	if (e && port != last)
		return err_set_errno(err, e, "cannot listen on %s, ports %u to %u", interface, port,
				     last);
	if (e)
		return err_set_errno(err, e, "cannot listen on %s, port %u", interface, port);
	describe(&l);
	*ret = l;
	return 0;
}
