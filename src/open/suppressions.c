/* open/suppressions.c - see suppressions.h. */
#include "open/suppressions.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/suppressed.h"
#include "util/vec.h"

#define RULE "leak:"

/* As heaptrack has them. */
static const char *const built_in[] = {
	"__nss_module_allocate", "__gconv_read_conf",  "__new_exitfn",  "tzset_internal",
	"dl_open_worker",        "g_main_context_new", "g_thread_self",
};

static int add(struct suppressions *s, const char *pattern, struct err *err)
{
	int r = vec_reserve(&s->pattern, &s->capacity, s->n + 1, sizeof(*s->pattern), err);

	if (r < 0)
		return r;
	s->pattern[s->n] = strdup(pattern);
	if (!s->pattern[s->n])
		return err_set_memory(err, strlen(pattern));
	s->n++;
	return 0;
}

int suppressions_add_built_in(struct suppressions *s, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < ARRAY_LEN(built_in) && r == 0; i++)
		r = add(s, built_in[i], err);
	return r;
}

/* Takes the white space off both ends, in place. */
static char *trimmed(char *line)
{
	size_t len;

	while (isspace((unsigned char)*line))
		line++;
	len = strlen(line);
	while (len > 0 && isspace((unsigned char)line[len - 1]))
		line[--len] = '\0';
	return line;
}

static int add_line(struct suppressions *s, char *line, struct err *err)
{
	line = trimmed(line);
	if (!*line || *line == '#')
		return 0;
	if (strncmp(line, RULE, strlen(RULE)) != 0)
		return err_set(err, ERR_USAGE, "'%s' is no rule: write leak:PATTERN", line);
	line = trimmed(line + strlen(RULE));
	if (!*line)
		return err_set(err, ERR_USAGE, "a rule without a pattern would match nothing");
	return add(s, line, err);
}

int suppressions_read(struct suppressions *s, const char *path, struct err *err)
{
	FILE *f = fopen(path, "re");
	char *line = NULL;
	size_t room = 0, number = 0;
	int r = 0;

	if (!f)
		return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
	while (r == 0 && getline(&line, &room, f) >= 0) {
		number++;
		r = add_line(s, line, err);
	}
	if (r == 0 && ferror(f))
		r = err_set_errno(err, EIO, "cannot be read");
	if (r < 0)
		err_prefix(err, "%s: line %zu", path, number);
	free(line);
	fclose(f);
	return r;
}

void suppressions_fini(struct suppressions *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->pattern[i]);
	free(s->pattern);
	*s = (struct suppressions){0};
}

/* ---- matching ---- */

bool suppressions_match(const char *pattern, const char *text)
{
	size_t len = text ? strlen(text) : 0, end = strlen(pattern), at = 0;
	bool is_fixed = pattern[0] == '^'; /* the next part must begin right here */
	bool has_end = end > 0 && pattern[end - 1] == '$';

	pattern += is_fixed;
	end -= (size_t)is_fixed + has_end;
	if (len == 0 || (end == 0 && !is_fixed && !has_end))
		return false;
	while (end > 0) {
		const char *star = memchr(pattern, '*', end), *found;
		size_t part = star ? (size_t)(star - pattern) : end;

		if (!star && has_end) { /* the last part stands at the end of the text */
			found = len - at >= part ? text + len - part : NULL;
			if (!found || memcmp(found, pattern, part) != 0 ||
			    (is_fixed && found != text + at))
				return false;
			return true;
		}
		found = part ? memmem(text + at, len - at, pattern, part) : text + at;
		if (!found || (is_fixed && strncmp(text + at, pattern, part) != 0))
			return false;
		at = is_fixed ? at + part : (size_t)(found - text) + part;
		pattern += part + !!star;
		end -= part + !!star;
		is_fixed = false;
		if (star && end == 0)
			return true;
	}
	return !has_end || at == len;
}

static bool matches_frame(const char *pattern, const struct frame *f)
{
	return suppressions_match(pattern, f->function) || suppressions_match(pattern, f->source) ||
	       suppressions_match(pattern, f->module);
}

/* ---- which stacks ---- */

struct verdicts {
	const struct suppressions *rules;
	struct frames *frames;
	const struct store_node *node;
	const struct store_stack *stack;
	size_t n_nodes, n_codes, n_stacks;
	bool *leaks; /* by node: it is part of a stack that leaked */
	uint32_t *of_code, *of_node; /* 0: no rule matches; else 1 + index of the first that does */
	uint32_t *of_stack;
	uint32_t *wanted; /* codes of such nodes */
	size_t n_wanted;
};

static void verdicts_fini(struct verdicts *v)
{
	free(v->leaks);
	free(v->of_code);
	free(v->of_node);
	free(v->of_stack);
	free(v->wanted);
}

static int verdicts_init(struct verdicts *v, const struct store *store, struct err *err)
{
	(void)store_table(store, STORE_CODES, &v->n_codes);
	v->node = store_table(store, STORE_NODES, &v->n_nodes);
	v->stack = store_table(store, STORE_STACKS, &v->n_stacks);
	v->leaks = calloc(v->n_nodes + 1, sizeof(*v->leaks));
	v->of_code = calloc(v->n_codes + 1, sizeof(*v->of_code));
	v->of_node = calloc(v->n_nodes + 1, sizeof(*v->of_node));
	v->of_stack = calloc(v->n_stacks + 1, sizeof(*v->of_stack));
	v->wanted = calloc(v->n_codes + 1, sizeof(*v->wanted));
	if (!v->leaks || !v->of_code || !v->of_node || !v->of_stack || !v->wanted)
		return err_set_memory(err, v->n_nodes * sizeof(*v->of_node));
	return 0;
}

/* Names are looked up only for code that leaked. A parent has a smaller number than its children. */
static int look_up_names(struct verdicts *v, struct err *err)
{
	for (size_t i = 0; i < v->n_stacks; i++) {
		if (v->stack[i].n_leaked)
			v->leaks[v->stack[i].node] = true;
	}
	for (size_t i = v->n_nodes; i-- > 1;) {
		uint32_t code = v->node[i].code;

		if (!v->leaks[i])
			continue;
		v->leaks[v->node[i].parent] = true;
		if (code && code < v->n_codes && !v->of_code[code]) {
			v->of_code[code] = UINT32_MAX; /* wanted */
			v->wanted[v->n_wanted++] = code;
		}
	}
	return frames_need(v->frames, v->wanted, v->n_wanted, err);
}

static uint32_t rule_of_code(const struct verdicts *v, uint32_t code)
{
	size_t n;
	const struct frame *f = frames_of_code(v->frames, code, &n);

	for (size_t rule = 0; rule < v->rules->n; rule++) {
		for (size_t i = 0; i < n; i++) {
			if (matches_frame(v->rules->pattern[rule], &f[i]))
				return (uint32_t)rule + 1;
		}
	}
	return 0;
}

static void judge(struct verdicts *v)
{
	for (size_t i = 0; i < v->n_wanted; i++)
		v->of_code[v->wanted[i]] = rule_of_code(v, v->wanted[i]);
	for (size_t i = 1; i < v->n_nodes; i++) {
		uint32_t code = v->node[i].code, own;
		uint32_t outer = v->node[i].parent < i ? v->of_node[v->node[i].parent] : 0;

		own = v->leaks[i] && code && code < v->n_codes ? v->of_code[code] : 0;
		v->of_node[i] = own && (!outer || own < outer) ? own : outer;
	}
	for (size_t i = 0; i < v->n_stacks; i++) {
		if (v->stack[i].n_leaked)
			v->of_stack[i] = v->of_node[v->stack[i].node];
	}
}

int suppressions_apply(const struct suppressions *s, struct store *store, struct frames *frames,
		       struct err *err)
{
	struct verdicts v = {.rules = s, .frames = frames};
	int r = verdicts_init(&v, store, err);

	if (r == 0)
		r = look_up_names(&v, err);
	if (r == 0) {
		judge(&v);
		r = store_suppress(store, v.of_stack, (const char *const *)s->pattern, s->n, err);
	}
	verdicts_fini(&v);
	return r;
}
