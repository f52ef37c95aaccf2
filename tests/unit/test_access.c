/* Who may ask: hosts, origins, tokens. */
#include "harness/test.h"

#include "serve/access.h"

static const char *const hosts[] = {"box.example"};
static const char *const origins[] = {"http://localhost:5173"};

static enum access_verdict judge(struct access_rules *r, struct access_request q)
{
	bool is_foreign;

	return access_judge(r, &q, &is_foreign);
}

TEST(only_our_own_names_are_hosts)
{
	struct access_rules r = {.interface = "127.0.0.1", .host = hosts, .n_hosts = 1};
	static const char *const good[] = {"localhost",      "localhost:8080", "LOCALHOST:1",
					   "127.0.0.1:8080", "127.3.2.1",      "[::1]:8080",
					   "[::1]",          "box.example:80", "localhost.:8080"};
	static const char *const bad[] = {"",
					  ":8080",
					  "evil.example",
					  "evil.example:8080",
					  "localhost.evil.example",
					  "127.0.0.1.evil.example",
					  "10.0.0.1:8080",
					  "[::2]:8080",
					  "[::1",
					  "::1",
					  "127.0.0.1@evil.example",
					  "0x7f.1"};

	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		CHECK_EQ(judge(&r, (struct access_request){.host = good[i]}), ACCESS_OK);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		CHECK_EQ(judge(&r, (struct access_request){.host = bad[i]}), ACCESS_BAD_HOST);
	CHECK_EQ(judge(&r, (struct access_request){0}), ACCESS_BAD_HOST);
}

TEST(bound_to_an_address_its_name_is_that_address)
{
	struct access_rules r = {.interface = "10.1.2.3"};

	CHECK_EQ(judge(&r, (struct access_request){.host = "10.1.2.3:99"}), ACCESS_OK);
	CHECK_EQ(judge(&r, (struct access_request){.host = "10.1.2.4"}), ACCESS_BAD_HOST);
	r.name = "box.example"; /* -i box.example */
	CHECK_EQ(judge(&r, (struct access_request){.host = "box.example:99"}), ACCESS_OK);
	CHECK_EQ(judge(&r, (struct access_request){.host = "ox.example:99"}), ACCESS_BAD_HOST);
	r = (struct access_rules){.interface = "::", .is_any_address = true};
	CHECK_EQ(judge(&r, (struct access_request){.host = "10.1.2.4"}), ACCESS_OK);
	CHECK_EQ(judge(&r, (struct access_request){.host = "[fe80::1]:1"}), ACCESS_OK);
	CHECK_EQ(judge(&r, (struct access_request){.host = "box.example"}), ACCESS_BAD_HOST);
}

TEST(other_pages_are_refused_unless_allowed)
{
	struct access_rules r = {.interface = "127.0.0.1", .origin = origins, .n_origins = 1};
	struct access_request q = {.host = "localhost:8080"};
	bool is_foreign;

	q.origin = "http://localhost:8080";
	CHECK_EQ(access_judge(&r, &q, &is_foreign), ACCESS_OK);
	CHECK(!is_foreign);
	q.origin = "http://localhost:5173";
	CHECK_EQ(access_judge(&r, &q, &is_foreign), ACCESS_OK);
	CHECK(is_foreign);
	q.origin = "http://localhost:8081"; /* another port is another page */
	CHECK_EQ(access_judge(&r, &q, &is_foreign), ACCESS_BAD_ORIGIN);
	q.origin = "https://localhost:8080";
	CHECK_EQ(access_judge(&r, &q, &is_foreign), ACCESS_BAD_ORIGIN);
	q.origin = "null";
	CHECK_EQ(access_judge(&r, &q, &is_foreign), ACCESS_BAD_ORIGIN);
	q.origin = "http://evil.example";
	CHECK_EQ(access_judge(&r, &q, &is_foreign), ACCESS_BAD_ORIGIN);
}

TEST(only_navigation_comes_from_other_sites)
{
	struct access_rules r = {.interface = "127.0.0.1"};
	struct access_request q = {.host = "localhost", .fetch_site = "cross-site"};

	CHECK_EQ(judge(&r, q), ACCESS_CROSS_SITE);
	q.fetch_mode = "no-cors";
	CHECK_EQ(judge(&r, q), ACCESS_CROSS_SITE);
	q.fetch_mode = "navigate";
	CHECK_EQ(judge(&r, q), ACCESS_OK);
	q.fetch_mode = "cors";
	q.fetch_site = "same-site";
	CHECK_EQ(judge(&r, q), ACCESS_CROSS_SITE);
	q.fetch_site = "same-origin";
	CHECK_EQ(judge(&r, q), ACCESS_OK);
	q.fetch_site = "none";
	CHECK_EQ(judge(&r, q), ACCESS_OK);
}

TEST(a_token_must_be_the_whole_token)
{
	struct access_rules r = {.interface = "127.0.0.1", .token = "secret"};
	struct access_request q = {.host = "localhost"};

	CHECK_EQ(judge(&r, q), ACCESS_NO_TOKEN);
	q.token = "secret";
	CHECK_EQ(judge(&r, q), ACCESS_OK);
	q.authorization = "Bearer wrong"; /* the header counts where there is one */
	CHECK_EQ(judge(&r, q), ACCESS_NO_TOKEN);
	q.token = NULL;
	q.authorization = "bearer secret";
	CHECK_EQ(judge(&r, q), ACCESS_OK);
	q.authorization = "Basic secret";
	CHECK_EQ(judge(&r, q), ACCESS_NO_TOKEN);
	CHECK(!access_token_equals("secret", ""));
	CHECK(!access_token_equals("secret", "secre"));
	CHECK(!access_token_equals("secret", "secrets"));
	CHECK(!access_token_equals("aa", "aaaa"));
	CHECK(!access_token_equals("aa", "a"));
	CHECK(access_token_equals("secret", "secret"));
}
