/* The table of routes. */
#include "harness/test.h"

#include <stdio.h>
#include <string.h>

#include "serve/compute_slots.h"
#include "serve/route.h"
#include "serve/route_costs.h"
#include "serve/schema.h"

static const struct route *find(const char *target, const char *value[ROUTE_MAX_VALUES],
				struct url *u)
{
	struct err err = {0};

	CHECK_OK(url_parse(target, u, &err));
	return route_find(u, value);
}

TEST(paths_lead_to_their_route)
{
	static const struct {
		const char *target, *path;
	} table[] = {
		{"/", "/"},
		{"/list", "/list"},
		{"/data/last/timeline?x=1", "/data/{id}/timeline"},
		{"/data/0123/backtrace/17", "/data/{id}/backtrace/{n}"},
		{"/data/last/export/flamegraph.pl", "/data/{id}/export/{format}[/{file}]"},
		{"/data/last/export/heaptrack/app.dat", "/data/{id}/export/{format}[/{file}]"},
		{"/data/last/dynamic_statics", "/data/{id}/dynamic_statics[/{file}]"},
		{"/data/last/dynamic_statics/x.json", "/data/{id}/dynamic_statics[/{file}]"},
		{"/api/v1/last/tree", "/api/v1/{id}/tree"},
		{"/api/v1/openapi.json", "/api/v1/openapi.json"},
	};

	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		const char *value[ROUTE_MAX_VALUES];
		struct url u = URL_NONE;
		const struct route *r = find(table[i].target, value, &u);

		CHECK_NOT_NULL(r);
		if (r)
			CHECK_STR_EQ(r->path, table[i].path);
		url_fini(&u);
	}
}

TEST(what_is_not_quite_a_path_leads_nowhere)
{
	static const char *const bad[] = {"/x",
					  "/list/",
					  "//list",
					  "/data",
					  "/data/last",
					  "/data//timeline",
					  "/data/last/timeline/",
					  "/data/last/timeline/x",
					  "/data/last/backtrace",
					  "/data/last/backtrace/",
					  "/data/last/export",
					  "/data/last/export/svg/a/b",
					  "/LIST",
					  "/data/last/../list"};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		const char *value[ROUTE_MAX_VALUES];
		struct url u = URL_NONE;

		CHECK_NULL(find(bad[i], value, &u));
		url_fini(&u);
	}
}

TEST(values_come_in_order)
{
	const char *value[ROUTE_MAX_VALUES];
	struct url u = URL_NONE;

	find("/data/last/export/svg/a%20b.svg", value, &u);
	CHECK_STR_EQ(value[0], "last");
	CHECK_STR_EQ(value[1], "svg");
	CHECK_STR_EQ(value[2], "a b.svg");
	url_fini(&u);
	find("/data/last/export/svg", value, &u);
	CHECK_NULL(value[2]);
	url_fini(&u);
}

/* Does a type hold the type `wanted`, itself or in a field of a field? */
static bool holds(const char *type, size_t len, const char *wanted, unsigned depth)
{
	size_t n;
	const struct schema *s = schema_table(&n);

	while (len && strchr("[{", type[0])) {
		type++;
		len--;
	}
	len = strcspn(type, "]}~ ") < len ? strcspn(type, "]}~ ") : len;
	if (len == strlen(wanted) && memcmp(type, wanted, len) == 0)
		return true;
	for (size_t i = 0; depth && i < n; i++) {
		if (strlen(s[i].name) != len || memcmp(s[i].name, type, len) != 0)
			continue;
		for (const char *f = s[i].fields; *f; f += strspn(f, " ")) {
			const char *of = f + strcspn(f, ":") + 1;

			f += strcspn(f, " ");
			if (holds(of, (size_t)(f - of), wanted, depth - 1))
				return true;
		}
	}
	return false;
}

TEST(routes_that_show_whose_code_it_is_take_own_regex)
{
	size_t n, n_found = 0;
	const struct route *r = route_table(&n);

	for (size_t i = 0; i < n; i++) {
		bool shows = r[i].schema && holds(r[i].schema, strlen(r[i].schema), "FrameText", 5);

		if (shows && !route_takes_own(&r[i]))
			fprintf(stderr, "%s: ROUTE_OWN?\n", r[i].path);
		CHECK(!shows || route_takes_own(&r[i]));
		CHECK(shows || !(r[i].flags & ROUTE_OWN));
		n_found += shows;
	}
	CHECK(n_found >= 6);
}

TEST(every_route_is_described)
{
	size_t n;
	const struct route *r = route_table(&n);

	CHECK(n > 30);
	for (size_t i = 0; i < n; i++) {
		CHECK(r[i].handler && r[i].summary && r[i].path[0] == '/');
		for (size_t k = 0; k < i; k++)
			CHECK(strcmp(r[i].path, r[k].path) != 0);
	}
}

static bool is_long(const struct route_costs *c, const char *target)
{
	const char *value[ROUTE_MAX_VALUES];
	struct url u = URL_NONE;
	const struct route *r = find(target, value, &u);
	bool is = route_costs_is_long(c, route_costs_kind(r, &u, "last"), r, &u);

	url_fini(&u);
	return is;
}

static void learn(struct route_costs *c, const char *target, uint64_t cpu_ns)
{
	const char *value[ROUTE_MAX_VALUES];
	struct url u = URL_NONE;
	const struct route *r = find(target, value, &u);

	route_costs_learn(c, route_costs_kind(r, &u, "last"), cpu_ns);
	url_fini(&u);
}

TEST(a_question_without_conditions_is_short_until_one_was_long)
{
	struct route_costs *c = NULL;
	struct err err = {0};

	CHECK_OK(route_costs_create(&c, &err));
	CHECK(!is_long(c, "/api/v1/last/summary"));
	CHECK(!is_long(c, "/api/v1/last/groups?by=thread&skip=3&token=x"));
	CHECK(!is_long(c, "/api/v1/last/timeline?from=1s&to=2s")); /* a window, not a condition */
	CHECK(is_long(c, "/api/v1/last/groups?by=thread&size_min=3"));
	CHECK(is_long(c, "/data/last/timeline?from=1"));
	CHECK(is_long(c, "/data/last/export/collapsed"));
	learn(c, "/api/v1/last/groups?by=thread&skip=3", COMPUTE_SHORT_NS + 1);
	CHECK(is_long(c, "/api/v1/last/groups?by=thread&skip=70"));
	CHECK(!is_long(c, "/api/v1/last/groups?by=stack&skip=70"));
	learn(c, "/api/v1/last/groups?by=thread&skip=4", 1000);
	CHECK(!is_long(c, "/api/v1/last/groups?by=thread&skip=3"));
	learn(c, "/api/v1/last/peak?size_min=4", 1000);
	CHECK(!is_long(c, "/api/v1/last/peak?size_min=5"));
	route_costs_destroy(c);
}
