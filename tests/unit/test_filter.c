/* The texts of filter parameters. What they select: test_query_random.c. */
#include "harness/test.h"

#include <stdlib.h>
#include <string.h>

#include "query/filter.h"
#include "query/filter_value.h"

static struct filter f;
static struct err err;

static void set(const char *name, const char *value)
{
	CHECK_EQ(filter_set(&f, name, value, &err), 1);
}

/* The error names parameter, value and what would be valid. */
static void refuse(const char *name, const char *value, const char *hint)
{
	CHECK_EQ(filter_set(&f, name, value, &err), -ERR_USAGE);
	CHECK(strncmp(err.text, name, strlen(name)) == 0);
	CHECK(strstr(err.text, value) != NULL);
	CHECK(strstr(err.text, hint) != NULL);
}

static void check_interval(const char *text, uint64_t ns)
{
	uint64_t got = 1;

	CHECK(filter_value_interval(text, &got));
	CHECK_EQ(got, ns);
}

static void check_no_interval(const char *text)
{
	uint64_t got = 77;

	CHECK(!filter_value_interval(text, &got));
	CHECK_EQ(got, 77);
}

TEST(interval_is_a_sum_of_numbers_with_units)
{
	check_interval("4h3m2s", 14582000000000ull);
	check_interval("4H 3M 2S", 14582000000000ull);
	check_interval(" 10 ", 10000000000ull);
	check_interval("0", 0);
	check_interval("1.5s", 1500000000ull);
	check_interval("250ms", 250000000ull);
	check_interval("7us", 7000);
	check_interval("7ns", 7);
	check_interval("0.000000001", 1);
	check_interval("1d", 86400000000000ull);
	check_interval("213503d", 18446659200000000000ull);
}

TEST(interval_refuses_the_rest)
{
	static const char *const bad[] = {"",        " ",
					  "s",       "5x",
					  "5mss",    "-5s",
					  "1.s",     ".5s",
					  "5s5",     "1m 1",
					  "5 5s",    "1,5s",
					  "5%",      "99999999999999999999",
					  "213504d", "1.0000000001s",
					  "0x5s",    "5s\n"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		check_no_interval(bad[i]);
}

TEST(size_takes_suffixes_of_1024)
{
	static const struct {
		const char *text;
		uint64_t n_bytes;
	} good[] = {{"0", 0},          {"4096", 4096},
		    {"64k", 65536},    {"64K", 65536},
		    {"1.5M", 1572864}, {"2GiB", 2147483648},
		    {"1 kB", 1024},    {"1T", 1099511627776},
		    {"12B", 12},       {"18446744073709551615", UINT64_MAX}};
	static const char *const bad[] = {
		"",     "k", "1.5", "1.5B", "-1", "1kk", "1e3", "16777216T", "18446744073709551616",
		"12 34"};
	uint64_t got;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		CHECK(filter_value_size(good[i].text, &got));
		CHECK_EQ(got, good[i].n_bytes);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(!filter_value_size(bad[i], &got));
}

TEST(address_is_decimal_or_hexadecimal)
{
	uint64_t got;

	CHECK(filter_value_address("140737488355328", &got));
	CHECK_EQ(got, 140737488355328ull);
	CHECK(filter_value_address("0x7fFFa0", &got));
	CHECK_EQ(got, 0x7fffa0);
	CHECK(filter_value_address("0xffffffffffffffff", &got));
	CHECK_EQ(got, UINT64_MAX);
	CHECK(!filter_value_address("0x", &got));
	CHECK(!filter_value_address("0x1g", &got));
	CHECK(!filter_value_address("0x1ffffffffffffffff", &got));
	CHECK(!filter_value_address("7fff", &got));
	CHECK(!filter_value_address("", &got));
}

static void check_time(const char *text, bool is_upper, enum filter_time_kind kind, uint64_t ns)
{
	struct filter_time t = {0};

	CHECK(filter_value_time(text, is_upper, &t));
	CHECK_EQ(t.kind, kind);
	CHECK_EQ(t.ns, ns);
}

TEST(time_in_seconds_and_in_milliseconds)
{
	check_time("1600000000", false, FILTER_TIME_UNIX, 1600000000000000000ull);
	check_time("1600000000", true, FILTER_TIME_UNIX, 1600000000999999999ull);
	check_time("1600000000123", false, FILTER_TIME_UNIX, 1600000000123000000ull);
	check_time("1600000000123", true, FILTER_TIME_UNIX, 1600000000123999999ull);
	check_time("1600000000.25", false, FILTER_TIME_UNIX, 1600000000250000000ull);
	check_time("1600000000.25", true, FILTER_TIME_UNIX, 1600000000259999999ull);
}

TEST(time_since_the_start)
{
	check_time("+90", false, FILTER_TIME_RELATIVE, 90000000000ull);
	check_time("+90", true, FILTER_TIME_RELATIVE, 90000000000ull);
	check_time("+1m30.5s", false, FILTER_TIME_RELATIVE, 90500000000ull);
	check_time("250ms", false, FILTER_TIME_RELATIVE, 250000000ull);
	/* a plus sign that a form turned into a space */
	check_time(" 1.5s", false, FILTER_TIME_RELATIVE, 1500000000ull);
}

TEST(time_as_a_share)
{
	struct filter_time t = {0};

	CHECK(filter_value_time("12.5%", false, &t));
	CHECK_EQ(t.kind, FILTER_TIME_PERCENT);
	CHECK(t.percent == 12.5);
	CHECK(filter_value_time("100 %", true, &t));
	CHECK(t.percent == 100);
}

TEST(time_refuses_the_rest)
{
	static const char *const bad[] = {
		"",           "%",   "+",   "-5",       "50%%",
		"now",        "1h3", "+1x", "1600 000", "99999999999999999999",
		"2020-01-01", "5 5s"};
	struct filter_time t = {.ns = 5};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(!filter_value_time(bad[i], false, &t));
	CHECK_EQ(t.ns, 5);
}

TEST(every_parameter_is_known_and_described)
{
	size_t n;
	const struct filter_parameter *p = filter_parameters(&n);

	CHECK(n > 45);
	for (size_t i = 0; i < n; i++) {
		CHECK_NOT_NULL(filter_type_help(p[i].type));
		CHECK(strlen(p[i].help) > 5);
		CHECK_EQ(!p[i].choices, strcmp(p[i].type, "choice") != 0);
		for (size_t k = 0; k < i; k++)
			CHECK(strcmp(p[i].name, p[k].name) != 0);
	}
	CHECK_NULL(filter_type_help("nonsense"));
}

TEST(unknown_parameters_are_left_to_others)
{
	filter_init(&f);
	CHECK_EQ(filter_set(&f, "sort_by", "size", &err), 0);
	CHECK_EQ(filter_set(&f, "size", "5", &err), 0);
	CHECK_EQ(filter_set(&f, "", "5", &err), 0);
	CHECK_EQ(filter_set(&f, "custom_filter", "", &err), 0);
	CHECK_EQ(filter_set(&f, "custom_filter", "allocations()", &err), -ERR_USAGE);
	filter_fini(&f);
}

TEST(values_reach_their_fields)
{
	filter_init(&f);
	set("size_min", "10");
	set("size_max", "2k");
	CHECK(f.size.has_min && f.size.has_max);
	CHECK_EQ(f.size.min, 10);
	CHECK_EQ(f.size.max, 2048);
	set("group_leaked_allocations_min", "50%");
	CHECK(f.group_leaked_allocations.is_min_percent);
	CHECK_EQ(f.group_leaked_allocations.min, 50 * FILTER_PPM_PER_PERCENT);
	set("group_leaked_allocations_min", "3");
	CHECK(!f.group_leaked_allocations.is_min_percent);
	CHECK_EQ(f.group_leaked_allocations.min, 3);
	set("lifetime", "only_whole_group_leaked");
	CHECK_EQ(f.lifetime, FILTER_ONLY_WHOLE_GROUP_LEAKED);
	set("lifetime", "all");
	CHECK_EQ(f.lifetime, FILTER_ALL);
	set("arena", "non_main");
	CHECK_EQ(f.main_arena, FILTER_NO);
	set("freed", "outside");
	CHECK_EQ(f.freed, FILTER_OUTSIDE);
	set("marker", "7");
	CHECK(f.has_marker && f.marker == 7);
	set("backtraces", "5, 6,7");
	CHECK(f.has_backtraces && f.n_backtraces == 3 && f.backtraces[2] == 7);
	set("backtraces", "");
	CHECK(!f.has_backtraces && f.n_backtraces == 0);
	set("function_regex", "a");
	set("function_regex", "b");
	CHECK_STR_EQ(f.function_regex, "b");
	set("function_regex", "");
	CHECK_NULL(f.function_regex);
	filter_fini(&f);
	CHECK(!f.has_marker);
}

TEST(errors_say_what_would_be_valid)
{
	filter_init(&f);
	refuse("size_min", "", "bytes");
	refuse("size_min", "big", "64k");
	refuse("from", "yesterday", "UNIX");
	refuse("lifetime", "leaked", "only_leaked|");
	refuse("lifetime", "", "all|");
	refuse("lifetime_min", "5 parsecs", "4h3m2s");
	refuse("marker", "4294967296", "4294967295");
	refuse("backtraces", "1,,2", "commas");
	refuse("backtraces", "1,", "commas");
	refuse("group_interval_max", "50%%", "N%");
	refuse("address_min", "0xyz", "hexadecimal");
	refuse("mmaped", "maybe", "yes|no");
	filter_fini(&f);
}

TEST(refused_value_changes_nothing)
{
	filter_init(&f);
	set("size_min", "10");
	set("backtraces", "1");
	CHECK(filter_set(&f, "size_min", "x", &err) < 0);
	CHECK(filter_set(&f, "backtraces", "1,x", &err) < 0);
	CHECK_EQ(f.size.min, 10);
	CHECK(f.n_backtraces == 1 && f.backtraces[0] == 1);
	filter_fini(&f);
}

TEST(very_long_values_are_refused)
{
	char *text = malloc(2000001);

	memset(text, '1', 2000000);
	text[2000000] = 0;
	filter_init(&f);
	CHECK(filter_set(&f, "function_regex", text, &err) < 0);
	CHECK(filter_set(&f, "backtraces", text, &err) < 0);
	CHECK(filter_set(&f, "size_min", text, &err) < 0);
	for (size_t i = 1; i < 2000000; i += 2)
		text[i] = ',';
	CHECK(filter_set(&f, "backtraces", text, &err) < 0);
	filter_fini(&f);
	free(text);
}
