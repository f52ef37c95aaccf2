/* Names that the recorder makes from a pattern. */
#include "harness/test.h"

#include "cli/output_name.h"
#include "format/default_output.h"

TEST(plain_names_match_themselves_and_their_kept_copies)
{
	CHECK(output_name_matches("app.dat", "app.dat"));
	CHECK(output_name_matches("app.dat", "app.dat.old"));
	CHECK(output_name_matches("app.dat", "app.dat.1"));
	CHECK(output_name_matches("app.dat", "app.dat.12.old"));
	CHECK(output_name_matches("app.dat", "app.dat.old.3"));
	CHECK(output_name_matches("app.dat", "app.dat.1.old.20"));
	CHECK(!output_name_matches("app.dat", "app.dat.old."));
	CHECK(!output_name_matches("app.dat", "app.dat.older"));
	CHECK(output_name_matches("app.dat", "app.dat.old.12"));
	CHECK(!output_name_matches("app.dat", "app.dat.old.x"));
	CHECK(!output_name_matches("app.dat", "app.dat.x"));
	CHECK(!output_name_matches("app.dat", "app.da"));
	CHECK(!output_name_matches("app.dat", "xapp.dat"));
	CHECK(!output_name_matches("app.dat", "app.dat."));
}

TEST(a_number_may_stand_in_front_of_the_ending)
{
	CHECK(output_name_matches("app.dat", "app.1.dat"));
	CHECK(output_name_matches("app.dat", "app.12.dat.old"));
	CHECK(output_name_matches("app.v2.dat", "app.v2.3.dat"));
	CHECK(!output_name_matches("app.v2.dat", "app.3.v2.dat"));
	CHECK(!output_name_matches("app.dat", "app.1.2.dat"));
	CHECK(!output_name_matches("app.dat", "app.x.dat"));
	CHECK(output_name_matches("app", "app.7"));
	CHECK(output_name_matches("app_%t.dat", "app_1700000000.3.dat"));
}

TEST(placeholders_stand_for_what_the_recorder_puts_in)
{
	const char *pattern = DEFAULT_OUTPUT;

	CHECK(output_name_matches(pattern, "memory-profiling_ls_1700000000_42.dat"));
	CHECK(output_name_matches(pattern, "memory-profiling_a_b_1_1700000000_42.dat.old"));
	CHECK(!output_name_matches(pattern, "memory-profiling_ls_x_42.dat"));
	CHECK(!output_name_matches(pattern, "memory-profiling__17_42.dat")); /* no executable */
	CHECK(output_name_matches("%n", "0"));
	CHECK(!output_name_matches("%n", ""));
}

TEST(percent_signs_are_doubled_and_others_stay)
{
	char out[16];

	CHECK(output_name_matches("100%%_%p", "100%_7"));
	CHECK(!output_name_matches("100%%", "100%%"));
	CHECK(output_name_matches("a%x", "a%x"));
	CHECK(output_name_matches("a%", "a%"));
	CHECK(output_name_quote("50%/x", out, sizeof(out)));
	CHECK_STR_EQ(out, "50%%/x");
	CHECK(!output_name_quote("0123456789abcdef", out, sizeof(out)));
	CHECK(output_name_has_placeholder("a%%%p"));
	CHECK(!output_name_has_placeholder("a%%p%x"));
	CHECK(output_name_has_process("a%%%p"));
	CHECK(!output_name_has_process("a%e%%p"));
}

TEST(doubled_percent_signs_become_single_ones)
{
	char text[] = "/100%%/a%%%%b%";

	output_name_unquote(text);
	CHECK_STR_EQ(text, "/100%/a%%b%");
}
