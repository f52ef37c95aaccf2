/* serve/access.c - see access.h. */
#include "serve/access.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#define MAX_HOST_BYTES 256

/* Cuts ":port" and the brackets of an IPv6 address off. False: no host at all, or too long. */
static bool host_name(const char *host, char ret[MAX_HOST_BYTES])
{
	size_t len;

	if (host[0] == '[') {
		const char *end = strchr(++host, ']');

		if (!end || (end[1] && end[1] != ':'))
			return false;
		len = (size_t)(end - host);
	} else {
		len = strcspn(host, ":");
		if (strchr(host, ':') != strrchr(host, ':'))
			return false; /* an IPv6 address without brackets */
	}
	if (len && host[len - 1] == '.')
		len--; /* the root's dot: "localhost." is localhost */
	if (len == 0 || len >= MAX_HOST_BYTES)
		return false;
	memcpy(ret, host, len);
	ret[len] = '\0';
	return true;
}

/* 4, 6, or 0: a name. The address in network order goes to ret. */
static int ip_address(const char *text, unsigned char ret[16])
{
	if (inet_pton(AF_INET, text, ret) == 1)
		return 4;
	return inet_pton(AF_INET6, text, ret) == 1 ? 6 : 0;
}

static bool is_loopback(int version, const unsigned char address[16])
{
	static const unsigned char one[16] = {[15] = 1};

	return version == 4 ? address[0] == 127 : version == 6 && memcmp(address, one, 16) == 0;
}

static bool host_is_ours(const struct access_rules *r, const char *host)
{
	unsigned char address[16], own[16];
	char name[MAX_HOST_BYTES];
	int version;

	if (!host || !host_name(host, name))
		return false;
	for (size_t i = 0; i < r->n_hosts; i++) {
		if (strcasecmp(r->host[i], name) == 0)
			return true;
	}
	version = ip_address(name, address);
	if (version == 0)
		return strcasecmp(name, "localhost") == 0 ||
		       (r->name && strcasecmp(name, r->name) == 0);
	if (r->is_any_address || is_loopback(version, address))
		return true;
	return ip_address(r->interface, own) == version &&
	       memcmp(address, own, version == 4 ? 4 : 16) == 0;
}

/* The server's own origin is http:// and what the client calls us. */
static bool origin_is_ours(const char *origin, const char *host)
{
	static const char scheme[] = "http://";

	return strncasecmp(origin, scheme, sizeof(scheme) - 1) == 0 &&
	       strcasecmp(origin + sizeof(scheme) - 1, host) == 0;
}

bool access_token_equals(const char *ours, const char *given)
{
	size_t n = strlen(ours), n_given = strlen(given);
	unsigned difference = n != n_given;

	for (size_t i = 0; i < n; i++)
		difference |=
			(unsigned char)ours[i] ^ (unsigned char)(n_given ? given[i % n_given] : 1);
	return difference == 0;
}

static bool has_token(const struct access_rules *r, const struct access_request *q)
{
	static const char bearer[] = "Bearer ";
	const char *given = q->token;

	if (!r->token)
		return true;
	if (q->authorization && strncasecmp(q->authorization, bearer, sizeof(bearer) - 1) == 0)
		given = q->authorization + sizeof(bearer) - 1;
	return given && access_token_equals(r->token, given);
}

enum access_verdict access_judge(const struct access_rules *r, const struct access_request *q,
				 bool *is_foreign_origin)
{
	*is_foreign_origin = false;
	if (!host_is_ours(r, q->host))
		return ACCESS_BAD_HOST;
	if (q->origin && !origin_is_ours(q->origin, q->host)) {
		for (size_t i = 0; i < r->n_origins && !*is_foreign_origin; i++)
			*is_foreign_origin = strcasecmp(r->origin[i], q->origin) == 0;
		if (!*is_foreign_origin)
			return ACCESS_BAD_ORIGIN;
	}
	if (q->fetch_site && !*is_foreign_origin && strcmp(q->fetch_site, "same-origin") != 0 &&
	    strcmp(q->fetch_site, "none") != 0 &&
	    (!q->fetch_mode || strcmp(q->fetch_mode, "navigate") != 0))
		return ACCESS_CROSS_SITE;
	return has_token(r, q) ? ACCESS_OK : ACCESS_NO_TOKEN;
}
