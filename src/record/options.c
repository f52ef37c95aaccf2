/* record/options.c - see options.h. */
#include "record/options.h"

#include <string.h>

#define PREFIX "MEMORY_PROFILER_"

struct options options_active;

static bool parse_bool(const char *value, bool *ret)
{
	if (!strcmp(value, "1") || !strcmp(value, "true"))
		*ret = true;
	else if (!strcmp(value, "0") || !strcmp(value, "false") || !*value)
		*ret = false;
	else
		return false;
	return true;
}

/* A number, which K, M or G may follow: 1024, 1024^2, 1024^3. */
static bool parse_size(const char *value, uint64_t *ret)
{
	static const char units[] = "KMG";
	size_t len = strlen(value);
	unsigned unit = 0;
	char number[24];
	uint64_t n;

	while (len && units[unit] && units[unit] != value[len - 1])
		unit++;
	if (!len || !units[unit])
		return text_parse_u64(value, ret);
	if (len > sizeof(number))
		return false;
	memcpy(number, value, len - 1);
	number[len - 1] = 0;
	if (!text_parse_u64(number, &n) || __builtin_mul_overflow(n, 1ull << 10 * (unit + 1), &n))
		return false;
	*ret = n;
	return true;
}

static bool parse_u64_option(const char *value, uint64_t *ret)
{
	if (!*value) {
		*ret = OPTIONS_U64_UNSET;
		return true;
	}
	return parse_size(value, ret);
}

/* ASCII only: no locale. */
static char to_lower(char c)
{
	return (char)(c >= 'A' && c <= 'Z' ? c + 'a' - 'A' : c);
}

static bool is_same_word(const char *a, const char *b)
{
	while (*a && to_lower(*a) == to_lower(*b)) {
		a++;
		b++;
	}
	return !*a && !*b;
}

static bool parse_level(const char *value, enum log_level *ret)
{
	static const char *const names[] = {"off", "", "error", "warn", "info", "debug", "trace"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (is_same_word(value, names[i])) {
			*ret = (enum log_level)((int)i + LOG_OFF);
			return true;
		}
	}
	return false;
}

static bool parse_text(const char *value, char *ret)
{
	size_t len = strlen(value);

	if (len >= OPTIONS_TEXT_BYTES)
		return false;
	memcpy(ret, value, len + 1);
	return true;
}

/* The value of a variable, or NULL. The last string must be ended by a 0, too. */
static const char *find_variable(const char *env, size_t len, const char *name)
{
	size_t name_len = strlen(name);

	for (size_t at = 0; at < len; at += strlen(env + at) + 1) {
		const char *entry = env + at;

		if (!strncmp(entry, name, name_len) && entry[name_len] == '=')
			return entry + name_len + 1;
	}
	return NULL;
}

#define PARSE_BOOL(value, target) parse_bool(value, &(target))
#define PARSE_U64(value, target) parse_u64_option(value, &(target))
#define PARSE_TEXT(value, target) parse_text(value, target)
#define PARSE_LEVEL(value, target) parse_level(value, &(target))

void options_parse(struct options *o, const char *env, size_t len, options_complain_fn complain)
{
	const char *value;

#define OPTION(name, type, default_text, help)                                                     \
	PARSE_##type(default_text, o->name);                                                       \
	value = find_variable(env, len, PREFIX #name);                                             \
	if (value && !PARSE_##type(value, o->name))                                                \
		complain(PREFIX #name, value, default_text);
#include "record/options.def"
#undef OPTION
	if (o->BASE_SERVER_PORT == 0 || o->BASE_SERVER_PORT > 65535) {
		value = find_variable(env, len, PREFIX "BASE_SERVER_PORT");
		complain(PREFIX "BASE_SERVER_PORT", value ? value : "", "8100");
		o->BASE_SERVER_PORT = 8100;
	}
	if (o->CHOWN_OUTPUT_TO != OPTIONS_U64_UNSET && o->CHOWN_OUTPUT_TO >= UINT32_MAX) {
		value = find_variable(env, len, PREFIX "CHOWN_OUTPUT_TO");
		complain(PREFIX "CHOWN_OUTPUT_TO", value ? value : "", "");
		o->CHOWN_OUTPUT_TO = OPTIONS_U64_UNSET;
	}
}

#define MAX_NAME_BYTES 64
#define MAX_DISTANCE 3

/* How many characters must be inserted, removed or replaced. */
static unsigned distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	unsigned row[MAX_NAME_BYTES + 1];

	for (size_t j = 0; j <= b_len; j++)
		row[j] = (unsigned)j;
	for (size_t i = 1; i <= a_len; i++) {
		unsigned diagonal = row[0];

		row[0] = (unsigned)i;
		for (size_t j = 1; j <= b_len; j++) {
			unsigned best = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[b_len];
}

static const char *const known_names[] = {
#define OPTION(name, type, default_text, help) PREFIX #name,
#include "record/options.def"
#undef OPTION
};

/* Looks at one name. True: it is ours. *similar: the nearest one of ours, or NULL. */
static bool is_known(const char *name, size_t len, const char **similar)
{
	unsigned best = MAX_DISTANCE + 1;

	*similar = NULL;
	for (size_t i = 0; i < ARRAY_LEN(known_names); i++) {
		size_t known_len = strlen(known_names[i]);
		unsigned n;

		if (len > MAX_NAME_BYTES || known_len > MAX_NAME_BYTES)
			continue;
		n = distance(name, len, known_names[i], known_len);
		if (n == 0)
			return true;
		if (n < best) {
			best = n;
			*similar = known_names[i];
		}
	}
	return false;
}

void options_find_unknown(const char *env, size_t len, options_unknown_fn unknown)
{
	for (size_t at = 0; at < len; at += strlen(env + at) + 1) {
		const char *entry = env + at, *similar;
		size_t name_len = strcspn(entry, "=");

		if (!strncmp(entry, PREFIX, sizeof(PREFIX) - 1) &&
		    !is_known(entry, name_len, &similar))
			unknown(entry, name_len, similar);
	}
}

void options_expand(const char *pattern, const struct options_names *names, struct text *out)
{
	for (const char *p = pattern; *p; p++) {
		if (*p != '%' || !p[1]) {
			text_put_char(out, *p);
			continue;
		}
		switch (*++p) {
		case 'p':
			text_put_u64(out, names->pid);
			break;
		case 't':
			text_put_u64(out, names->unix_seconds);
			break;
		case 'e':
			text_put(out, names->executable);
			break;
		case 'n':
			if (names->with_counter) {
				text_put_u64(out, names->counter);
				break;
			}
			text_put(out, "%n");
			break;
		case '%':
			text_put_char(out, '%');
			break;
		default:
			text_put_char(out, '%');
			text_put_char(out, *p);
		}
	}
}

bool options_has_placeholder(const char *pattern, char c)
{
	for (const char *p = pattern; *p; p++) {
		if (*p == '%' && p[1] && *++p == c)
			return true;
	}
	return false;
}
