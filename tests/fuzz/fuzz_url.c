/* Any bytes as the target of a request: it is taken apart or refused. And as its headers Host, Origin
 * and Authorization: judged. */
#include "harness/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "serve/access.h"
#include "serve/url.h"

static void check(bool ok)
{
	if (!ok)
		abort();
}

/* What was decoded has no more bytes than it was made of, and none is zero. */
static void check_url(const struct url *u, size_t len)
{
	size_t n = 0;

	check(u->n_segments <= URL_MAX_SEGMENTS && u->n_pairs <= URL_MAX_PAIRS);
	for (size_t i = 0; i < u->n_segments; i++)
		n += strlen(u->segment[i]) + 1;
	for (size_t i = 0; i < u->n_pairs; i++) {
		n += strlen(u->pair[i].name) + strlen(u->pair[i].value) + 1;
		check(url_find(u, u->pair[i].name) != NULL);
	}
	check(n <= len);
}

/* The lines of the text are the headers. */
static void judge(char *text)
{
	static const char *const names[] = {"profiler.example"};
	static const char *const origins[] = {"http://localhost:5173"};
	struct access_rules rules = {
		.interface = "127.0.0.1",
		.host = names,
		.n_hosts = 1,
		.origin = origins,
		.n_origins = 1,
		.token = "secret",
	};
	struct access_request q = {.host = strtok(text, "\n"), .origin = strtok(NULL, "\n")};
	bool is_foreign = false;

	q.authorization = strtok(NULL, "\n");
	q.token = strtok(NULL, "\n");
	q.fetch_site = strtok(NULL, "\n");
	q.fetch_mode = strtok(NULL, "\n");
	check(access_judge(&rules, &q, &is_foreign) != ACCESS_OK ||
	      (q.token && strcmp(q.token, "secret") == 0) ||
	      (q.authorization && strstr(q.authorization, "secret")));
	rules.is_any_address = true;
	rules.token = NULL;
	access_judge(&rules, &q, &is_foreign);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	struct url u = URL_NONE;
	char *target = malloc(size_bytes + 1);
	char *decoded = malloc(size_bytes + 1);
	struct err err;

	if (target && decoded) {
		memcpy(target, data, size_bytes);
		target[size_bytes] = '\0';
		if (url_parse(target, &u, &err) == 0)
			check_url(&u, strlen(target));
		url_fini(&u);
		url_decode((const char *)data, size_bytes, true, decoded);
		judge(target);
	}
	free(target);
	free(decoded);
	return 0;
}
