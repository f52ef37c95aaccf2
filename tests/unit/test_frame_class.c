/* Whose code is a frame? */
#include "harness/test.h"

#include "query/frame_class.h"

#define EXE "/home/u/app"

static const char *class_of(const char *function, const char *source, const char *module)
{
	struct frame f = {.function = function, .source = source, .module = module};

	return frame_class_name(frame_class_of(&f, EXE));
}

static const char *class_of_rust(const char *function)
{
	struct frame f = {.function = function, .raw_function = "_RNvC3app4main", .module = EXE};

	return frame_class_name(frame_class_of(&f, EXE));
}

TEST(code_of_the_executable_is_own)
{
	CHECK_STR_EQ(class_of("main", "/src/main.c", EXE), "own");
	CHECK_STR_EQ(class_of(NULL, NULL, EXE), "own");
	CHECK_STR_EQ(class_of("load(std::vector<int>&)", NULL, EXE), "own");
	CHECK_STR_EQ(class_of("my_malloc_user", NULL, EXE), "own");
	CHECK_STR_EQ(class_of("core::Engine::run()", "/src/engine.cpp", EXE), "own");
	CHECK_STR_EQ(class_of("alloc::Pool::get()", NULL, EXE), "own");
}

TEST(code_made_at_run_time_and_libraries_beside_the_program_are_own)
{
	CHECK_STR_EQ(class_of("LazyCompile:~f", NULL, NULL), "own");
	CHECK_STR_EQ(class_of("plugin_init", NULL, "/home/u/plugins/libp.so"), "own");
}

TEST(system_libraries_are_libraries)
{
	CHECK_STR_EQ(class_of("png_read_row", NULL, "/usr/lib/x86_64-linux-gnu/libpng16.so.16"),
		     "library");
	CHECK_STR_EQ(class_of("getdelim", NULL, "/lib/x86_64-linux-gnu/libc.so.6"), "library");
	CHECK_STR_EQ(class_of("serde::parse", "/home/u/.cargo/registry/src/x/serde/lib.rs", EXE),
		     "library");
	{
		struct frame f = {.function = "main", .module = "/usr/bin/tool"};

		CHECK_EQ(frame_class_of(&f, "/usr/bin/tool"), FRAME_CLASS_OWN);
		CHECK_EQ(frame_class_of(&f, NULL), FRAME_CLASS_LIBRARY);
	}
}

TEST(allocators_and_their_wrappers_are_known)
{
	const char *libc = "/lib/x86_64-linux-gnu/libc.so.6";

	CHECK_STR_EQ(class_of("malloc", NULL, libc), "allocator");
	CHECK_STR_EQ(class_of("strdup", NULL, libc), "allocator");
	CHECK_STR_EQ(class_of("operator new(unsigned long)", NULL, "/usr/lib/libstdc++.so.6"),
		     "allocator");
	CHECK_STR_EQ(class_of("operator new(unsigned long)", "/src/own_new.cpp", EXE), "allocator");
	CHECK_STR_EQ(
		class_of("std::allocator_traits<std::allocator<int> >::allocate(x)", NULL, EXE),
		"allocator");
	CHECK_STR_EQ(class_of("g_malloc0", NULL, "/usr/lib/libglib-2.0.so.0"), "allocator");
	CHECK_STR_EQ(class_of("xmalloc", "/src/util.c", EXE), "allocator");
	CHECK_STR_EQ(class_of("xmalloc_user", "/src/util.c", EXE), "own");
}

TEST(standard_libraries_and_starts_are_runtime)
{
	CHECK_STR_EQ(class_of("void std::vector<int>::push_back(int const&)", NULL, EXE),
		     "runtime");
	CHECK_STR_EQ(class_of("helper", "/usr/include/c++/12/bits/x.h", EXE), "runtime");
	CHECK_STR_EQ(class_of("_start", NULL, EXE), "runtime");
	CHECK_STR_EQ(class_of("__libc_start_main@@GLIBC_2.34", NULL, "/lib/libc.so.6"), "runtime");
	CHECK_STR_EQ(class_of(NULL, NULL, "/lib/x86_64-linux-gnu/libc.so.6"), "runtime");
	CHECK_STR_EQ(class_of("anything", NULL, "/lib64/ld-linux-x86-64.so.2"), "runtime");
}

TEST(rust_names_are_judged_by_type_or_trait)
{
	CHECK_STR_EQ(class_of_rust("app::load"), "own");
	CHECK_STR_EQ(class_of_rust("<app::Item as core::clone::Clone>::clone"), "own");
	CHECK_STR_EQ(class_of_rust("<alloc::vec::Vec<app::Item> as core::clone::Clone>::clone"),
		     "runtime");
	CHECK_STR_EQ(class_of_rust("<T as alloc::string::ToString>::to_string"), "runtime");
	CHECK_STR_EQ(class_of_rust("<str as app::Shout>::shout"), "own");
	CHECK_STR_EQ(class_of_rust("<&mut app::Reader as std::io::Read>::read"), "own");
	CHECK_STR_EQ(class_of_rust("alloc::raw_vec::RawVec<T,A>::reserve::do_reserve_and_handle"),
		     "allocator");
	CHECK_STR_EQ(class_of_rust("<alloc::alloc::Global as core::alloc::Allocator>::allocate"),
		     "allocator");
	CHECK_STR_EQ(class_of_rust("std::rt::lang_start::{{closure}}"), "runtime");
	CHECK_STR_EQ(class_of_rust("<"), "own");
	CHECK_STR_EQ(class_of_rust("<&mut "), "own");
}

TEST(wrappers_of_programs_are_allocators)
{
	static const char *const wrapper[] = {
		"zmalloc_usable",  "ztrymalloc_usable_internal",
		"zrealloc_usable", "my_malloc",
		"my_realloc",      "acme_strdup",
		"xmallocz",        "do_xmalloc",
		"xstrdup",         "emalloc",
		"pg_malloc0",      "palloc0",
	};
	static const char *const own[] = {
		"mallocate",     "my_malloc_user", "malloc_stats_print", "Pool::my_malloc", "test",
		"free_list_add", "_malloc",        "parse_xmalloc_args",
	};

	for (size_t i = 0; i < sizeof(wrapper) / sizeof(wrapper[0]); i++)
		CHECK_STR_EQ(class_of(wrapper[i], "/src/a.c", EXE), "allocator");
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		CHECK_STR_EQ(class_of(own[i], "/src/a.c", EXE), "own");
}
