/* serve/listen.h - the socket that the server listens on. */
#ifndef SERVE_LISTEN_H
#define SERVE_LISTEN_H

#include "util/err.h"

#define LISTEN_N_PORTS 100u /* how many ports are tried, with the first one */
#define LISTEN_ADDRESS_BYTES 64

struct listening {
	int fd; /* the caller closes it */
	unsigned port;
	bool is_any_address; /* 0.0.0.0 or :: */
	bool is_loopback;
	char address[LISTEN_ADDRESS_BYTES]; /* numeric, without brackets */
};

/* Opens the socket. interface: an address or a name. If port is taken, the next free port is used,
 * out of LISTEN_N_PORTS. port 0: any free port. */
int listen_open(const char *interface, unsigned port, struct listening *ret, struct err *err);

#endif
