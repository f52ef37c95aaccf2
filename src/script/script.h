/* script/script.h - runs Lua scripts that ask questions about recordings.
 *
 *	struct script_options o = {.host = &host, .data = &data, .n_data = 1, ...};
 *	r = script_create(&o, &script, &err);
 *	script_run(script, "leaks.lua", code, len, &result);
 *	script_destroy(script);
 *
 * docs/SCRIPTING.md is the manual of the language's side. The C here gives a few primitives (core.h),
 * and prelude.lua makes from them what scripts see. Every figure comes from query/query.h.
 *
 * Bounds: memory (of the Lua state, and of the results that the script holds), time, and output.
 * Scripts are not trusted: nothing that a script does can crash the process or escape the bounds. Where
 * standard functions of Lua could run for long without a look at the clock, or give access to the
 * process, scripts get others in their place (script_bounds.c, pattern.c, prelude.lua).
 *
 * Threads: one at a time per struct script; any number of scripts at once.
 */
#ifndef SCRIPT_SCRIPT_H
#define SCRIPT_SCRIPT_H

#include <stdio.h>

#include "query/query.h"

/* A recording that scripts can ask. All borrowed until script_destroy(). */
struct script_data {
	struct query_context context; /* the script puts its own cancel flag in */
	const char *name; /* of the file */
	/* Answers a question of the REST API, such as "findings?from=1s", as JSON; serve/offline.h has
	 * such a function. cancel: the script's flag. NULL: such questions are refused. */
	int (*ask)(void *user, const char *question, const atomic_bool *cancel, FILE *out,
		   struct err *err);
	void *ask_user;
};

/* What a script can do outside of itself. */
struct script_host {
	void *user;
	void (*print)(void *user, const char *text, size_t len);
	/* A new file for the script, and its end. One file at a time. is_whole false: the file is to be
	 * dropped, and err counts for nothing. */
	int (*create)(void *user, const char *path, FILE **ret, struct err *err);
	int (*close)(void *user, FILE *file, bool is_whole, struct err *err);
	/* Opens a further recording. NULL: scripts cannot. */
	int (*open)(void *user, const char *path, struct script_data *ret, struct err *err);
};

struct script_options {
	const struct script_host *host; /* borrowed, as all below */
	const struct script_data *data; /* the first is the one that `allocations()` is about */
	size_t n_data; /* may be 0 */
	const char *const *argument; /* for argv() */
	size_t n_arguments;
	size_t max_memory_bytes; /* 0: no limit, as below */
	uint64_t max_ns; /* of each script_run() */
	size_t max_output_bytes; /* of all texts that are printed */
	const atomic_bool *cancel; /* another thread may set it; or NULL */
	bool has_files; /* io, os and dofile: for scripts that the user runs in a terminal */
};

struct script; /* opaque: defined in script.c */

/* -ERR_MEMORY, or an error in the prelude. */
int script_create(const struct script_options *o, struct script **ret, struct err *err);
void script_destroy(struct script *s); /* NULL does nothing */

enum script_status {
	SCRIPT_OK,
	SCRIPT_EXITED, /* the script called exit() */
	SCRIPT_FAILED,
	SCRIPT_INCOMPLETE, /* the text ends too early: a prompt asks for more */
};

#define SCRIPT_MESSAGE_BYTES 2048

struct script_result {
	enum script_status status;
	int exit_status; /* EXITED */
	char message[SCRIPT_MESSAGE_BYTES]; /* FAILED: "leaks.lua:12: ..." */
	unsigned line; /* FAILED: where, from 1; 0: not known */
	uint64_t elapsed_ns;
};

/* Runs a chunk of text; global variables stay for the next chunk. name: as messages have it. */
void script_run(struct script *s, const char *name, const char *code, size_t len,
		struct script_result *ret);

/* The same for one line of a prompt: prints the values of an expression. */
void script_run_line(struct script *s, const char *code, size_t len, struct script_result *ret);

#endif
