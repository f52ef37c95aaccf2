/* Names of allocators in a table of strings. */
#include "harness/test.h"
#include "record/managed_runtime.h"
#include "record/other_allocator.h"

#define FIND_MESSAGE(text) other_allocator_find_message(text, sizeof(text) - 1)
#define FIND(text) other_allocator_find(text, sizeof(text) - 1)

TEST(names_are_found_whole)
{
	CHECK_STR_EQ(FIND("\0main\0_rjem_malloc\0exit\0"), "_rjem_malloc");
	CHECK_STR_EQ(FIND("\0mi_malloc\0"), "mi_malloc");
	CHECK_STR_EQ(FIND("\0\0tc_malloc\0"), "tc_malloc");
}

#define IS_GO(text) managed_runtime_is_go(text, sizeof(text) - 1)

TEST(programs_of_go_have_sections_of_their_own)
{
	CHECK(IS_GO("\0.text\0.go.buildinfo\0"));
	CHECK(IS_GO("\0.text\0.gopclntab\0.data\0"));
	CHECK(!IS_GO("\0.text\0.gopclntabs\0.data\0"));
	CHECK(!IS_GO("\0.text\0.gopclntab"));
	CHECK(!IS_GO(""));
}

TEST(messages_are_found_where_they_begin)
{
	CHECK_STR_EQ(FIND_MESSAGE("text\0<jemalloc>: Error\0"), "jemalloc");
	CHECK_STR_EQ(FIND_MESSAGE("\0mimalloc: error: \0"), "mimalloc");
	CHECK_STR_EQ(FIND_MESSAGE("\0TCMALLOC_"), "tcmalloc");
	CHECK(!FIND_MESSAGE("\0see <jemalloc>: Error\0"));
	CHECK(!FIND_MESSAGE("<jemalloc>: Error\0"));
	CHECK(!FIND_MESSAGE("\0<jemalloc>:"));
	CHECK(!FIND_MESSAGE("\0"));
}

TEST(other_names_are_not)
{
	CHECK(!FIND(""));
	CHECK(!FIND("\0"));
	CHECK(!FIND("\0malloc\0free\0"));
	CHECK(!FIND("\0je_malloc_usable_size\0"));
	CHECK(!FIND("\0my_je_malloc\0"));
	CHECK(!FIND("je_malloc\0")); /* the end of another one, perhaps: pieces overlap */
	CHECK(!FIND("\0je_malloc")); /* the same at the end */
}
