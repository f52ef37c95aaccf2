/* record/stream_socket.h - the sockets of the embedded server, by raw system calls.
 *
 * No call here waits. Descriptors are in the writer's own table. Threads: the writer.
 */
#ifndef RECORD_STREAM_SOCKET_H
#define RECORD_STREAM_SOCKET_H

#include <netinet/in.h>

#include "base/text.h"

#define STREAM_SOCKET_LOCAL_MAX 64 /* addresses of this host that are looked at */

/* Listens on the first free port of n_ports, on all addresses or on 127.0.0.1 only. A descriptor or
 * -errno; *port is the port. */
long stream_socket_listen(uint64_t base_port, unsigned n_ports, bool loopback_only, uint16_t *port);

/* The next connection, or -errno: -EAGAIN when there is none. */
long stream_socket_accept(int listen_fd, struct sockaddr_in6 *peer);

/* Send and receive what is possible at once: bytes, 0 (receive: the peer has closed) or -errno. */
long stream_socket_send(int fd, const void *data, size_t len);
long stream_socket_receive(int fd, void *data, size_t len);

/* The address as a person would write it, with the port. */
void stream_socket_put_address(struct text *out, const struct sockaddr_in6 *address);

/* Sends a datagram from each IPv4 address of this host to the broadcast address of its network, or
 * (loopback_only) to 127.255.255.255. Returns the number of datagrams that were sent. */
unsigned stream_socket_broadcast(const void *data, size_t len, uint16_t port, bool loopback_only);

#endif
