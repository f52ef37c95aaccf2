/* serve/offline.c - see offline.h. */
#include "serve/offline.h"

#include <stdlib.h>
#include <string.h>

#include "serve/handlers.h"

/* "/api/v1/" and the question as an address; questions about the recording get the filter. */
static int make_url(const struct offline *o, const char *question, struct url *ret, struct err *err)
{
	bool has_id = strcmp(question, "recordings") != 0;
	char separator = strchr(question, '?') ? '&' : '?';
	char *target = NULL;
	size_t len;
	FILE *out = open_memstream(&target, &len);
	int r;

	if (!out)
		return err_set_memory(err, BUFSIZ);
	fprintf(out, "/api/v1/%s%s", has_id ? OFFLINE_ID "/" : "", question);
	for (size_t i = 0; has_id && i < o->n_filter; i++) {
		fprintf(out, "%c%s=", separator, o->filter[i].name);
		url_encode(out, o->filter[i].value);
		separator = '&';
	}
	r = fclose(out) == 0 ? url_parse(target, ret, err) : err_set_memory(err, len);
	free(target);
	return r;
}

int offline_answer(void *user, const char *question, FILE *out, struct err *err)
{
	const struct offline *o = user;
	const char *value[ROUTE_MAX_VALUES];
	const struct route *route;
	struct request rq;
	struct url url = URL_NONE;
	int r = make_url(o, question, &url, err);

	if (r < 0)
		return r;
	route = route_find(&url, value);
	if (!route) {
		url_fini(&url);
		return err_set(err, ERR_USAGE, "the API has no '%.100s'", question);
	}
	request_init(&rq, route, &url);
	memcpy(rq.value, value, sizeof(value));
	rq.is_trusted = true;
	rq.id = OFFLINE_ID;
	rq.file_name = o->file_name;
	rq.context = *o->context;
	rq.store = rq.context.store;
	rq.frames = rq.context.frames;
	rq.out = out;
	json_init(&rq.json, out);
	r = request_handle(&rq, err);
	request_fini(&rq);
	return r;
}
