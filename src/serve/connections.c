/* serve/connections.c - see connections.h. */
#include "serve/connections.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/units.h"
#include "util/monotonic.h"

struct connection {
	struct connection *previous, *next; /* of the list */
	int fd;
	bool is_busy;
	bool is_closed; /* shutdown() was called: no longer counted */
	uint64_t since_ns; /* waits since then */
	char address[CONNECTION_ADDRESS_BYTES];
};

struct connections {
	struct connection_limits limits;
	pthread_mutex_t lock; /* guards all below, and the connections */
	pthread_cond_t ends; /* signalled by connections_destroy() */
	struct connection list; /* the ring's head */
	bool is_ending;
	pthread_t thread;
};

static void describe_address(const struct sockaddr *from, char ret[CONNECTION_ADDRESS_BYTES])
{
	const void *address = NULL;

	if (from && from->sa_family == AF_INET)
		address = &((const struct sockaddr_in *)(const void *)from)->sin_addr;
	else if (from && from->sa_family == AF_INET6)
		address = &((const struct sockaddr_in6 *)(const void *)from)->sin6_addr;
	if (!address || !inet_ntop(from->sa_family, address, ret, CONNECTION_ADDRESS_BYTES))
		snprintf(ret, CONNECTION_ADDRESS_BYTES, "unknown");
}

/* ---- closing; with the lock ---- */

static void close_one(struct connection *n)
{
	n->is_closed = true;
	shutdown(n->fd, SHUT_RDWR);
}

static unsigned count(const struct connections *c, const char *address)
{
	unsigned n = 0;

	for (const struct connection *i = c->list.next; i != &c->list; i = i->next)
		n += !i->is_closed && (!address || strcmp(i->address, address) == 0);
	return n;
}

/* The one that waits longest; NULL: none waits. address: NULL, or only those from there. */
static struct connection *longest_waiting(struct connections *c, const char *address)
{
	struct connection *found = NULL;

	for (struct connection *i = c->list.next; i != &c->list; i = i->next) {
		if (i->is_busy || i->is_closed || (address && strcmp(i->address, address) != 0))
			continue;
		if (!found || i->since_ns < found->since_ns)
			found = i;
	}
	return found;
}

/* The address with the most connections of which one waits. NULL: none waits. */
static const char *greediest(struct connections *c)
{
	const char *found = NULL;
	unsigned most = 0;

	for (struct connection *i = c->list.next; i != &c->list; i = i->next) {
		unsigned n;

		if (i->is_busy || i->is_closed || (found && strcmp(found, i->address) == 0))
			continue;
		n = count(c, i->address);
		if (n > most) {
			most = n;
			found = i->address;
		}
	}
	return found;
}

/* Closes what the new connection n is too many for: another one, or n itself. */
static void make_room(struct connections *c, struct connection *n)
{
	struct connection *victim = n;

	if (count(c, n->address) > c->limits.n_max_of_address)
		victim = longest_waiting(c, n->address);
	else if (count(c, NULL) > c->limits.n_max)
		victim = longest_waiting(c, greediest(c));
	else
		return;
	close_one(victim);
}

/* ---- deadlines ---- */

static void *watch(void *user)
{
	struct connections *c = user;
	struct timespec until;

	pthread_mutex_lock(&c->lock);
	while (!c->is_ending) {
		uint64_t now_ns = monotonic_ns();

		for (struct connection *i = c->list.next; i != &c->list; i = i->next) {
			if (!i->is_busy && !i->is_closed &&
			    now_ns - i->since_ns > c->limits.request_s * NS_PER_S)
				close_one(i);
		}
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec++;
		pthread_cond_timedwait(&c->ends, &c->lock, &until);
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

/* ---- life ---- */

int connections_create(const struct connection_limits *l, struct connections **ret, struct err *err)
{
	struct connections *c = calloc(1, sizeof(*c));
	int e;

	if (!c)
		return err_set_memory(err, sizeof(*c));
	c->limits = *l;
	c->list.next = c->list.previous = &c->list;
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->ends, NULL);
	e = pthread_create(&c->thread, NULL, watch, c);
	if (e) {
		pthread_cond_destroy(&c->ends);
		pthread_mutex_destroy(&c->lock);
		free(c);
		return err_set_errno(err, e, "cannot start a thread");
	}
	*ret = c;
	return 0;
}

void connections_destroy(struct connections *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&c->lock);
	c->is_ending = true;
	pthread_cond_broadcast(&c->ends);
	pthread_mutex_unlock(&c->lock);
	pthread_join(c->thread, NULL);
	ASSERT(c->list.next == &c->list);
	pthread_cond_destroy(&c->ends);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

struct connection *connections_add(struct connections *c, int fd, const struct sockaddr *from)
{
	struct connection *n = calloc(1, sizeof(*n));

	if (!n) {
		shutdown(fd, SHUT_RDWR);
		return NULL;
	}
	n->fd = fd;
	n->since_ns = monotonic_ns();
	describe_address(from, n->address);
	pthread_mutex_lock(&c->lock);
	n->next = &c->list;
	n->previous = c->list.previous;
	n->previous->next = n->next->previous = n;
	make_room(c, n);
	pthread_mutex_unlock(&c->lock);
	return n;
}

void connections_remove(struct connections *c, struct connection *n)
{
	if (!n)
		return;
	pthread_mutex_lock(&c->lock);
	n->previous->next = n->next;
	n->next->previous = n->previous;
	pthread_mutex_unlock(&c->lock);
	free(n);
}

void connections_set_busy(struct connections *c, struct connection *n, bool is_busy)
{
	if (!n)
		return;
	pthread_mutex_lock(&c->lock);
	n->is_busy = is_busy;
	n->since_ns = monotonic_ns();
	pthread_mutex_unlock(&c->lock);
}

const char *connection_address(const struct connection *n)
{
	return n ? n->address : "unknown";
}
