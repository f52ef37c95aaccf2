/* query/filter.c - see filter.h. The parameters themselves are in filter.def. */
#include "query/filter.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "query/filter_value.h"
#include "util/vec.h"

#define MAX_REGEX_BYTES 4096u
#define MAX_IDS 65536u

enum kind {
	KIND_TIME,
	KIND_INTERVAL,
	KIND_INTERVAL_OR_SHARE,
	KIND_SIZE,
	KIND_ADDRESS,
	KIND_COUNT,
	KIND_COUNT_OR_SHARE,
	KIND_REGEX,
	KIND_IDS,
	KIND_NUMBER,
	KIND_CHOICE,
};

static const struct {
	const char *name;
	const char *help;
} kinds[] = {
	[KIND_TIME] = {"time", "N% of the run, a UNIX time in seconds (1600000000) or milliseconds "
			       "(1600000000000), or a time since the start (+1m30s, 250ms)"},
	[KIND_INTERVAL] = {"interval", "a time such as 4h3m2s, 1.5s, 20ms, 10us; seconds if bare"},
	[KIND_INTERVAL_OR_SHARE] = {"interval|share",
				    "a time such as 4h3m2s or 20ms (seconds if bare), or N% of "
				    "the run"},
	[KIND_SIZE] = {"size", "a number of bytes, or with k, M, G, T (1024 each), such as 64k"},
	[KIND_ADDRESS] = {"address", "a decimal number or a hexadecimal one with 0x"},
	[KIND_COUNT] = {"count", "a whole number"},
	[KIND_COUNT_OR_SHARE] = {"count|share", "a whole number, or N%"},
	[KIND_REGEX] = {"regex", "a regular expression (PCRE2) of at most 4096 bytes"},
	[KIND_IDS] = {"ids", "the number of a backtrace, or several with commas between them"},
	[KIND_NUMBER] = {"number", "a whole number up to 4294967295"},
	[KIND_CHOICE] = {"choice", "one of the names"},
};

struct rule {
	enum kind kind;
	uint32_t offset; /* of the field in struct filter */
	uint32_t has_offset; /* IDS, NUMBER: of has_<field> */
	uint32_t n_offset; /* IDS: of n_<field> */
	uint64_t max; /* NUMBER */
	unsigned first; /* CHOICE: value of the first */
	bool is_upper; /* TIME, ranges */
};

/* Two tables in step: what others see, and how it is done. */
#define TYPE_INTERVAL "interval"
#define TYPE_INTERVAL_OR_SHARE "interval|share"
#define TYPE_SIZE "size"
#define TYPE_ADDRESS "address"
#define TYPE_COUNT "count"
#define TYPE_COUNT_OR_SHARE "count|share"

static const struct filter_parameter parameters[] = {
#define FILTER_TIME(name, field, is_upper, help) {name, "time", NULL, help},
#define FILTER_RANGE(name, field, unit, help)                                                      \
	{name "_min", TYPE_##unit, NULL, help ", at least"},                                       \
		{name "_max", TYPE_##unit, NULL, help ", at most"},
#define FILTER_REGEX(name, field, help) {name, "regex", NULL, help},
#define FILTER_IDS(name, field, help) {name, "ids", NULL, help},
#define FILTER_NUMBER(name, field, max, help) {name, "number", NULL, help},
#define FILTER_CHOICE(name, field, first, choices, help) {name, "choice", choices, help},
#include "query/filter.def"
};

#define OFFSET(field) offsetof(struct filter, field)
static const struct rule rules[] = {
#define FILTER_TIME(name, field, upper, help)                                                      \
	{.kind = KIND_TIME, .offset = OFFSET(field), .is_upper = upper},
#define FILTER_RANGE(name, field, unit, help)                                                      \
	{.kind = KIND_##unit, .offset = OFFSET(field), .is_upper = false},                         \
		{.kind = KIND_##unit, .offset = OFFSET(field), .is_upper = true},
#define FILTER_REGEX(name, field, help) {.kind = KIND_REGEX, .offset = OFFSET(field)},
#define FILTER_IDS(name, field, help)                                                              \
	{.kind = KIND_IDS,                                                                         \
	 .offset = OFFSET(field),                                                                  \
	 .has_offset = OFFSET(has_##field),                                                        \
	 .n_offset = OFFSET(n_##field)},
#define FILTER_NUMBER(name, field, limit, help)                                                    \
	{.kind = KIND_NUMBER,                                                                      \
	 .offset = OFFSET(field),                                                                  \
	 .has_offset = OFFSET(has_##field),                                                        \
	 .max = limit},
#define FILTER_CHOICE(name, field, first_value, choices, help)                                     \
	{.kind = KIND_CHOICE, .offset = OFFSET(field), .first = first_value},
#include "query/filter.def"
};
static_assert(ARRAY_LEN(parameters) == ARRAY_LEN(rules), "one rule for each parameter");

static void *field_at(struct filter *f, uint32_t offset)
{
	return (char *)f + offset;
}

void filter_init(struct filter *f)
{
	memset(f, 0, sizeof(*f));
}

void filter_fini(struct filter *f)
{
	for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
		if (rules[i].kind == KIND_REGEX)
			free(*(char **)field_at(f, rules[i].offset));
		else if (rules[i].kind == KIND_IDS)
			free(*(uint32_t **)field_at(f, rules[i].offset));
	}
	filter_init(f);
}

const struct filter_parameter *filter_parameters(size_t *n)
{
	*n = ARRAY_LEN(parameters);
	return parameters;
}

const char *filter_type_help(const char *type)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (strcmp(kinds[i].name, type) == 0)
			return kinds[i].help;
	}
	return NULL;
}

/* ---- values ---- */

/* 1: the range's end was set. 0: not valid. */
static int set_range(struct filter_range *range, const struct rule *rule, const char *value)
{
	bool is_share = false, ok = false;
	uint64_t number = 0;

	switch (rule->kind) {
	case KIND_INTERVAL_OR_SHARE:
		is_share = filter_value_share(value, &number);
		ok = is_share || filter_value_interval(value, &number);
		break;
	case KIND_COUNT_OR_SHARE:
		is_share = filter_value_share(value, &number);
		ok = is_share || filter_value_count(value, &number);
		break;
	case KIND_INTERVAL:
		ok = filter_value_interval(value, &number);
		break;
	case KIND_SIZE:
		ok = filter_value_size(value, &number);
		break;
	case KIND_ADDRESS:
		ok = filter_value_address(value, &number);
		break;
	default:
		ok = filter_value_count(value, &number);
		break;
	}
	if (!ok)
		return 0;
	if (rule->is_upper) {
		range->max = number;
		range->has_max = true;
		range->is_max_percent = is_share;
	} else {
		range->min = number;
		range->has_min = true;
		range->is_min_percent = is_share;
	}
	return 1;
}

static int set_regex(char **text, const char *value, struct err *err)
{
	size_t len = strlen(value);
	char *copy = NULL;

	if (len > MAX_REGEX_BYTES)
		return 0;
	if (len) {
		copy = strdup(value);
		if (!copy)
			return err_set_memory(err, len + 1);
	}
	free(*text);
	*text = copy;
	return 1;
}

/* One number of a list; *at moves behind the comma. */
static bool take_id(const char **at, uint32_t *ret)
{
	char word[24];
	const char *comma = strchr(*at, ',');
	size_t len = comma ? (size_t)(comma - *at) : strlen(*at);
	uint64_t id;

	if (len >= sizeof(word))
		return false;
	memcpy(word, *at, len);
	word[len] = 0;
	if (!filter_value_count(word, &id) || id > UINT32_MAX)
		return false;
	*at += len + !!comma;
	if (comma && !**at)
		return false;
	*ret = (uint32_t)id;
	return true;
}

static int set_ids(struct filter *f, const struct rule *rule, const char *value, struct err *err)
{
	uint32_t **ids = field_at(f, rule->offset), *list = NULL;
	size_t n = 0, capacity = 0;
	int r = 1;

	while (*value && r == 1) {
		r = vec_reserve(&list, &capacity, n + 1, sizeof(*list), err);
		if (r < 0)
			break;
		r = n < MAX_IDS && take_id(&value, &list[n++]);
	}
	if (r != 1) {
		free(list);
		return r;
	}
	free(*ids);
	*ids = list;
	*(size_t *)field_at(f, rule->n_offset) = n;
	*(bool *)field_at(f, rule->has_offset) = n > 0;
	return 1;
}

static int set_choice(unsigned *field, const struct rule *rule, const char *choices,
		      const char *value)
{
	size_t len = strlen(value);
	unsigned number = rule->first;

	for (const char *at = choices; at; number++) {
		const char *end = strchr(at, '|');
		size_t at_len = end ? (size_t)(end - at) : strlen(at);

		if (len == at_len && memcmp(at, value, len) == 0) {
			*field = number;
			return 1;
		}
		at = end ? end + 1 : NULL;
	}
	return 0;
}

static int set_number(struct filter *f, const struct rule *rule, const char *value)
{
	uint64_t number;

	if (!filter_value_count(value, &number) || number > rule->max)
		return 0;
	*(uint64_t *)field_at(f, rule->offset) = number;
	*(bool *)field_at(f, rule->has_offset) = true;
	return 1;
}

static_assert(sizeof(enum filter_lifetime) == sizeof(unsigned) &&
		      sizeof(enum filter_choice) == sizeof(unsigned) &&
		      sizeof(enum filter_window) == sizeof(unsigned),
	      "choices are written as unsigned");

static int set_value(struct filter *f, size_t i, const char *value, struct err *err)
{
	const struct rule *rule = &rules[i];
	void *field = field_at(f, rule->offset);

	switch (rule->kind) {
	case KIND_TIME:
		return filter_value_time(value, rule->is_upper, field);
	case KIND_REGEX:
		return set_regex(field, value, err);
	case KIND_IDS:
		return set_ids(f, rule, value, err);
	case KIND_NUMBER:
		return set_number(f, rule, value);
	case KIND_CHOICE:
		return set_choice(field, rule, parameters[i].choices, value);
	default:
		return set_range(field, rule, value);
	}
}

int filter_set(struct filter *f, const char *name, const char *value, struct err *err)
{
	int r;

	/* The 2023 API ran scripts here. Passing over it would answer another question. */
	if (strcmp(name, "custom_filter") == 0 && *value)
		return err_set(
			err, ERR_USAGE,
			"custom_filter: scripts are not supported; use the other parameters");
	for (size_t i = 0; i < ARRAY_LEN(parameters); i++) {
		if (strcmp(parameters[i].name, name) != 0)
			continue;
		r = set_value(f, i, value, err);
		if (r == 0)
			return err_set(err, ERR_USAGE, "%s: '%.80s' is not valid; valid: %s", name,
				       value,
				       rules[i].kind == KIND_CHOICE ? parameters[i].choices
								    : kinds[rules[i].kind].help);
		return r;
	}
	return 0;
}
