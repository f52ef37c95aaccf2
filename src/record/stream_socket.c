/* record/stream_socket.c - see stream_socket.h. */
#include "record/stream_socket.h"

#include <net/if.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "record/sys.h"

#pragma GCC diagnostic ignored "-Wframe-larger-than=" /* the writer's own stack, not the target's */

#define LOOPBACK 0x7f000001u
#define LOOPBACK_BROADCAST 0x7fffffffu
#define DEAD_AFTER_S 60 /* a peer that acknowledges nothing for so long is gone */
#define BACKLOG 64

static uint16_t net16(uint16_t v)
{
	return __builtin_bswap16(v);
}

static uint32_t net32(uint32_t v)
{
	return __builtin_bswap32(v);
}

static void set_option(int fd, int level, int name, int value)
{
	arch_syscall5(SYS_setsockopt, fd, level, name, &value, sizeof(value));
}

/* All addresses of IPv4 and IPv6 by one socket, where there is IPv6. */
static long listen_everywhere(uint16_t port)
{
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = net16(port)};
	struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = net16(port)};
	const int type = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
	long fd = arch_syscall3(SYS_socket, AF_INET6, type, 0), ret;

	if (fd >= 0) {
		set_option((int)fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
		set_option((int)fd, SOL_SOCKET, SO_REUSEADDR, 1);
		ret = arch_syscall3(SYS_bind, fd, &six, sizeof(six));
		if (ret == 0)
			ret = arch_syscall2(SYS_listen, fd, BACKLOG);
		if (ret == 0)
			return fd;
		sys_close((int)fd);
	}
	fd = arch_syscall3(SYS_socket, AF_INET, type, 0);
	if (fd < 0)
		return fd;
	set_option((int)fd, SOL_SOCKET, SO_REUSEADDR, 1);
	ret = arch_syscall3(SYS_bind, fd, &four, sizeof(four));
	if (ret == 0)
		ret = arch_syscall2(SYS_listen, fd, BACKLOG);
	if (ret < 0)
		sys_close((int)fd);
	return ret < 0 ? ret : fd;
}

static long listen_on_loopback(uint16_t port)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = net16(port),
		.sin_addr.s_addr = net32(LOOPBACK),
	};
	long fd = arch_syscall3(SYS_socket, AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	long ret;

	if (fd < 0)
		return fd;
	set_option((int)fd, SOL_SOCKET, SO_REUSEADDR, 1);
	ret = arch_syscall3(SYS_bind, fd, &address, sizeof(address));
	if (ret == 0)
		ret = arch_syscall2(SYS_listen, fd, BACKLOG);
	if (ret < 0)
		sys_close((int)fd);
	return ret < 0 ? ret : fd;
}

long stream_socket_listen(uint64_t base_port, unsigned n_ports, bool loopback_only, uint16_t *port)
{
	long fd = SYS_EINVAL;

	for (uint64_t p = base_port; p < base_port + n_ports && p <= 65535; p++) {
		fd = loopback_only ? listen_on_loopback((uint16_t)p)
				   : listen_everywhere((uint16_t)p);
		*port = (uint16_t)p;
		if (fd >= 0)
			break;
	}
	return fd;
}

long stream_socket_accept(int listen_fd, struct sockaddr_in6 *peer)
{
	uint32_t len = sizeof(*peer);
	long fd;

	memset(peer, 0, sizeof(*peer));
	do
		fd = arch_syscall4(SYS_accept4, listen_fd, peer, &len,
				   SOCK_CLOEXEC | SOCK_NONBLOCK);
	while (fd == SYS_EINTR);
	if (fd < 0)
		return fd;
	set_option((int)fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	set_option((int)fd, IPPROTO_TCP, TCP_USER_TIMEOUT, DEAD_AFTER_S * 1000);
	return fd;
}

long stream_socket_send(int fd, const void *data, size_t len)
{
	return arch_syscall6(SYS_sendto, fd, (long)data, (long)len, MSG_NOSIGNAL | MSG_DONTWAIT, 0,
			     0);
}

long stream_socket_receive(int fd, void *data, size_t len)
{
	return arch_syscall6(SYS_recvfrom, fd, (long)data, (long)len, MSG_DONTWAIT, 0, 0);
}

void stream_socket_put_address(struct text *out, const struct sockaddr_in6 *address)
{
	static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
	struct sockaddr_in four = {0};
	const uint8_t *b = (const uint8_t *)&address->sin6_addr;

	if (address->sin6_family == AF_INET) {
		memcpy(&four, address, sizeof(four));
		b = (const uint8_t *)&four.sin_addr;
	} else if (!memcmp(b, mapped, sizeof(mapped))) {
		b += sizeof(mapped);
	} else {
		for (unsigned i = 0; i < 16; i += 2) {
			text_put(out, i ? ":" : "[");
			text_put_hex(out, (uint64_t)b[i] << 8 | b[i + 1], 1);
		}
		text_put(out, "]:");
		text_put_u64(out, net16(address->sin6_port));
		return;
	}
	for (unsigned i = 0; i < 4; i++) {
		text_put(out, i ? "." : "");
		text_put_u64(out, b[i]);
	}
	text_put_char(out, ':');
	text_put_u64(out, net16(address->sin6_port));
}

/* The IPv4 addresses of this host, without loopback. Returns how many there are. */
static unsigned find_addresses(int fd, uint32_t *ret)
{
	struct ifreq request[STREAM_SOCKET_LOCAL_MAX];
	struct ifconf list = {.ifc_len = sizeof(request), .ifc_req = request};
	unsigned n = 0;

	if (arch_syscall3(SYS_ioctl, fd, SIOCGIFCONF, &list) < 0)
		return 0;
	for (unsigned i = 0; i < (unsigned)list.ifc_len / sizeof(request[0]); i++) {
		struct sockaddr_in address;

		memcpy(&address, &request[i].ifr_addr, sizeof(address));
		if (address.sin_family == AF_INET && net32(address.sin_addr.s_addr) >> 24 != 127)
			ret[n++] = address.sin_addr.s_addr;
	}
	return n;
}

/* The sender's address selects the network. from 0: the system selects. */
static bool broadcast_from(uint32_t from, uint32_t to, uint16_t port, const void *data, size_t len)
{
	struct sockaddr_in source = {.sin_family = AF_INET, .sin_addr.s_addr = from};
	struct sockaddr_in target = {
		.sin_family = AF_INET, .sin_port = net16(port), .sin_addr.s_addr = to};
	long fd = arch_syscall3(SYS_socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	long ret;

	if (fd < 0)
		return false;
	set_option((int)fd, SOL_SOCKET, SO_BROADCAST, 1);
	ret = arch_syscall3(SYS_bind, fd, &source, sizeof(source));
	if (ret == 0)
		ret = arch_syscall6(SYS_sendto, fd, (long)data, (long)len,
				    MSG_NOSIGNAL | MSG_DONTWAIT, (long)&target, sizeof(target));
	sys_close((int)fd);
	return ret == (long)len;
}

unsigned stream_socket_broadcast(const void *data, size_t len, uint16_t port, bool loopback_only)
{
	uint32_t address[STREAM_SOCKET_LOCAL_MAX];
	unsigned n = 0, n_sent = 0;
	long fd;

	n_sent += broadcast_from(net32(LOOPBACK), net32(LOOPBACK_BROADCAST), port, data, len);
	if (loopback_only)
		return n_sent;
	fd = arch_syscall3(SYS_socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd >= 0) {
		n = find_addresses((int)fd, address);
		sys_close((int)fd);
	}
	for (unsigned i = 0; i < n; i++)
		n_sent += broadcast_from(address[i], INADDR_BROADCAST, port, data, len);
	return n_sent;
}
