/* serve/route.c - see route.h. */
#include "serve/route.h"

#include <string.h>

#include "export/export.h"

/* Does the pattern's segment at *pattern (behind its '/') fit? Moves on to the next one. */
static bool segment_fits(const char **pattern, const char *segment, const char **value)
{
	size_t len = strcspn(*pattern, "/[]");
	bool fits;

	*value = NULL;
	if ((*pattern)[0] == '{') {
		fits = segment[0] != '\0';
		*value = segment;
	} else {
		fits = strlen(segment) == len && memcmp(segment, *pattern, len) == 0;
	}
	*pattern += len;
	return fits;
}

static bool route_fits(const struct route *r, const struct url *u,
		       const char *value[ROUTE_MAX_VALUES])
{
	const char *p = r->path;
	size_t n_values = 0, i = 0;

	for (size_t k = 0; k < ROUTE_MAX_VALUES; k++)
		value[k] = NULL;
	if (strcmp(p, "/") == 0)
		return u->n_segments == 0;
	while (*p && i < u->n_segments) {
		const char *v;

		p += strspn(p, "[/]");
		if (!*p || !segment_fits(&p, u->segment[i++], &v))
			return false;
		if (v && n_values < ROUTE_MAX_VALUES)
			value[n_values++] = v;
	}
	return i == u->n_segments && (*p == '\0' || *p == '[' || *p == ']');
}

const struct route *route_find(const struct url *u, const char *value[ROUTE_MAX_VALUES])
{
	size_t n;
	const struct route *r = route_table(&n);

	for (size_t i = 0; i < n; i++) {
		if (route_fits(&r[i], u, value))
			return &r[i];
	}
	return NULL;
}

/* The parameters of every route with ROUTE_PAGE. */
static const struct filter_parameter *page_parameters(size_t *n)
{
	static const struct filter_parameter page[] = {
		{"skip", "count", NULL, "leave out the first ones"},
		{"count", "count", NULL, "at most this many; all when it is not given"},
		{"order", "choice", "asc|dsc|desc", "ascending (default) or descending"},
	};

	*n = ARRAY_LEN(page);
	return page;
}

void route_each_parameter(const struct route *r,
			  void (*fn)(void *user, const struct filter_parameter *p), void *user)
{
	static const struct filter_parameter own = {
		ROUTE_OWN_PARAMETER, "regex", NULL,
		"what is the program's own code: frames whose source file or function matches, and "
		"no others"};
	static const struct filter_parameter base = {ROUTE_BASE_PARAMETER, "id", NULL,
						     "compare: the id of the recording before; "
						     "figures become this recording minus base"};
	static const struct filter_parameter first = {
		ROUTE_FIRST_PARAMETER, "count", NULL,
		"milliseconds after which an estimate from a part of the rows will do, marked by "
		"`estimate`; the exact answer is computed meanwhile, for the same question without "
		"first; no meaning with base"};
	const struct filter_parameter *p;
	size_t n;

	for (size_t i = 0; i < r->n_parameters; i++)
		fn(user, &r->parameter[i]);
	if (r->flags & ROUTE_BASE)
		fn(user, &base);
	if (r->flags & ROUTE_FIRST)
		fn(user, &first);
	if (r->flags & ROUTE_PAGE) {
		p = page_parameters(&n);
		for (size_t i = 0; i < n; i++)
			fn(user, &p[i]);
	}
	if (r->flags & ROUTE_EXPORT) {
		p = export_parameters(&n);
		for (size_t i = 0; i < n; i++)
			fn(user, &p[i]);
	}
	if (route_takes_own(r))
		fn(user, &own);
	if (r->flags & ROUTE_FILTER) {
		p = filter_parameters(&n);
		for (size_t i = 0; i < n; i++)
			fn(user, &p[i]);
	}
}
