/* query/query_regex.c - see query_regex.h. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "query/query_regex.h"

#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

/* Enough for any honest expression on a name of some kilobytes; a bad one ends within about 0.1 s. */
#define MATCH_LIMIT 2000000u
#define DEPTH_LIMIT 2000u
#define HEAP_LIMIT_KIB 16384u
#define JIT_STACK_START_BYTES ((size_t)32 * 1024)
#define JIT_STACK_MAX_BYTES ((size_t)1024 * 1024)

struct query_regex {
	const char *parameter;
	pcre2_code *code;
	pcre2_match_data *data;
	pcre2_match_context *context;
	pcre2_jit_stack *stack;
};

void query_regex_destroy(struct query_regex *x)
{
	if (!x)
		return;
	pcre2_jit_stack_free(x->stack);
	pcre2_match_context_free(x->context);
	pcre2_match_data_free(x->data);
	pcre2_code_free(x->code);
	free(x);
}

static int compile(struct query_regex *x, const char *pattern, uint32_t options, struct err *err)
{
	PCRE2_SIZE at;
	char why[120];
	int error;

	x->code = pcre2_compile((PCRE2_SPTR)pattern, strlen(pattern),
				PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | options, &error, &at, NULL);
	if (x->code)
		return 0;
	pcre2_get_error_message(error, (PCRE2_UCHAR *)why, sizeof(why));
	return err_set(err, ERR_USAGE, "%s: invalid regular expression '%.200s' at offset %zu: %s",
		       x->parameter, pattern, at, why);
}

static int create(const char *parameter, const char *pattern, uint32_t options,
		  struct query_regex **ret, struct err *err)
{
	struct query_regex *x = calloc(1, sizeof(*x));
	int r;

	if (!x)
		return err_set_memory(err, sizeof(*x));
	x->parameter = parameter;
	r = compile(x, pattern, options, err);
	if (r < 0)
		goto out;
	x->data = pcre2_match_data_create_from_pattern(x->code, NULL);
	x->context = pcre2_match_context_create(NULL);
	if (!x->data || !x->context) {
		r = err_set_memory(err, sizeof(*x));
		goto out;
	}
	pcre2_set_match_limit(x->context, MATCH_LIMIT);
	pcre2_set_depth_limit(x->context, DEPTH_LIMIT);
	pcre2_set_heap_limit(x->context, HEAP_LIMIT_KIB);
	/* Without it (no such CPU, no executable memory) pcre2_match() interprets. */
	if (pcre2_jit_compile(x->code, PCRE2_JIT_COMPLETE) == 0) {
		x->stack = pcre2_jit_stack_create(JIT_STACK_START_BYTES, JIT_STACK_MAX_BYTES, NULL);
		if (x->stack)
			pcre2_jit_stack_assign(x->context, NULL, x->stack);
	}
	*ret = x;
	x = NULL;
out:
	query_regex_destroy(x);
	return r;
}

int query_regex_create(const char *parameter, const char *pattern, struct query_regex **ret,
		       struct err *err)
{
	return create(parameter, pattern, PCRE2_NEVER_BACKSLASH_C, ret, err);
}

int query_regex_create_text(const char *parameter, const char *text, struct query_regex **ret,
			    struct err *err)
{
	return create(parameter, text, PCRE2_LITERAL | PCRE2_CASELESS, ret, err);
}

int query_regex_match(struct query_regex *x, const char *text, struct err *err)
{
	int r = pcre2_match(x->code, (PCRE2_SPTR)text, strlen(text), 0, 0, x->data, x->context);
	char why[120];

	if (r >= 0)
		return 1;
	if (r == PCRE2_ERROR_NOMATCH)
		return 0;
	pcre2_get_error_message(r, (PCRE2_UCHAR *)why, sizeof(why));
	return err_set(err, ERR_LIMIT,
		       "%s: matching '%.80s' was given up (%s); use a simpler regular expression",
		       x->parameter, text, why);
}
