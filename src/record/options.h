/* record/options.h - the MEMORY_PROFILER_* environment variables, parsed.
 *
 * options.def lists them. They are parsed before the first event (start.c) and constant afterwards;
 * a forked child keeps those of its parent. Threads: readers only.
 */
#ifndef RECORD_OPTIONS_H
#define RECORD_OPTIONS_H

#include "base/text.h"

#define OPTIONS_TEXT_BYTES 1024

enum log_level {
	LOG_OFF = -1, /* MEMORY_PROFILER_LOG=off */
	LOG_MUST = 0, /* only what the user must know: nothing is recorded, a setting is wrong */
	LOG_ERROR,
	LOG_WARN,
	LOG_INFO,
	LOG_DEBUG,
	LOG_TRACE,
};

#define OPTIONS_U64_UNSET UINT64_MAX

/* One member per variable, named like it. */
struct options {
#define OPTION_BOOL(name) bool name;
#define OPTION_U64(name) uint64_t name;
#define OPTION_TEXT(name) char name[OPTIONS_TEXT_BYTES];
#define OPTION_LEVEL(name) enum log_level name;
#define OPTION(name, type, default_text, help) OPTION_##type(name)
#include "record/options.def"
#undef OPTION
#undef OPTION_BOOL
#undef OPTION_U64
#undef OPTION_TEXT
#undef OPTION_LEVEL
};

/* The options of this process. Zero until start_recorder(). */
extern struct options options_active;

/* Called for a value that cannot be used; the default is used instead. */
typedef void (*options_complain_fn)(const char *name, const char *value, const char *default_text);

/* Fills *o from an environment: strings "NAME=value", each ended by a 0, len bytes in all. */
void options_parse(struct options *o, const char *env, size_t len, options_complain_fn complain);

/* Called for a variable that begins as ours do and is none. similar: the one that may be meant, or
 * NULL. */
typedef void (*options_unknown_fn)(const char *name, size_t name_len, const char *similar);

void options_find_unknown(const char *env, size_t len, options_unknown_fn unknown);

/* What the placeholders stand for. */
struct options_names {
	uint32_t pid;
	uint64_t unix_seconds;
	const char *executable;
	uint64_t counter;
	bool with_counter; /* false: %n is left as it is */
};

/* Expands %p %t %e %n %% of pattern into out. An unknown placeholder stays as it is. */
void options_expand(const char *pattern, const struct options_names *names, struct text *out);

/* Does the pattern contain the placeholder %c? */
bool options_has_placeholder(const char *pattern, char c);

#endif
