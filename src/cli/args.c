/* cli/args.c - see args.h. */
#include "cli/args.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "util/human.h"

void args_complain(const char *fmt, ...)
{
	char text[4096];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fflush(stdout); /* keeps the order where both go to the same file or terminal */
	fputs(PROGRAM ": ", stderr);
	human_print_text(stderr, text, strlen(text));
	putc('\n', stderr);
}

static int complain_usage(const struct args_command *c, const char *problem, const char *arg)
{
	args_complain("%s: %s%s%s%s; see '" PROGRAM " %s --help'", c->name, problem,
		      arg ? " '" : "", arg ? arg : "", arg ? "'" : "", c->name);
	return CLI_USAGE;
}

static void print_option(const struct args_option *o)
{
	char text[64];

	snprintf(text, sizeof(text), "%c%c%s--%s%s%s", o->letter ? '-' : ' ',
		 o->letter ? o->letter : ' ', o->letter ? ", " : "  ", o->name, o->value ? " " : "",
		 o->value ? o->value : "");
	printf("  %-26s %s\n", text, o->help);
}

static void print_help(const struct args_command *c)
{
	static const struct args_option help = {
		.letter = 'h', .name = "help", .help = "show this help"};

	printf("Usage: " PROGRAM " %s [OPTION]... %s\n\n%s\nOptions:\n", c->name, c->operands,
	       c->help);
	for (size_t i = 0; i < c->n_options; i++)
		print_option(&c->option[i]);
	print_option(&help);
	if (c->more)
		c->more->print_help();
}

static const struct args_option *find_long(const struct args_command *c, const char *name,
					   size_t len)
{
	for (size_t i = 0; i < c->n_options; i++) {
		if (strlen(c->option[i].name) == len && memcmp(c->option[i].name, name, len) == 0)
			return &c->option[i];
	}
	return NULL;
}

static const struct args_option *find_letter(const struct args_command *c, char letter)
{
	for (size_t i = 0; i < c->n_options; i++) {
		if (c->option[i].letter == letter)
			return &c->option[i];
	}
	return NULL;
}

struct args_state {
	const struct args_command *command;
	int argc;
	char **argv;
	int at; /* index of the argument being read */
};

/* Sets the option's target. attached is the value after '=' or the letter, or NULL.
 * Returns -1, or the exit status after a complaint; so do the functions below. */
static int set_option(struct args_state *s, const struct args_option *o, const char *attached)
{
	if (!o->value) {
		*o->flag = true;
		return attached ? complain_usage(s->command, "a value was given to the flag",
						 s->argv[s->at])
				: -1;
	}
	if (!attached) {
		if (s->at + 1 >= s->argc)
			return complain_usage(s->command, "a value is missing after",
					      s->argv[s->at]);
		attached = s->argv[++s->at];
	}
	if (!o->list) {
		*o->text = attached;
		return -1;
	}
	if (o->list->n == ARGS_LIST_MAX)
		return complain_usage(s->command,
				      "an option was repeated too often:", s->argv[s->at]);
	o->list->item[o->list->n++] = attached;
	return -1;
}

/* Sets an option that is not in the command's table; len is the length of its name. */
static int set_more(struct args_state *s, size_t len, const char *attached)
{
	const struct args_more *more = s->command->more;
	const char *arg = s->argv[s->at];
	struct err err = {0};
	char name[64];
	int r = 0;

	if (more && len < sizeof(name)) {
		memcpy(name, arg + 2, len);
		name[len] = 0;
		r = more->set(more->user, name,
			      attached              ? attached
			      : s->at + 1 < s->argc ? s->argv[s->at + 1]
						    : NULL,
			      &err);
	}
	if (r == 0)
		return complain_usage(s->command, "unknown option", arg);
	if (r == -ERR_MEMORY) {
		args_complain("%s: %s", s->command->name, err.text);
		return CLI_FAILED;
	}
	if (r < 0)
		return complain_usage(s->command, err.text, NULL);
	if (!attached)
		s->at++;
	return -1;
}

static int parse_long(struct args_state *s)
{
	const char *name = s->argv[s->at] + 2;
	const char *equals = strchr(name, '=');
	size_t len = equals ? (size_t)(equals - name) : strlen(name);
	const struct args_option *o = find_long(s->command, name, len);

	if (strcmp(name, "help") == 0) {
		print_help(s->command);
		return CLI_OK;
	}
	if (!o)
		return set_more(s, len, equals ? equals + 1 : NULL);
	return set_option(s, o, equals ? equals + 1 : NULL);
}

/* Reads one or more letters after a dash. */
static int parse_letters(struct args_state *s)
{
	int result = -1;

	for (const char *p = s->argv[s->at] + 1; *p && result < 0; p++) {
		const struct args_option *o = find_letter(s->command, *p);

		if (!o && *p == 'h') {
			print_help(s->command);
			return CLI_OK;
		}
		if (!o)
			return complain_usage(s->command, "unknown option", s->argv[s->at]);
		if (o->value)
			return set_option(s, o, p[1] ? p + 1 : NULL);
		result = set_option(s, o, NULL);
	}
	return result;
}

int args_parse(const struct args_command *c, int argc, char **argv, int *first, int *end)
{
	struct args_state s = {.command = c, .argc = argc, .argv = argv, .at = 1};
	bool only_operands = false;
	int n_operands = 0;
	int result = -1;

	for (; s.at < argc; s.at++) {
		char *arg = argv[s.at];

		if (only_operands || arg[0] != '-' || arg[1] == 0) {
			argv[1 + n_operands++] = arg; /* overwrites only what has been read */
			only_operands = only_operands || c->stops_at_operand;
			continue;
		}
		if (strcmp(arg, "--") == 0) {
			only_operands = true;
			continue;
		}
		result = arg[1] == '-' ? parse_long(&s) : parse_letters(&s);
		if (result >= 0)
			return result;
	}
	if ((size_t)n_operands < c->min_operands)
		return complain_usage(c, "missing argument", c->operands);
	*first = 1;
	*end = 1 + n_operands;
	return -1;
}
