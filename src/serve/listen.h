/* serve/listen.h - the socket that the server listens on. */
#ifndef SERVE_LISTEN_H
#define SERVE_LISTEN_H

#include "util/err.h"

#define LISTEN_N_PORTS 100u /* how many are tried, the first one included */
#define LISTEN_ADDRESS_BYTES 64

struct listening {
	int fd; /* the caller's to close */
	unsigned port;
	bool is_any_address; /* 0.0.0.0 or :: */
	bool is_loopback;
	char address[LISTEN_ADDRESS_BYTES]; /* numeric, without brackets */
};

/* interface: an address or a name. Where port is taken, the next free one is used; 0: any. */
int listen_open(const char *interface, unsigned port, struct listening *ret, struct err *err);

#endif
