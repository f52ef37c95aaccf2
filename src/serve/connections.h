/* serve/connections.h - the open connections, and which of them must make room.
 *
 * A connection either waits for a request (the client connects, sends, or is idle between two
 * requests) or its request is being answered. Waiting costs a client nothing and the server a
 * thread, so:
 *  - A connection that waits longer than request_s seconds is closed, also if a byte arrives now
 *    and then: the deadline is for the whole request, headers and body.
 *  - If there are more connections than n_max, or more than n_max_of_address from one address, the
 *    one that waits longest is closed: of the address with the most connections, or of the address
 *    in question. So clients that send nothing cannot keep others out. If none waits, the new
 *    connection is closed.
 * A connection whose request is being answered is never closed here.
 *
 * Closing means shutdown(): libmicrohttpd then ends the connection, and calls connections_remove()
 * before it closes the socket.
 * Threads: any. One thread of its own looks at the deadlines.
 */
#ifndef SERVE_CONNECTIONS_H
#define SERVE_CONNECTIONS_H

#include <sys/socket.h>

#include "util/err.h"

#define CONNECTION_ADDRESS_BYTES 48

struct connection_limits {
	unsigned n_max;
	unsigned n_max_of_address;
	unsigned request_s;
};

struct connections; /* opaque: defined in connections.c */
struct connection; /* opaque: defined in connections.c */

int connections_create(const struct connection_limits *l, struct connections **ret,
		       struct err *err);
void connections_destroy(struct connections *c); /* all were removed before; NULL does nothing */

/* A new connection, which waits. NULL: no memory; the connection is closed then. */
struct connection *connections_add(struct connections *c, int fd, const struct sockaddr *from);
void connections_remove(struct connections *c, struct connection *n); /* NULL does nothing */

/* Its request has arrived and is answered now; false: the answer is done, the next request is
 * waited for. NULL does nothing. */
void connections_set_busy(struct connections *c, struct connection *n, bool is_busy);

/* The client's address without its port, as text. Borrowed until connections_remove(). n may be
 * NULL. */
const char *connection_address(const struct connection *n);

#endif
