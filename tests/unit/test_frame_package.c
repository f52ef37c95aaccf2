/* Which package does a frame belong to? */
#include "harness/test.h"

#include <string.h>

#include "query/frame_package.h"

static char text[FRAME_PACKAGE_BYTES];

static const char *package_of(const char *module)
{
	struct frame f = {.function = "some::name", .module = module};

	frame_package(&f, text);
	return text;
}

static const char *package_of_rust(const char *function)
{
	struct frame f = {
		.function = function, .raw_function = "_RNvC3app4main", .module = "/opt/app-1.2"};

	frame_package(&f, text);
	return text;
}

TEST(a_library_is_named_without_its_version)
{
	CHECK_STR_EQ(package_of("/usr/lib/x86_64-linux-gnu/libc.so.6"), "libc");
	CHECK_STR_EQ(package_of("/usr/lib/librocksdb.so.7.8.3"), "librocksdb");
	CHECK_STR_EQ(package_of("libz.so"), "libz");
	CHECK_STR_EQ(package_of("/usr/lib/libpython3.11.so.1.0"), "libpython3.11");
	CHECK_STR_EQ(package_of("/usr/lib/libc-2.31.so"), "libc-2.31");
	CHECK_STR_EQ(package_of("/usr/lib/libx.so (deleted)"), "libx");
	CHECK_STR_EQ(package_of("/usr/lib/liby.so-gdb.so"), "liby");
}

TEST(an_executable_is_its_own_package)
{
	CHECK_STR_EQ(package_of("/home/u/demo"), "demo");
	CHECK_STR_EQ(package_of("demo"), "demo");
	CHECK_STR_EQ(package_of("[vdso]"), "[vdso]");
}

TEST(only_so_at_the_end_of_a_part_of_the_name_ends_a_package)
{
	CHECK_STR_EQ(package_of("/opt/demo.solver"), "demo.solver");
	CHECK_STR_EQ(package_of("/opt/demo.source.so.1"), "demo.source");
	CHECK_STR_EQ(package_of("/opt/.so"), ".so");
	CHECK_STR_EQ(package_of("/opt/.so.so"), ".so");
}

TEST(rust_code_belongs_to_its_crate)
{
	CHECK_STR_EQ(package_of_rust("app::main"), "app");
	CHECK_STR_EQ(package_of_rust("serde_json::de::from_str"), "serde_json");
	CHECK_STR_EQ(package_of_rust("alloc::vec::Vec<T,A>::push"), "alloc");
	CHECK_STR_EQ(package_of_rust("app::Cache::fill::{{closure}}"), "app");
	CHECK_STR_EQ(package_of_rust("core[8a3f]::fmt::write"), "core");
	CHECK_STR_EQ(package_of_rust("<core[8a3f]::fmt::Formatter>::pad"), "core");
	CHECK_STR_EQ(package_of_rust("app::Cache::fill::h0123456789abcdef"), "app");
	CHECK_STR_EQ(package_of_rust("gr\xc3\xb6\xc3\x9f"
				     "e::f"),
		     "gr\xc3\xb6\xc3\x9f"
		     "e");
}

TEST(the_crate_of_an_impl_is_that_of_the_type)
{
	CHECK_STR_EQ(package_of_rust("<tokio::Task as core::future::Future>::poll"), "tokio");
	CHECK_STR_EQ(package_of_rust("<&mut tokio::Task as core::fmt::Debug>::fmt"), "tokio");
	CHECK_STR_EQ(package_of_rust("<*const tokio::Task as core::fmt::Debug>::fmt"), "tokio");
	CHECK_STR_EQ(package_of_rust("<dyn tokio::Run as core::fmt::Debug>::fmt"), "tokio");
	CHECK_STR_EQ(package_of_rust("<tokio::Task>::new"), "tokio");
}

TEST(the_crate_of_an_impl_for_a_primitive_is_that_of_the_trait)
{
	CHECK_STR_EQ(package_of_rust("<str as core::fmt::Debug>::fmt"), "core");
	CHECK_STR_EQ(package_of_rust("<[T] as serde::Serialize>::serialize"), "serde");
	CHECK_STR_EQ(package_of_rust("<(A, B) as serde::Serialize>::serialize"), "serde");
	CHECK_STR_EQ(package_of_rust("<F as core::ops::FnOnce<A>>::call_once"), "core");
}

TEST(rust_code_without_a_crate_goes_by_its_module)
{
	CHECK_STR_EQ(package_of_rust("main"), "app-1.2");
	CHECK_STR_EQ(package_of_rust("__rust_alloc"), "app-1.2");
	CHECK_STR_EQ(package_of_rust(""), "app-1.2");
	CHECK_STR_EQ(package_of_rust("::f"), "app-1.2");
	CHECK_STR_EQ(package_of_rust("<"), "app-1.2");
	CHECK_STR_EQ(package_of_rust("f[::g"), "app-1.2");
	CHECK_STR_EQ(package_of_rust("fn(app::A)"), "app-1.2");
}

TEST(other_languages_go_by_their_module)
{
	struct frame f = {.function = "core::Engine::run()",
			  .raw_function = "_ZN4core6Engine3runEv",
			  .source = "/src/engine.cpp",
			  .module = "/opt/libengine.so.1"};

	frame_package(&f, text);
	CHECK_STR_EQ(text, "libengine");
	f.source = "/src/engine.rs";
	frame_package(&f, text);
	CHECK_STR_EQ(text, "core");
}

TEST(code_without_a_module_has_a_package_as_well)
{
	struct frame f = {.function = "LazyCompile:~f"};

	frame_package(&f, text);
	CHECK_STR_EQ(text, "[no image]");
	f.function = NULL;
	f.module = "/opt/";
	frame_package(&f, text);
	CHECK_STR_EQ(text, "[no image]");
}

TEST(python_code_belongs_to_its_script)
{
	const struct frame f = {.function = "py::Store.add:/srv/app/store.py"};
	const struct frame without = {.function = "py::"};

	frame_package(&f, text);
	CHECK_STR_EQ(text, "store.py");
	frame_package(&without, text);
	CHECK_STR_EQ(text, "[no image]");
}

TEST(a_name_that_does_not_fit_says_so)
{
	char name[2 * FRAME_PACKAGE_BYTES];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	memcpy(name + sizeof(name) - 4, "::f", 3);
	package_of_rust(name);
	CHECK_EQ(strlen(text), FRAME_PACKAGE_BYTES - 1);
	CHECK_STR_EQ(text + FRAME_PACKAGE_BYTES - 4, "...");
	package_of(name);
	CHECK_EQ(strlen(text), FRAME_PACKAGE_BYTES - 1);
}
