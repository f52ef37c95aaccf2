/* Whose code is a frame? */
#include "harness/test.h"

#include <string.h>

#include "query/frame_class.h"
#include "query/query_regex.h"

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

static bool is_thin(const char *function, const char *source, const char *module)
{
	const struct frame_rules rules = {.executable = EXE};
	struct frame f = {.function = function, .source = source, .module = module};

	return frame_class_is_thin(&rules, &f);
}

TEST(a_main_and_code_without_name_are_thin_if_their_source_is_not_known)
{
	CHECK(is_thin("main", NULL, EXE));
	CHECK(is_thin("cc1_main(llvm::ArrayRef<char const*>, char const*, void*)", NULL, EXE));
	CHECK(is_thin("app::main", NULL, EXE));
	CHECK(is_thin(NULL, NULL, EXE));
	CHECK(!is_thin("main", "/src/main.c", EXE));
	CHECK(!is_thin("load", NULL, EXE));
	CHECK(!is_thin("domain", NULL, EXE));
	CHECK(!is_thin("main_loop", NULL, EXE));
	CHECK(!is_thin("load(struct main)", NULL, EXE));
	CHECK(!is_thin(NULL, NULL, NULL)); /* made at run time */
}

TEST(a_library_that_thin_code_called_is_to_blame)
{
	CHECK(frame_class_takes_blame(FRAME_CLASS_LIBRARY, FRAME_CLASS_OWN, true));
	CHECK(frame_class_takes_blame(FRAME_CLASS_NATIVE, FRAME_CLASS_OWN, true));
	CHECK(!frame_class_takes_blame(FRAME_CLASS_LIBRARY, FRAME_CLASS_OWN, false));
	CHECK(!frame_class_takes_blame(FRAME_CLASS_RUNTIME, FRAME_CLASS_OWN, true));
	CHECK(frame_class_takes_blame(FRAME_CLASS_OWN, FRAME_CLASS_OWN, false));
	CHECK(frame_class_takes_blame(FRAME_CLASS_NATIVE, FRAME_CLASS_LIBRARY, false));
}

TEST(code_made_at_run_time_and_libraries_beside_the_program_are_own)
{
	CHECK_STR_EQ(class_of("LazyCompile:~f", NULL, NULL), "own");
	CHECK_STR_EQ(class_of("plugin_init", NULL, "/home/u/plugins/libp.so"), "own");
	CHECK_STR_EQ(class_of("plugin_init", "/home/u/p.c", "/opt/plugins/libp.so"), "own");
}

/* A library that lies elsewhere and has no sources may be anybody's, such as a package of Python's. */
TEST(a_library_elsewhere_without_sources_is_not_own)
{
	CHECK_STR_EQ(class_of("array_new", NULL, "/opt/venv/numpy/core.cpython-311.so"), "native");
}

TEST(the_interpreter_of_python_is_not_own)
{
	const char *lib = "/opt/py/lib/libpython3.12.so.1.0", *exe = "/usr/bin/python3.11";
	struct frame in_exe = {.function = "list_resize", .module = exe};

	CHECK_STR_EQ(class_of("PyUnicode_New", "/tmp/Python-3.12.1/Objects/u.c", lib), "native");
	CHECK_STR_EQ(class_of("dumps", "/tmp/_json.c", "/opt/py/lib-dynload/_json.so"), "native");
	CHECK_STR_EQ(frame_class_name(frame_class_of(&in_exe, exe)), "library");
	CHECK_STR_EQ(class_of("py::handle:/srv/app.py", NULL, NULL), "own");
	CHECK_STR_EQ(class_of("f", "/home/u/pythonic.c", "/home/u/pythonic"), "own");
	CHECK(frame_class_is_python("/usr/bin/python3"));
	CHECK(!frame_class_is_python("/usr/bin/python3-config"));
}

TEST(sources_tell_what_is_not_own)
{
	static const char *const foreign[] = {
		"/home/u/.cargo/registry/src/index-6f17/serde-1.0/src/lib.rs",
		"/cache/cargo/registry/src/index-6f17/serde-1.0/src/lib.rs",
		"/home/u/.cargo/git/checkouts/x-1f/src/lib.rs",
		"/builds/git/checkouts/x-1f/src/lib.rs",
		"/usr/local/lib/go/src/x.go",
		"/nix/store/abc-crate/src/lib.rs",
		"/gnu/store/abc-crate/src/lib.rs",
	};

	for (size_t i = 0; i < ARRAY_LEN(foreign); i++)
		CHECK_STR_EQ(class_of("f", foreign[i], EXE), "library");
	CHECK_STR_EQ(class_of("f", "/usr/include/boost/any.hpp", EXE), "native");
	CHECK_STR_EQ(class_of("f", "/rustc/9fc6/library/core/src/x.rs", EXE), "runtime");
	/* Where images of containers are built. */
	CHECK_STR_EQ(class_of("f", "/usr/src/app/src/main.rs", EXE), "own");
	CHECK_STR_EQ(class_of("f", "/usr/src/debug/zlib/x.c", "/usr/lib64/libz.so.1"), "native");
	CHECK_STR_EQ(class_of("f", "/home/u/src/usr/x.c", EXE), "own");
}

static const char *class_of_raw(const char *raw, const char *source, const char *module)
{
	struct frame f = {.function = raw, .raw_function = raw, .source = source, .module = module};

	return frame_class_name(frame_class_of(&f, EXE));
}

TEST(libraries_in_c_and_cpp_are_native)
{
	const char *lib = "/usr/lib/librocksdb.so.8";
	const char *crate = "/home/u/.cargo/registry/src/i/rocks-sys-0.1/db/db.cc";

	CHECK_STR_EQ(class_of_raw("_ZN7rocksdb2DB3PutEv", NULL, lib), "native");
	CHECK_STR_EQ(class_of_raw("png_read_row", NULL, lib), "native");
	CHECK_STR_EQ(class_of_raw("helper.isra.0", NULL, lib), "native");
	CHECK_STR_EQ(class_of_raw("helper@@GLIBC_2.34", NULL, lib), "native");
	CHECK_STR_EQ(class_of(NULL, NULL, lib), "native");
	CHECK_STR_EQ(class_of_raw("rocksdb::DB::Put", crate, EXE), "native");
	CHECK_STR_EQ(class_of_raw("f", "/usr/include/eigen3/Eigen/Dense", EXE), "native");
	CHECK_STR_EQ(class_of_raw("_RNvC5rocks3put", NULL, lib), "library");
	CHECK_STR_EQ(class_of_raw("_ZN5rocks3put17h0123456789abcdefE", NULL, lib), "library");
	CHECK_STR_EQ(class_of_raw("_D4core6memory2GCv", NULL, lib), "library");
	CHECK_STR_EQ(class_of_raw("github.com/x/y.(*T).Get", NULL, lib), "library");
	CHECK_STR_EQ(class_of_raw("runtime.mallocgc", NULL, lib), "library");
	CHECK_STR_EQ(class_of_raw("x", "/usr/lib/go/src/runtime/x.go", lib), "library");
	CHECK_STR_EQ(class_of_raw("x", NULL, "/usr/bin/helper"), "library");
}

/* ---- the user's own idea ---- */

static const char *class_by(struct frame_rules *r, const char *function, const char *source,
			    const char *module)
{
	struct frame f = {.function = function, .source = source, .module = module};

	return frame_class_name(frame_class_by(r, &f));
}

TEST(own_regex_decides_what_is_own)
{
	struct frame_rules r = {.executable = EXE};
	struct err err = {0};

	CHECK_OK(query_regex_create("own_regex", "^/src/mine/|^std::mine", &r.own, &err));
	CHECK_STR_EQ(class_by(&r, "f", "/src/mine/x.c", EXE), "own");
	CHECK_STR_EQ(class_by(&r, "f", "/src/mine/x.c", "/usr/lib/libx.so"), "own");
	CHECK_STR_EQ(class_by(&r, "std::mine::f()", NULL, EXE), "own");
	CHECK_STR_EQ(class_by(&r, "f", "/src/theirs/x.c", EXE), "native");
	CHECK_STR_EQ(class_by(&r, "f", "/src/theirs/x.rs", EXE), "library");
	CHECK_STR_EQ(class_by(&r, NULL, NULL, EXE), "library");
	CHECK_STR_EQ(class_by(&r, "malloc", NULL, "/lib/libc.so.6"), "allocator");
	CHECK_STR_EQ(class_by(&r, "std::other()", NULL, EXE), "runtime");
	CHECK_EQ(r.failure.code, ERR_NONE);
	query_regex_destroy(r.own);
}

TEST(own_regex_that_costs_too_much_is_noted)
{
	struct frame_rules r = {.executable = EXE};
	struct err err = {0};
	char name[101];

	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	CHECK_OK(query_regex_create("own_regex", "(a+)+(.+)+(.+)+\\d$", &r.own, &err));
	class_by(&r, name, NULL, EXE);
	CHECK_EQ(r.failure.code, ERR_LIMIT);
	CHECK(strstr(r.failure.text, "own_regex"));
	query_regex_destroy(r.own);
}

TEST(system_libraries_are_libraries)
{
	CHECK_STR_EQ(class_of("png_read_row", NULL, "/usr/lib/x86_64-linux-gnu/libpng16.so.16"),
		     "native");
	CHECK_STR_EQ(class_of("getdelim", NULL, "/lib/x86_64-linux-gnu/libc.so.6"), "native");
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
	CHECK_STR_EQ(class_of_rust("<app::Counted as core::alloc::global::GlobalAlloc>::alloc"),
		     "allocator");
	CHECK_STR_EQ(class_of_rust("alloc_zeroed"), "allocator"); /* the same, inlined */
	CHECK_STR_EQ(class_of_rust("app::Arena::alloc"), "own");
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
