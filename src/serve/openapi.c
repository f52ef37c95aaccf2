/* serve/openapi.c - the OpenAPI 3.1 document, made from the table of routes and the types. */
#include "serve/handlers.h"
#include "serve/schema.h"
#include "serve/serve.h"

#include <string.h>

#include "export/export.h"

static void put_choices(struct json *j, const char *choices)
{
	json_array(j, "enum");
	while (*choices) {
		size_t n = strcspn(choices, "|");

		json_bytes(j, NULL, choices, n);
		choices += n + (choices[n] == '|');
	}
	json_end_array(j);
}

static void put_parameter(void *user, const struct filter_parameter *p)
{
	struct json *j = user;
	const char *valid = filter_type_help(p->type);

	json_object(j, NULL);
	json_text(j, "name", p->name);
	json_text(j, "in", "query");
	json_text(j, "description", p->help);
	json_object(j, "schema");
	json_text(j, "type", "string");
	if (p->choices)
		put_choices(j, p->choices);
	else if (valid)
		json_text(j, "description", valid);
	json_end_object(j);
	json_end_object(j);
}

static void put_filter_parameter(struct json *j, const struct filter_parameter *p)
{
	char name[80];

	snprintf(name, sizeof(name), "#/components/parameters/%s", p->name);
	json_object(j, NULL);
	json_text(j, "$ref", name);
	json_end_object(j);
}

/* "{id}" and the like in a path. */
static void put_path_parameters(struct json *j, const char *path)
{
	for (const char *p = strchr(path, '{'); p; p = strchr(p, '{')) {
		size_t len = strcspn(++p, "}");
		bool is_format = len == 6 && memcmp(p, "format", len) == 0;
		size_t n;
		const struct export_format *f = export_formats(&n);

		json_object(j, NULL);
		json_bytes(j, "name", p, len);
		json_text(j, "in", "path");
		json_bool(j, "required", true);
		if (len == 2 && memcmp(p, "id", len) == 0)
			json_text(j, "description",
				  "id of a recording, from /list, or 'last': the last one given");
		json_object(j, "schema");
		json_text(j, "type", "string");
		if (is_format) {
			json_array(j, "examples");
			for (size_t i = 0; i < n; i++)
				json_text(j, NULL, f[i].name);
			json_end_array(j);
		}
		json_end_object(j);
		json_end_object(j);
	}
}

static bool is_own_parameter(const struct route *r, const char *name)
{
	for (size_t i = 0; i < r->n_parameters; i++) {
		if (strcmp(r->parameter[i].name, name) == 0)
			return true;
	}
	return false;
}

static void put_parameters(struct json *j, const struct route *r, const char *path)
{
	struct route without_filter = *r;
	size_t n;
	const struct filter_parameter *p = filter_parameters(&n);

	if (r->flags & ROUTE_FILTER)
		without_filter.flags ^=
			ROUTE_FILTER | ROUTE_OWN; /* filters are described once for all */
	json_array(j, "parameters");
	put_path_parameters(j, path);
	route_each_parameter(&without_filter, put_parameter, j);
	for (size_t i = 0; r->flags & ROUTE_FILTER && i < n; i++) {
		if (!is_own_parameter(r, p[i].name))
			put_filter_parameter(j, &p[i]);
	}
	json_end_array(j);
}

static void put_error(struct json *j, const char *status, const char *description)
{
	json_object(j, status);
	json_text(j, "description", description);
	json_object(j, "content");
	json_object(j, "application/json");
	schema_write_type(j, "schema", "Error", strlen("Error"));
	json_end_object(j);
	json_end_object(j);
	json_end_object(j);
}

static void put_responses(struct json *j, const struct route *r)
{
	json_object(j, "responses");
	json_object(j, "200");
	json_text(j, "description", r->summary);
	json_object(j, "content");
	json_object(j, r->content_type ? r->content_type : "*/*");
	if (r->schema)
		schema_write_type(j, "schema", r->schema, strlen(r->schema));
	json_end_object(j);
	json_end_object(j);
	json_end_object(j);
	if (!(r->flags & ROUTE_VOLATILE)) {
		json_object(j, "304");
		json_text(j, "description", "the client has this answer (If-None-Match)");
		json_end_object(j);
	}
	put_error(j, "400", "a parameter is not valid");
	if (!(r->flags & ROUTE_OPEN))
		put_error(j, "401", "the token is missing");
	put_error(j, "403", "Host or Origin is not allowed");
	if (strchr(r->path, '{')) {
		put_error(j, "404", "there is no such recording, or it could not be loaded");
		put_error(j, "503", "the recording is still being loaded");
	}
	json_end_object(j);
}

static void put_body(struct json *j)
{
	json_object(j, "requestBody");
	json_object(j, "content");
	json_object(j, "text/plain");
	json_object(j, "schema");
	json_text(j, "type", "string");
	json_u64(j, "maxLength", ROUTE_MAX_BODY_BYTES);
	json_end_object(j);
	json_end_object(j);
	json_end_object(j);
	json_end_object(j);
}

static void put_path(struct json *j, const struct route *r, const char *path)
{
	putc('\n', j->out); /* a path a line: the document lies in the repository, too */
	json_object(j, path);
	json_object(j, r->flags & ROUTE_POST ? "post" : "get");
	json_text(j, "summary", r->summary);
	put_parameters(j, r, path);
	if (r->flags & ROUTE_POST)
		put_body(j);
	put_responses(j, r);
	json_end_object(j);
	json_end_object(j);
}

/* "[/{file}]" makes two paths. */
static void put_route(struct json *j, const struct route *r)
{
	size_t len = strcspn(r->path, "[");
	char path[160];

	snprintf(path, sizeof(path), "%.*s", (int)len, r->path);
	put_path(j, r, path);
	if (r->path[len]) {
		snprintf(path, sizeof(path), "%.*s%.*s", (int)len, r->path,
			 (int)strlen(r->path + len) - 2, r->path + len + 1);
		put_path(j, r, path);
	}
}

static void put_components(struct json *j)
{
	size_t n;
	const struct schema *s = schema_table(&n);
	const struct filter_parameter *p;

	json_object(j, "components");
	json_object(j, "securitySchemes");
	json_object(j, "token");
	json_text(j, "type", "http");
	json_text(j, "scheme", "bearer");
	json_text(j, "description", "only when the server was started with --token; also ?token=");
	json_end_object(j);
	json_end_object(j);
	json_object(j, "schemas");
	for (size_t i = 0; i < n; i++) {
		putc('\n', j->out);
		schema_write_fields(j, s[i].name, s[i].fields);
	}
	json_end_object(j);
	p = filter_parameters(&n);
	json_object(j, "parameters");
	for (size_t i = 0; i < n; i++) {
		putc('\n', j->out); /* as put_parameter(), under a name */
		json_object(j, p[i].name);
		json_text(j, "name", p[i].name);
		json_text(j, "in", "query");
		json_text(j, "description", p[i].help);
		json_object(j, "schema");
		json_text(j, "type", "string");
		if (p[i].choices)
			put_choices(j, p[i].choices);
		else
			json_text(j, "description", filter_type_help(p[i].type));
		json_end_object(j);
		json_end_object(j);
	}
	json_end_object(j);
	json_end_object(j);
}

void serve_write_openapi(FILE *out)
{
	size_t n;
	const struct route *r = route_table(&n);
	struct json j;

	json_init(&j, out);
	json_object(&j, NULL);
	json_text(&j, "openapi", "3.1.0");
	json_object(&j, "info");
	json_text(&j, "title", "memory-profiler");
	json_text(&j, "version", MEMORY_PROFILER_VERSION);
	json_text(
		&j, "description",
		"The API of 'memory-profiler-cli server'. Paths below /data are those of koute's "
		"memory-profiler (2021) and bytehound (2023); /api/v1 is new: sizes in bytes, "
		"times "
		"in nanoseconds since the start of the recording. Unknown parameters are ignored.");
	json_end_object(&j);
	json_object(&j, "paths");
	for (size_t i = 0; i < n; i++)
		put_route(&j, &r[i]);
	json_end_object(&j);
	put_components(&j);
	json_end_object(&j);
	json_line(&j);
}

int openapi_answer(struct request *rq, struct err *err)
{
	(void)err;
	serve_write_openapi(rq->out);
	return 0;
}
