/* Suppressed leaks: which call sites a pattern names, and that only "leaked" changes. */
#include "harness/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "open/suppressions.h"
#include "query/lifetimes.h"
#include "query/query.h"
#include "query/thread_pairs.h"
#include "report_synth.h"
#include "store/suppressed.h"

#define RUN_NS (10 * NS_PER_S)
#define STACK(s, ...) synth_stack((s), (const char *[]){__VA_ARGS__, NULL})

/* What a question of the test gives. */
struct figures {
	struct query_group total;
	struct query_peak peak;
	struct store_bucket bucket[10];
};

static struct synth synth;
static struct suppressions rules;

/* known leaks 100 + 28 bytes in two stacks, other leaks 1000, churn frees 5000 */
static void begin(void)
{
	uint32_t known, known_deep, other, churn;

	synth_init(&synth, RUN_NS);
	known = STACK(&synth, "tz_init", "main");
	known_deep = STACK(&synth, "copy", "tz_init", "serve", "main");
	other = STACK(&synth, "cache_add", "main");
	churn = STACK(&synth, "lib:work", "main");
	synth_keep(&synth, known, 1 * NS_PER_S, 100);
	synth_keep(&synth, known_deep, 9 * NS_PER_S, 28);
	synth_keep(&synth, other, 2 * NS_PER_S, 1000);
	synth_add(&synth, churn, 3 * NS_PER_S, 4 * NS_PER_S, 5000);
	synth_open(&synth);
}

static void suppress(const char *pattern)
{
	struct err err = {0};

	rules.pattern = malloc(sizeof(*rules.pattern));
	rules.pattern[0] = strdup(pattern);
	rules.n = rules.capacity = 1;
	CHECK_OK(suppressions_apply(&rules, synth.store, synth.frames, &err));
}

static void end(void)
{
	synth_fini(&synth);
	suppressions_fini(&rules);
}

static struct figures ask(const char *name, const char *value)
{
	struct query_context c = {.store = synth.store, .frames = synth.frames, .n_threads = 1};
	struct figures f = {0};
	struct err err = {0};
	struct filter filter;
	struct query *q;

	filter_init(&filter);
	if (name)
		CHECK_EQ(filter_set(&filter, name, value, &err), 1);
	CHECK_OK(query_create(&c, &filter, &q, &err));
	CHECK_OK(query_total(q, &f.total, &err));
	CHECK_OK(query_peak(q, &f.peak, &err));
	CHECK_OK(query_timeline(q, 0, RUN_NS, ARRAY_LEN(f.bucket), f.bucket, &err));
	query_destroy(q);
	filter_fini(&filter);
	return f;
}

static uint64_t sum_leaked(const struct figures *f)
{
	uint64_t n_bytes = 0;

	for (size_t i = 0; i < ARRAY_LEN(f->bucket); i++)
		n_bytes += f->bucket[i].leaked_bytes;
	return n_bytes;
}

TEST(patterns_match_as_those_of_leak_sanitizer)
{
	static const struct {
		const char *pattern, *text;
		bool matches;
	} c[] = {
		{"cache", "seen_cache_add", true},
		{"^cache", "seen_cache_add", false},
		{"^seen", "seen_cache_add", true},
		{"add$", "seen_cache_add", true},
		{"cache$", "seen_cache_add", false},
		{"^seen_cache_add$", "seen_cache_add", true},
		{"^seen$", "seen_cache_add", false},
		{"seen*add", "seen_cache_add", true},
		{"add*seen", "seen_cache_add", false},
		{"^seen*add$", "seen_cache_add", true},
		{"^seen*d*d$", "seen_cache_add", true},
		{"a$", "aba", true},
		{"*", "anything", true},
		{"add*$", "seen_cache_add", true},
		{"x*$", "seen_cache_add", false},
		{"", "anything", false},
		{"anything", "", false},
		{"^*b", "ab", true},
		{"ab*ab$", "ab", false},
		{"add", NULL, false},
	};

	for (size_t i = 0; i < ARRAY_LEN(c); i++) {
		if (suppressions_match(c[i].pattern, c[i].text) != c[i].matches)
			fprintf(stderr, "pattern '%s'\n", c[i].pattern);
		CHECK_EQ(suppressions_match(c[i].pattern, c[i].text), c[i].matches);
	}
}

TEST(only_leaked_changes)
{
	struct figures before, after;
	const struct store_suppression *by;
	size_t n;

	begin();
	before = ask(NULL, NULL);
	CHECK_EQ(before.total.leaked_bytes, 1128);
	suppress("tz_init");
	after = ask(NULL, NULL);
	CHECK_EQ(after.total.leaked_bytes, 1000);
	CHECK_EQ(after.total.n_leaked, 1);
	CHECK_EQ(after.total.n_allocs, before.total.n_allocs);
	CHECK_EQ(after.total.n_bytes, before.total.n_bytes);
	CHECK_EQ(after.peak.n_bytes, before.peak.n_bytes);
	CHECK_EQ(after.peak.at_ns, before.peak.at_ns);
	CHECK_EQ(sum_leaked(&before), 1128);
	CHECK_EQ(sum_leaked(&after), 1000);
	for (size_t i = 0; i < ARRAY_LEN(after.bucket); i++)
		CHECK_EQ(after.bucket[i].last_bytes, before.bucket[i].last_bytes);
	CHECK_EQ(store_facts(synth.store)->live_bytes, 1000);
	by = store_suppressions(synth.store, &n);
	CHECK_EQ(n, 1);
	CHECK_EQ(by[0].n_stacks, 2);
	CHECK_EQ(by[0].n_leaked, 2);
	CHECK_EQ(by[0].leaked_bytes, 128);
	end();
}

/* The first question is answered by the table of stacks, the others by a pass over rows. */
TEST(table_and_rows_agree)
{
	begin();
	suppress("tz_init");
	CHECK_EQ(ask("lifetime", "only_leaked").total.n_bytes, 1000);
	CHECK_EQ(ask("size_min", "1").total.leaked_bytes, 1000);
	CHECK_EQ(ask("size_min", "1").total.lifetime_sum_ns, NS_PER_S);
	CHECK_EQ(ask("lifetime_min", "1s").total.n_allocs, 4);
	CHECK_EQ(ask("alive_at", "100%").total.n_allocs, 3);
	end();
}

static bool never_freed(void *user, const struct query_row *row)
{
	*(unsigned *)user += row->free_ns == UINT64_MAX;
	return true;
}

TEST(single_rows_and_lifetimes_tell_what_was_never_freed)
{
	struct query_context c;
	struct filter filter;
	struct query_page page = {.count = UINT64_MAX};
	struct lifetimes lives;
	struct thread_pair pair;
	struct err err = {0};
	struct query *q;
	unsigned n = 0;

	begin();
	suppress("main");
	c = (struct query_context){.store = synth.store, .frames = synth.frames, .n_threads = 1};
	filter_init(&filter);
	CHECK_OK(query_create(&c, &filter, &q, &err));
	CHECK_OK(query_rows(q, &page, never_freed, &n, NULL, &err));
	CHECK_EQ(n, 3);
	CHECK_OK(lifetimes_count(q, &lives, &err));
	CHECK_EQ(lives.freed_count, 1);
	CHECK_EQ(lives.median_ns, NS_PER_S);
	CHECK_OK(thread_pairs_count(q, 1, &pair, &err));
	CHECK_EQ(pair.count, 1);
	query_destroy(q);
	filter_fini(&filter);
	end();
}

TEST(a_pattern_that_names_nothing_changes_nothing)
{
	begin();
	suppress("^no_such_function");
	CHECK_EQ(ask(NULL, NULL).total.leaked_bytes, 1128);
	end();
}

/* A file with this content; its name is in path. */
static void write_rules(const char *text, char path[64])
{
	int fd;

	strcpy(path, "/tmp/mp-suppressions-XXXXXX");
	fd = mkstemp(path);
	CHECK(fd >= 0);
	CHECK_EQ(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

TEST(files_have_comments_and_wrong_lines_are_named)
{
	struct err err = {0};
	char path[64];

	write_rules("# known\n\n  leak:tz_init \nleak: ^a b$\n", path);
	CHECK_OK(suppressions_read(&rules, path, &err));
	CHECK_EQ(rules.n, 2);
	CHECK_STR_EQ(rules.pattern[0], "tz_init");
	CHECK_STR_EQ(rules.pattern[1], "^a b$");
	suppressions_fini(&rules);
	unlink(path);
	write_rules("leak:a\nrace:b\n", path);
	CHECK_ERR(suppressions_read(&rules, path, &err), ERR_USAGE);
	CHECK_NOT_NULL(strstr(err.text, "line 2: 'race:b' is no rule"));
	suppressions_fini(&rules);
	unlink(path);
	write_rules("leak:\n", path); /* heaptrack: matches everything */
	CHECK_ERR(suppressions_read(&rules, path, &err), ERR_USAGE);
	suppressions_fini(&rules);
	unlink(path);
	CHECK_ERR(suppressions_read(&rules, path, &err), ERR_IO);
}
