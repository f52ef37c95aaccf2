/* What was found about allocators is kept, and what is left out is said. */
#include "record/allocator_findings.h"

#include <string.h>

#include "harness/test.h"

static void add(const char *name, uint64_t number)
{
	struct text text;

	if (!allocator_findings_begin(&text))
		return;
	text_put(&text, name);
	text_put_u64(&text, number);
	allocator_findings_end(LOG_INFO);
}

static unsigned count(const char **ret_last, enum log_level *ret_level)
{
	const char *text;
	unsigned n = 0;

	for (; (text = allocator_findings_get(n, ret_level)); n++)
		*ret_last = text;
	return n;
}

TEST(the_last_finding_says_that_others_are_left_out)
{
	enum log_level level = LOG_INFO;
	const char *last = "";

	add("finding ", 0);
	add("finding ", 0);
	CHECK_EQ(count(&last, &level), 1u);
	for (uint64_t i = 1; i < 100; i++)
		add("finding ", i);
	CHECK_EQ(count(&last, &level), ALLOCATOR_FINDINGS_MAX);
	allocator_findings_get(ALLOCATOR_FINDINGS_MAX - 1, &level);
	CHECK_EQ(level, LOG_WARN);
	CHECK_STR_EQ(last, "there is more to say about allocators than fits; the rest is left out");
}

TEST(a_long_path_keeps_its_end)
{
	char path[2000], buffer[600];
	struct text text = text_make(buffer, sizeof(buffer));

	memset(path, 'x', sizeof(path));
	memcpy(path + sizeof(path) - 9, "/last.so", 9);
	allocator_findings_put_path(&text, path);
	CHECK(!text.was_cut);
	CHECK(!strncmp(buffer, "...xxx", 6));
	CHECK_STR_EQ(buffer + text.len - 8, "/last.so");
}
