/* Targets of requests, taken apart. */
#include "harness/test.h"

#include <stdlib.h>
#include <string.h>

#include "serve/url.h"

static struct url parsed(const char *target)
{
	char *guarded = (char *)guard_buf_create((const uint8_t *)target, strlen(target) + 1);
	struct url u = URL_NONE;
	struct err err = {0};

	CHECK_OK(url_parse(guarded, &u, &err));
	guard_buf_destroy((uint8_t *)guarded, strlen(target) + 1);
	return u;
}

TEST(a_percent_sign_that_encodes_nothing_stands_for_itself)
{
	struct url u =
		parsed("/data/last/allocation_groups?group_leaked_allocations_min=50%&count=3");

	CHECK_EQ(u.n_segments, 3);
	CHECK_STR_EQ(url_find(&u, "group_leaked_allocations_min"), "50%");
	CHECK_STR_EQ(url_find(&u, "count"), "3");
	url_fini(&u);
	u = parsed("/?a=50%25&b=%zz&c=%4&d=%41%42&e=%");
	CHECK_STR_EQ(url_find(&u, "a"), "50%");
	CHECK_STR_EQ(url_find(&u, "b"), "%zz");
	CHECK_STR_EQ(url_find(&u, "c"), "%4");
	CHECK_STR_EQ(url_find(&u, "d"), "AB");
	CHECK_STR_EQ(url_find(&u, "e"), "%");
	url_fini(&u);
}

TEST(plus_is_a_space_in_the_query_only)
{
	struct url u = parsed("/a+b?c+d=e+f%2B");

	CHECK_STR_EQ(u.segment[0], "a+b");
	CHECK_STR_EQ(url_find(&u, "c d"), "e f+");
	url_fini(&u);
}

TEST(segments_are_split_before_they_are_decoded)
{
	struct url u = parsed("/a%2Fb/../%2e%2e//c/");

	CHECK_EQ(u.n_segments, 6);
	CHECK_STR_EQ(u.segment[0], "a/b");
	CHECK_STR_EQ(u.segment[1], "..");
	CHECK_STR_EQ(u.segment[2], "..");
	CHECK_STR_EQ(u.segment[3], "");
	CHECK_STR_EQ(u.segment[4], "c");
	CHECK_STR_EQ(u.segment[5], "");
	url_fini(&u);
	u = parsed("/");
	CHECK_EQ(u.n_segments, 0);
	url_fini(&u);
}

TEST(pairs_may_lack_parts_and_the_last_of_a_name_counts)
{
	struct url u = parsed("/x?&a&=1&b=&b=2&&c==#d=4");

	CHECK_EQ(u.n_pairs, 5);
	CHECK_STR_EQ(url_find(&u, "a"), "");
	CHECK_STR_EQ(url_find(&u, ""), "1");
	CHECK_STR_EQ(url_find(&u, "b"), "2");
	CHECK_STR_EQ(url_find(&u, "c"), "=");
	CHECK(!url_find(&u, "d"));
	url_fini(&u);
}

TEST(what_cannot_be_right_is_refused)
{
	static const char *const bad[] = {"", "x", "?a=1", "/%00", "/x?a=%00b", "*"};
	char many[2000] = "/x?";
	char *longest = malloc(URL_MAX_BYTES + 3);
	struct url u = URL_NONE;
	struct err err = {0};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		CHECK_ERR(url_parse(bad[i], &u, &err), ERR_USAGE);
	for (size_t i = 0; i <= URL_MAX_PAIRS; i++)
		strcat(many, "a=1&");
	CHECK_ERR(url_parse(many, &u, &err), ERR_LIMIT);
	CHECK_ERR(url_parse("/1/2/3/4/5/6/7/8/9", &u, &err), ERR_LIMIT);
	memset(longest, 'a', URL_MAX_BYTES + 1);
	longest[0] = '/';
	longest[URL_MAX_BYTES + 1] = '\0';
	CHECK_ERR(url_parse(longest, &u, &err), ERR_LIMIT);
	longest[URL_MAX_BYTES] = '\0';
	CHECK_OK(url_parse(longest, &u, &err));
	url_fini(&u);
	free(longest);
}
