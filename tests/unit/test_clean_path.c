/* Paths without detours. */
#include "harness/test.h"

#include <string.h>

#include "util/clean_path.h"

TEST(detours_are_taken_out)
{
	static const struct {
		const char *path, *clean;
	} table[] = {
		{"/src/x.c", "/src/x.c"},
		{"src/x.c", "src/x.c"},
		{"/src/build/../lib/./x.c", "/src/lib/x.c"},
		{"build/../x.c", "x.c"},
		{"./x.c", "x.c"},
		{"a//b///c", "a/b/c"},
		{"//a", "/a"},
		{"/a/", "/a"},
		{"/a/../../../b", "/b"},
		{"/..", "/"},
		{"../../a/../b", "../../b"},
		{"a/../../b", "../b"},
		{"a/..", ""},
		{"..", ".."},
		{"a/...", "a/..."},
		{"/", "/"},
		{"", ""},
	};

	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		char buf[CLEAN_PATH_BYTES];

		CHECK_STR_EQ(clean_path(table[i].path, buf), table[i].clean);
	}
}

TEST(a_path_that_is_too_long_stays)
{
	char path[CLEAN_PATH_BYTES], buf[CLEAN_PATH_BYTES];

	memset(path, 'a', sizeof(path) - 1);
	path[sizeof(path) - 1] = 0;
	CHECK(clean_path(path, buf) == path);
	path[sizeof(path) - 2] = 0;
	CHECK(clean_path(path, buf) == buf);
	CHECK_STR_EQ(buf, path);
}
