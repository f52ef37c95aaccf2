/* Environment variables: defaults, values, complaints, placeholders. */
#include "record/options.h"

#include <string.h>

#include "harness/test.h"

static unsigned n_complaints;
static char last_complaint[512];

static void complain(const char *name, const char *value, const char *default_text)
{
	struct text text = text_make(last_complaint, sizeof(last_complaint));

	n_complaints++;
	text_put(&text, name);
	text_put(&text, "|");
	text_put(&text, value);
	text_put(&text, "|");
	text_put(&text, default_text);
}

static void parse(struct options *o, const char *env, size_t len)
{
	n_complaints = 0;
	options_parse(o, env, len, complain);
}

#define PARSE(o, env) parse((o), (env), sizeof(env))

static struct options o;

TEST(options_have_the_documented_defaults)
{
	PARSE(&o, "PATH=/bin\0HOME=/root");
	CHECK_EQ(n_complaints, 0);
	CHECK_STR_EQ(o.OUTPUT, "memory-profiling_%e_%t_%p.dat");
	CHECK_EQ(o.LOG, LOG_MUST);
	CHECK(o.REGISTER_SIGUSR1 && o.REGISTER_SIGUSR2 && o.WRITE_BINARIES_TO_OUTPUT);
	CHECK(o.USE_SHADOW_STACK && o.GRAB_BACKTRACES_ON_FREE && o.GATHER_MAPS);
	CHECK(!o.DISABLE_BY_DEFAULT && !o.ZERO_MEMORY && !o.GATHER_MMAP_CALLS);
	CHECK_EQ(o.TEMPORARY_ALLOCATION_LIFETIME_THRESHOLD, 10000);
	CHECK_EQ(o.TEMPORARY_ALLOCATION_PENDING_THRESHOLD, 65536);
	CHECK_EQ(o.BASE_SERVER_PORT, 8100);
	CHECK_EQ(o.BACKTRACE_CACHE_SIZE, 32768);
	CHECK_EQ(o.CHOWN_OUTPUT_TO, OPTIONS_U64_UNSET);
}

TEST(options_take_values_from_the_environment)
{
	PARSE(&o, "MEMORY_PROFILER_OUTPUT=/tmp/x.dat\0MEMORY_PROFILER_LOG=debug\0"
		  "MEMORY_PROFILER_ZERO_MEMORY=true\0MEMORY_PROFILER_BASE_SERVER_PORT=9000\0"
		  "MEMORY_PROFILER_REGISTER_SIGUSR1=0");
	CHECK_EQ(n_complaints, 0);
	CHECK_STR_EQ(o.OUTPUT, "/tmp/x.dat");
	CHECK_EQ(o.LOG, LOG_DEBUG);
	CHECK(o.ZERO_MEMORY);
	CHECK(!o.REGISTER_SIGUSR1);
	CHECK_EQ(o.BASE_SERVER_PORT, 9000);
}

TEST(options_name_a_longer_variable_is_not_taken_for_a_shorter_one)
{
	PARSE(&o, "MEMORY_PROFILER_LOGFILE=/tmp/log");
	CHECK_EQ(o.LOG, LOG_MUST);
	CHECK_STR_EQ(o.LOGFILE, "/tmp/log");
}

TEST(options_bad_value_is_named_and_the_default_is_used)
{
	PARSE(&o, "MEMORY_PROFILER_BASE_SERVER_PORT=80x");
	CHECK_EQ(n_complaints, 1);
	CHECK_STR_EQ(last_complaint, "MEMORY_PROFILER_BASE_SERVER_PORT|80x|8100");
	CHECK_EQ(o.BASE_SERVER_PORT, 8100);
	PARSE(&o, "MEMORY_PROFILER_ZERO_MEMORY=yes");
	CHECK_EQ(n_complaints, 1);
	CHECK(!o.ZERO_MEMORY);
}

TEST(options_number_that_overflows_is_a_bad_value)
{
	PARSE(&o, "MEMORY_PROFILER_BASE_SERVER_PORT=99999999999999999999999");
	CHECK_EQ(n_complaints, 1);
	CHECK_EQ(o.BASE_SERVER_PORT, 8100);
}

static const char *expand(const char *pattern, bool with_counter)
{
	static char out[128];
	struct options_names names = {
		.pid = 42,
		.unix_seconds = 1700000000,
		.executable = "forest",
		.counter = 3,
		.with_counter = with_counter,
	};
	struct text text = text_make(out, sizeof(out));

	options_expand(pattern, &names, &text);
	return out;
}

TEST(options_expand_every_placeholder)
{
	CHECK_STR_EQ(expand("%e_%t_%p_%n.dat", true), "forest_1700000000_42_3.dat");
	CHECK_STR_EQ(expand("100%%_%x%", true), "100%_%x%");
	CHECK_STR_EQ(expand("a%n", false), "a%n");
}

TEST(options_placeholder_behind_a_literal_percent_is_none)
{
	CHECK(options_has_placeholder("x_%n.dat", 'n'));
	CHECK(!options_has_placeholder("x_%%n.dat", 'n'));
	CHECK(!options_has_placeholder("n%", 'n'));
}
