/* Names of embedded files are made harmless. */
#include "harness/test.h"

#include <string.h>

#include "ingest/extract.h"

static const char *safe(const char *path)
{
	static char buf[EXTRACT_PATH_BYTES];

	extract_safe_path(path, strlen(path), "file_1", buf);
	return buf;
}

TEST(paths_become_relative)
{
	CHECK_STR_EQ(safe("/usr/lib/libc.so.6"), "usr/lib/libc.so.6");
	CHECK_STR_EQ(safe("usr//lib/./x"), "usr/lib/x");
	CHECK_STR_EQ(safe("linux-vdso.so.1"), "linux-vdso.so.1");
}

TEST(nothing_leads_out)
{
	CHECK_STR_EQ(safe("../../etc/passwd"), "_/_/etc/passwd");
	CHECK_STR_EQ(safe("/a/.."), "a/_");
	CHECK_STR_EQ(safe("/a/..b/...c"), "a/..b/...c");
	CHECK_STR_EQ(safe(""), "file_1");
	CHECK_STR_EQ(safe("///./"), "file_1");
}

TEST(control_characters_are_replaced)
{
	CHECK_STR_EQ(safe("/a\nb\033[2J/\x7f"), "a_b_[2J/_");
	CHECK_STR_EQ(safe("/\xff\xc3\xa4\xc2\x9b"), "_\xc3\xa4_");
}

TEST(long_names_are_cut)
{
	char path[3 * EXTRACT_PATH_BYTES];
	const char *result;

	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = 0;
	CHECK(strlen(safe(path)) < 256);
	for (size_t i = 0; i < sizeof(path) - 1; i += 3)
		path[i] = '/';
	result = safe(path);
	CHECK(strlen(result) < EXTRACT_PATH_BYTES / 2);
	CHECK(result[0] == 'x');
}
