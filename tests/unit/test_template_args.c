/* Names without their template arguments. */
#include "harness/test.h"

#include <stdlib.h>

#include "symbol/symbol.h"

static void check(const char *name, const char *want)
{
	char *got = symbol_strip_template_args(name);

	CHECK_NOT_NULL(got);
	CHECK_STR_EQ(got, want);
	free(got);
}

TEST(arguments_become_two_dots)
{
	check("a<b<c>>::d", "a<..>::d");
	check("std::map<int, std::vector<char> >::operator[](int const&)",
	      "std::map<..>::operator[](int const&)");
	check("void f<int>(std::vector<int> const&)", "void f<..>(std::vector<..> const&)");
	check("x<(1)>(2)>::y", "x<..>(2)>::y"); /* unbalanced: never seen, must only not crash */
	check("x<((1)>(2))>::y", "x<..>::y");
}

TEST(plain_names_stay)
{
	check("", "");
	check("main", "main");
	check("a<>::b", "a<>::b");
	check("f(int, char) const", "f(int, char) const");
	check("{lambda(int)#1}::operator()(int) const", "{lambda(int)#1}::operator()(int) const");
	check("foo::{{closure}}", "foo::{{closure}}");
}

TEST(operators_with_angle_brackets_stay)
{
	check("operator<(a, b)", "operator<(a, b)");
	check("a::operator<<(int)", "a::operator<<(int)");
	check("a<b>::operator<<=(int)", "a<..>::operator<<=(int)");
	check("a::operator->() const", "a::operator->() const");
	check("a::operator->*() const", "a::operator->*() const");
	check("x<y>::operator<=>(x<y> const&)", "x<..>::operator<=>(x<..> const&)");
	check("bool operator< <int>(a<int>, a<int>)", "bool operator< <..>(a<..>, a<..>)");
	check("std::ostream& std::operator<< <char>(std::ostream&)",
	      "std::ostream& std::operator<< <..>(std::ostream&)");
	check("void operator<<int>(int)", "void operator<<..>(int)");
	check("my_operator<int>::f", "my_operator<..>::f");
	check("a<b>::operator()<int>(int) const", "a<..>::operator()<..>(int) const");
	check("f<&(a::operator<)>::g", "f<..>::g");
}

TEST(lambdas_in_arguments_go_with_them)
{
	check("std::function<void (int)>::function<main::{lambda(int)#1}>(main::{lambda(int)#1})",
	      "std::function<..>::function<..>(main::{lambda(int)#1})");
	check("f<g(int)::<lambda(int)> >::h", "f<..>::h");
	check("f<decltype((a)->b)>::c", "f<..>::c");
}

TEST(rust_paths_keep_what_they_name)
{
	check("<T as Trait>::f", "<T as Trait>::f");
	check("<alloc::vec::Vec<T,A> as core::ops::drop::Drop>::drop",
	      "<alloc::vec::Vec<..> as core::ops::drop::Drop>::drop");
	check("<alloc::vec::Vec<u32>>::push", "<alloc::vec::Vec<..>>::push");
	check("alloc::slice::<impl [T]>::to_vec", "alloc::slice::<impl [T]>::to_vec");
	check("core::iter::map::<u32, fn() -> u32>::f", "core::iter::map::<..>::f");
	check("core::ptr::drop_in_place<alloc::string::String>", "core::ptr::drop_in_place<..>");
	check("<&T as core::fmt::Debug>::fmt", "<&T as core::fmt::Debug>::fmt");
	check("<(dyn Fn<(u32,), Output = u8> + Send) as X>::y", "<(dyn Fn<..> + Send) as X>::y");
}

TEST(what_never_closes_stays)
{
	check("a<b", "a<b");
	check("a<b(", "a<b(");
	check("a>b", "a>b");
	check("<<<<", "<<<<");
	check("operator", "operator");
	check("a<b)>", "a<b)>");
}
