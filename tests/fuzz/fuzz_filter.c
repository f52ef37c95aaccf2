/* Any bytes as the name and the value of a filter parameter: "name=value" or a number of a parameter
 * in the first byte, and the value behind it. */
#include "harness/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "query/filter.h"
#include "query/query_regex.h"

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void try_regex(const char *pattern)
{
	struct query_regex *x = NULL;
	struct err err = {0};
	int r;

	if (query_regex_create("function_regex", pattern, &x, &err) < 0) {
		check(err.code != ERR_NONE && err.text[0]);
		return;
	}
	r = query_regex_match(x, "std::vector<int>::push_back(int const&)", &err);
	check(r == 0 || r == 1 || r == -ERR_LIMIT);
	query_regex_destroy(x);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	char *text = malloc(size_bytes + 1), *value;
	struct err err = {0};
	struct filter f;
	const struct filter_parameter *p;
	size_t n;
	int r;

	if (!text || size_bytes == 0) {
		free(text);
		return 0;
	}
	memcpy(text, data, size_bytes);
	text[size_bytes] = 0;
	filter_init(&f);
	p = filter_parameters(&n);
	value = strchr(text, '=');
	if (value) {
		*value++ = 0;
		r = filter_set(&f, text, value, &err);
	} else {
		value = text + 1;
		r = filter_set(&f, p[data[0] % n].name, value, &err);
		check(r != 0);
	}
	check(r == 1 || r == 0 || (r == -ERR_USAGE && err.text[0]));
	if (f.function_regex)
		try_regex(f.function_regex);
	check(f.has_backtraces == (f.n_backtraces > 0));
	filter_fini(&f);
	free(text);
	return 0;
}
