/* Command lines. */
#include "harness/test.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/args.h"

static bool flag;
static struct args_list list;
static char more_name[32], more_value[32];
static const char *text;
static int first, end;
static char *argv[16];

/* Knows --more and refuses the value "bad". */
static int set_more(void *user, const char *name, const char *value, struct err *err)
{
	(void)user;
	if (strcmp(name, "more") != 0)
		return 0;
	if (!value || strcmp(value, "bad") == 0)
		return err_set(err, ERR_USAGE, "no good");
	snprintf(more_name, sizeof(more_name), "%s", name);
	snprintf(more_value, sizeof(more_value), "%s", value);
	return 1;
}

static void more_help(void)
{
	puts("--more");
}

/* Parses the words; what it prints is thrown away. */
static int parse(bool stops, const char *words)
{
	static char buf[256];
	const struct args_option option[] = {
		{.letter = 'j', .name = "json", .help = "h", .flag = &flag},
		{.letter = 'o', .name = "output", .value = "FILE", .help = "h", .text = &text},
		{.letter = 'd', .name = "each", .value = "X", .help = "h", .list = &list},
	};
	const struct args_more more = {.set = set_more, .print_help = more_help};
	const struct args_command c = {
		.name = "test",
		.operands = "FILE",
		.help = "help\n",
		.option = option,
		.n_options = ARRAY_LEN(option),
		.more = &more,
		.stops_at_operand = stops,
		.min_operands = 1,
	};
	int argc = 0, result;
	FILE *out = stdout, *err = stderr;

	snprintf(buf, sizeof(buf), "test %s", words);
	for (char *w = strtok(buf, " "); w; w = strtok(NULL, " "))
		argv[argc++] = w;
	argv[argc] = NULL;
	flag = false;
	text = NULL;
	list.n = 0;
	more_value[0] = 0;
	first = end = 0;
	stdout = stderr = fopen("/dev/null", "w");
	result = args_parse(&c, argc, argv, &first, &end);
	fclose(stdout);
	stdout = out;
	stderr = err;
	return result;
}

TEST(options_and_operands_may_be_mixed)
{
	CHECK_EQ(parse(false, "a --json b -o x c"), -1);
	CHECK(flag);
	CHECK_STR_EQ(text, "x");
	CHECK_EQ(end - first, 3);
	CHECK_STR_EQ(argv[first], "a");
	CHECK_STR_EQ(argv[first + 1], "b");
	CHECK_STR_EQ(argv[first + 2], "c");
}

TEST(values_may_be_attached)
{
	CHECK_EQ(parse(false, "-ofile a"), -1);
	CHECK_STR_EQ(text, "file");
	CHECK_EQ(parse(false, "--output=file a"), -1);
	CHECK_STR_EQ(text, "file");
	CHECK_EQ(parse(false, "--output --json a"), -1);
	CHECK_STR_EQ(text, "--json");
	CHECK_EQ(parse(false, "-jo file a"), -1);
	CHECK(flag);
	CHECK_STR_EQ(text, "file");
}

TEST(what_follows_a_command_is_its_own)
{
	CHECK_EQ(parse(true, "-o x ls -o y --json"), -1);
	CHECK_STR_EQ(text, "x");
	CHECK(!flag);
	CHECK_EQ(end - first, 4);
	CHECK_STR_EQ(argv[first + 3], "--json");
	CHECK_EQ(parse(true, "-- -ls"), -1);
	CHECK_STR_EQ(argv[first], "-ls");
}

TEST(wrong_usage_is_2_and_help_is_0)
{
	CHECK_EQ(parse(false, ""), CLI_USAGE);
	CHECK_EQ(parse(false, "--jsn a"), CLI_USAGE);
	CHECK_EQ(parse(false, "-x a"), CLI_USAGE);
	CHECK_EQ(parse(false, "a -o"), CLI_USAGE);
	CHECK_EQ(parse(false, "a --json=1"), CLI_USAGE);
	CHECK_EQ(parse(false, "--help"), CLI_OK);
	CHECK_EQ(parse(false, "a -h"), CLI_OK);
}

TEST(a_single_dash_is_an_operand)
{
	CHECK_EQ(parse(false, "-"), -1);
	CHECK_STR_EQ(argv[first], "-");
}

TEST(values_of_a_list_add_up)
{
	char words[256] = "";

	CHECK_EQ(parse(false, "a -d x --each=y -dz"), -1);
	CHECK_EQ(list.n, 3);
	CHECK_STR_EQ(list.item[0], "x");
	CHECK_STR_EQ(list.item[1], "y");
	CHECK_STR_EQ(list.item[2], "z");
	CHECK_EQ(parse(false, "a -d"), CLI_USAGE);
	for (int i = 0; i < 7; i++)
		strcat(words, "-d x ");
	CHECK_EQ(parse(false, words), CLI_USAGE); /* no operand */
}

TEST(options_of_another_table_are_passed_on)
{
	CHECK_EQ(parse(false, "a --more=1"), -1);
	CHECK_STR_EQ(more_value, "1");
	CHECK_EQ(parse(false, "--more 2 a"), -1);
	CHECK_STR_EQ(more_value, "2");
	CHECK_EQ(end - first, 1);
	CHECK_EQ(parse(false, "a --more=bad"), CLI_USAGE);
	CHECK_EQ(parse(false, "a --more"), CLI_USAGE);
	CHECK_EQ(parse(false, "a --none=1"), CLI_USAGE);
	CHECK_EQ(parse(false, "--help"), CLI_OK);
}
