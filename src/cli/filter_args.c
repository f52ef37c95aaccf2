/* cli/filter_args.c - see filter_args.h. */
#include "cli/filter_args.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HELP_COLUMN 36
#define HELP_WIDTH 100

/* The parameter with the name of an option, or NULL. */
static const struct filter_parameter *find_parameter(const char *option)
{
	size_t n;
	const struct filter_parameter *p = filter_parameters(&n);

	for (size_t i = 0; i < n; i++) {
		const char *a = p[i].name, *b = option;

		while (*a && (*a == *b || (*a == '_' && *b == '-')))
			a++, b++;
		if (!*a && !*b)
			return &p[i];
	}
	return NULL;
}

/* Sets a condition; value must live as long as a. Returns 1, or 0 if there is no such condition, or
 * -ERR_x. */
static int set_condition(struct filter_args *a, const char *name, const char *value,
			 struct err *err)
{
	const struct filter_parameter *p = find_parameter(name);
	int r;

	if (!p)
		return 0;
	if (!value)
		return err_set(err, ERR_USAGE, "a value is missing after '--%s'", name);
	if (a->n == FILTER_ARGS_MAX)
		return err_set(err, ERR_USAGE, "more than %d conditions are given",
			       FILTER_ARGS_MAX);
	r = filter_set(&a->filter, p->name, value, err);
	if (r > 0) {
		a->name[a->n] = p->name;
		a->value[a->n++] = value;
	}
	return r;
}

static int set_more(void *user, const char *name, const char *value, struct err *err)
{
	return set_condition(user, name, value, err);
}

/* Prints text from column HELP_COLUMN on, broken at blanks and after '|'. */
static void print_wrapped(const char *text)
{
	const char *blank = "";
	size_t at = HELP_COLUMN;

	while (*text) {
		size_t len = strcspn(text, " |");

		len += text[len] == '|';
		if (at + strlen(blank) + len > HELP_WIDTH && at > HELP_COLUMN) {
			printf("\n%*s", HELP_COLUMN, "");
			at = HELP_COLUMN;
			blank = "";
		}
		printf("%s%.*s", blank, (int)len, text);
		at += strlen(blank) + len;
		text += len;
		blank = *text == ' ' ? " " : "";
		text += *text == ' ';
	}
	putchar('\n');
}

/* Prints what the types of values look like, each type once. */
static void print_types(const struct filter_parameter *p, size_t n)
{
	fputs("\nValues:\n", stdout);
	for (size_t i = 0; i < n; i++) {
		const char *help = filter_type_help(p[i].type);
		size_t k = 0;

		while (k < i && strcmp(p[k].type, p[i].type) != 0)
			k++;
		if (k < i || !help || p[i].choices)
			continue;
		printf("  %-*s", HELP_COLUMN - 2, p[i].type);
		print_wrapped(help);
	}
}

static void print_help(void)
{
	size_t n;
	const struct filter_parameter *p = filter_parameters(&n);

	fputs("\nConditions; an allocation must match all that are given:\n", stdout);
	for (size_t i = 0; i < n; i++) {
		bool is_long = p[i].choices && strlen(p[i].choices) > 16;
		char text[96];

		snprintf(text, sizeof(text), "--%s=%s", p[i].name,
			 is_long        ? "WHAT"
			 : p[i].choices ? p[i].choices
					: p[i].type);
		for (char *c = text; *c && *c != '='; c++)
			*c = *c == '_' ? '-' : *c;
		printf("  %-*s", HELP_COLUMN - 2, text);
		if (strlen(text) + 3 > HELP_COLUMN)
			printf("\n%*s", HELP_COLUMN, "");
		if (is_long) {
			print_wrapped(p[i].choices);
			printf("%*s", HELP_COLUMN, "");
		}
		print_wrapped(p[i].help);
	}
	print_types(p, n);
}

void filter_args_init(struct filter_args *a)
{
	*a = (struct filter_args){.more = {.set = set_more, .print_help = print_help, .user = a}};
	filter_init(&a->filter);
}

void filter_args_fini(struct filter_args *a)
{
	filter_fini(&a->filter);
	for (size_t i = 0; i < ARRAY_LEN(a->owned); i++)
		free(a->owned[i]);
}

/* Sets one end of --time; an empty text sets nothing. */
static int set_end(struct filter_args *a, const char *name, const char *text, size_t len,
		   char **owned, struct err *err)
{
	if (len == 0)
		return 0;
	free(*owned);
	*owned = strndup(text, len);
	if (!*owned)
		return err_set_memory(err, len + 1);
	return set_condition(a, name, *owned, err);
}

/* Can nothing be between the two? Of a time and a share that is not known yet. */
static bool is_backwards(const struct filter_time *from, const struct filter_time *to)
{
	if (from->kind != to->kind)
		return false;
	return from->kind == FILTER_TIME_PERCENT ? from->percent > to->percent : from->ns > to->ns;
}

int filter_args_set_time(struct filter_args *a, const char *range, struct err *err)
{
	const char *dots = strstr(range, "..");
	int r;

	if (!dots || strcmp(range, "..") == 0)
		return err_set(err, ERR_USAGE,
			       "'--time %s': write FROM..TO, such as 1s..2s or 50%%..", range);
	r = set_end(a, "from", range, (size_t)(dots - range), &a->owned[0], err);
	if (r >= 0)
		r = set_end(a, "to", dots + 2, strlen(dots + 2), &a->owned[1], err);
	if (r >= 0 && is_backwards(&a->filter.from, &a->filter.to))
		r = err_set(err, ERR_USAGE, "ends before it begins; write FROM..TO");
	if (r < 0)
		err_prefix(err, "--time %s", range);
	return r < 0 ? r : 0;
}
