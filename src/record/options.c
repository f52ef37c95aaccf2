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

static bool parse_level(const char *value, enum log_level *ret)
{
	static const char *const names[] = {"off", "error", "warn", "info", "debug", "trace"};

	if (!*value) {
		*ret = LOG_OFF;
		return true;
	}
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (!strcmp(value, names[i])) {
			*ret = (enum log_level)i;
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
