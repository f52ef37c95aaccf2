/* Where source files are, and which ones may be read. */
#include "harness/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "serve/source_file.h"

static char top[64]; /* the folder of a test */

static const char *at(const char *path)
{
	static char buf[8][256];
	static unsigned n;
	char *to = buf[n++ % 8];

	snprintf(to, sizeof(buf[0]), "%s/%s", top, path);
	return to;
}

/* Writes a file, and makes the folders that it lies in. */
static void put(const char *path, const char *text, size_t len)
{
	char full[256];
	FILE *out;

	snprintf(full, sizeof(full), "%s", at(path));
	for (char *p = full + strlen(top) + 1; (p = strchr(p, '/')); p++) {
		*p = 0;
		mkdir(full, 0700);
		*p = '/';
	}
	out = fopen(full, "w");
	CHECK_NOT_NULL(out);
	CHECK_EQ(fwrite(text, 1, len, out), len);
	fclose(out);
}

static void begin(void)
{
	snprintf(top, sizeof(top), "/tmp/mp-source-XXXXXX");
	CHECK_NOT_NULL(mkdtemp(top));
}

static void end(void)
{
	char command[100];

	snprintf(command, sizeof(command), "rm -rf '%s'", top);
	CHECK_EQ(system(command), 0);
}

/* The text that is found, or "- " and the reason. Where it was found must be `where`. */
static const char *text_of(const char *source, const char *where, const char *rule1,
			   const char *rule2)
{
	static char buf[300];
	const char *const rule[] = {rule1, rule2};
	const struct source_rules rules = {.rule = rule, .n = (rule1 != NULL) + (rule2 != NULL)};
	struct source_file f;
	struct err err = {0};

	CHECK_OK(source_file_read(&rules, source, &f, &err));
	CHECK_EQ(!f.text, f.reason[0] != 0);
	CHECK_STR_EQ(f.path, f.text ? where : "");
	snprintf(buf, sizeof(buf), "%s%.*s", f.text ? "" : "- ",
		 f.text ? (int)f.len : (int)strlen(f.reason), f.text ? f.text : f.reason);
	source_file_fini(&f);
	return buf;
}

static bool is_missing(const char *text)
{
	return strstr(text, "not on this machine") != NULL;
}

TEST(a_file_is_read_where_the_recording_says)
{
	begin();
	put("src/x.c", "one\n", 4);
	CHECK_STR_EQ(text_of(at("src/x.c"), at("src/x.c"), NULL, NULL), "one\n");
	CHECK_STR_EQ(text_of(at("build/../src/./x.c"), at("src/x.c"), NULL, NULL), "one\n");
	CHECK(is_missing(text_of(at("src/y.c"), "", NULL, NULL)));
	CHECK(is_missing(text_of("src/x.c", "", NULL, NULL))); /* relative to what? */
	end();
}

TEST(prefixes_are_replaced_by_whole_parts)
{
	char rule[200], slash[200], all[200];

	begin();
	put("app/x.c", "one", 3);
	put("app/lication/x.c", "two", 3);
	snprintf(rule, sizeof(rule), "/build/app=%s", at("app"));
	snprintf(slash, sizeof(slash), "/build/app/=%s/", at("app"));
	snprintf(all, sizeof(all), "/=%s", at("app"));
	CHECK_STR_EQ(text_of("/build/app/x.c", at("app/x.c"), rule, NULL), "one");
	CHECK_STR_EQ(text_of("/build/app/x.c", at("app/x.c"), slash, NULL), "one");
	CHECK_STR_EQ(text_of("/x.c", at("app/x.c"), all, NULL), "one");
	CHECK(is_missing(text_of("/build/application/x.c", "", rule, NULL)));
	CHECK(is_missing(text_of("/other/build/app/x.c", "", rule, NULL)));
	end();
}

TEST(folders_are_tried_with_many_parts_first_and_names_alone_last)
{
	char map[200];

	begin();
	put("a/build/app/src/x.c", "whole", 5);
	put("b/src/x.c", "two parts", 9);
	put("c/x.c", "name", 4);
	put("here/src/x.c", "itself", 6);
	CHECK_STR_EQ(text_of("/build/app/src/x.c", at("a/build/app/src/x.c"), at("a"), at("b")),
		     "whole");
	CHECK_STR_EQ(text_of("/build/app/src/x.c", at("b/src/x.c"), at("c"), at("b")), "two parts");
	CHECK_STR_EQ(text_of("/build/app/src/x.c", at("c/x.c"), at("c"), NULL), "name");
	CHECK_STR_EQ(text_of("../../src/x.c", at("b/src/x.c"), at("b"), NULL), "two parts");
	CHECK_STR_EQ(text_of(at("here/src/x.c"), at("here/src/x.c"), at("c"), NULL), "itself");
	snprintf(map, sizeof(map), "/build=%s", at("a/build"));
	CHECK_STR_EQ(text_of("/build/app/src/x.c", at("a/build/app/src/x.c"), at("b"), map),
		     "whole");
	end();
}

/* A recording may be made by somebody who wants to see what the server can read. */
TEST(nothing_but_sources_is_read)
{
	char rule[200], link[200];

	begin();
	put("secret", "key", 3);
	put("id_rsa.pub", "key", 3);
	put("open/x.c", "one", 3);
	put("include/vector", "std", 3);
	CHECK(is_missing(text_of(at("secret"), "", NULL, NULL)));
	CHECK(is_missing(text_of(at("id_rsa.pub"), "", NULL, NULL)));
	CHECK(is_missing(text_of(at("open/../secret"), "", NULL, NULL)));
	CHECK_STR_EQ(text_of(at("include/vector"), at("include/vector"), NULL, NULL), "std");
	/* a rule opens its folder, not what lies outside */
	CHECK(is_missing(text_of("/../secret", "", at("open"), NULL)));
	CHECK(is_missing(text_of("../secret", "", at("open"), NULL)));
	CHECK(is_missing(text_of("a/../../secret", "", at("open"), NULL)));
	snprintf(rule, sizeof(rule), "..=%s", at("open"));
	CHECK(is_missing(text_of("../../secret", "", rule, NULL)));
	snprintf(rule, sizeof(rule), "/src=%s", at("open"));
	CHECK(is_missing(text_of("/src/../secret", "", rule, NULL)));
	snprintf(link, sizeof(link), "%s", at("open/device.c"));
	CHECK_EQ(symlink("/dev/zero", link), 0);
	CHECK(is_missing(text_of(link, "", NULL, NULL)));
	CHECK(strncmp(text_of("..", "", at("open"), NULL), "- its path", 10) == 0);
	CHECK(strncmp(text_of("/", "", at("open"), NULL), "- its path", 10) == 0);
	end();
}

TEST(what_cannot_be_shown_says_why)
{
	char *large = calloc(1, SOURCE_FILE_MAX_BYTES + 1);
	char path[2000];

	begin();
	memset(large, ' ', SOURCE_FILE_MAX_BYTES + 1);
	put("large.c", large, SOURCE_FILE_MAX_BYTES + 1);
	put("just.c", large, SOURCE_FILE_MAX_BYTES);
	put("binary.c", "a\0b", 3);
	put("empty.c", "", 0);
	CHECK_STR_EQ(text_of(at("large.c"), "", NULL, NULL), "- it is larger than 4 MiB");
	CHECK(text_of(at("just.c"), at("just.c"), NULL, NULL)[0] == ' ');
	CHECK_STR_EQ(text_of(at("binary.c"), "", NULL, NULL), "- it is not text");
	CHECK_STR_EQ(text_of(at("empty.c"), at("empty.c"), NULL, NULL), "");
	CHECK_EQ(mkfifo(at("fifo.c"), 0600), 0);
	CHECK(is_missing(text_of(at("fifo.c"), "", NULL, NULL)));
	CHECK_EQ(mkdir(at("folder.c"), 0700), 0);
	CHECK(is_missing(text_of(at("folder.c"), "", NULL, NULL)));
	memset(path, 'a', sizeof(path) - 1);
	path[sizeof(path) - 1] = 0;
	CHECK(strncmp(text_of(path, "", top, NULL), "- its path", 10) == 0);
	free(large);
	end();
}

TEST(rules_name_folders)
{
	struct err err = {0};
	char rule[200];

	begin();
	put("x.c", "", 0);
	CHECK_OK(source_file_check_rule(top, &err));
	snprintf(rule, sizeof(rule), "/build=%s", top);
	CHECK_OK(source_file_check_rule(rule, &err));
	CHECK_ERR(source_file_check_rule(at("x.c"), &err), ERR_USAGE);
	CHECK_ERR(source_file_check_rule(at("nowhere"), &err), ERR_USAGE);
	CHECK_ERR(source_file_check_rule("/build=", &err), ERR_USAGE);
	snprintf(rule, sizeof(rule), "=%s", top);
	CHECK_ERR(source_file_check_rule(rule, &err), ERR_USAGE);
	CHECK_ERR(source_file_check_rule("", &err), ERR_USAGE);
	end();
}
