/* Function names, shortened. */
#include "harness/test.h"

#include <stdlib.h>
#include <string.h>

#include "query/frame_name.h"

static void check_short(const char *name, const char *want)
{
	char buf[FRAME_NAME_BYTES];

	CHECK_STR_EQ(frame_name_short(name, buf), want);
}

TEST(c_names_stay_what_they_are)
{
	check_short("main", "main");
	check_short("parse_line.part.0", "parse_line.part.0");
	check_short("", "");
	check_short("parse_line [clone .cold]", "parse_line");
}

TEST(return_type_parameters_and_template_arguments_go)
{
	check_short("void std::vector<int, std::allocator<int> >::push_back(int const&)",
		    "std::vector<..>::push_back");
	check_short("std::map<std::string, int>::operator[](std::string const&)",
		    "std::map<..>::operator[]");
	check_short("unsigned long f<A, B>(std::pair<A, B>) [clone .isra.0]", "f<..>");
	check_short("(anonymous namespace)::helper(int)", "(anonymous namespace)::helper");
	check_short("decltype (f(x)) g<int>(int)", "g<..>");
}

TEST(operators_are_names)
{
	check_short("operator new(unsigned long)", "operator new");
	check_short("operator new[](unsigned long)", "operator new[]");
	check_short("A::operator<(A const&) const", "A::operator<");
	check_short("bool operator< <int>(B<int>, B<int>)", "operator< <..>");
	check_short("A::operator->() const", "A::operator->");
	check_short("A::operator()(int) const", "A::operator()");
	check_short("A::operator unsigned int() const", "A::operator unsigned int");
	check_short("std::ostream& operator<< <char>(std::ostream&, char const*)",
		    "operator<< <..>");
	check_short("C<&A::operator int>::f()", "C<..>::f");
	check_short("my_operator(int)", "my_operator");
}

TEST(lambdas_lose_their_types)
{
	check_short("int f<A, B>(std::pair<A, B>)::{lambda(int)#1}::operator()(int) const",
		    "f<..>::{lambda#1}::operator()");
	check_short("main::{lambda()#2}::operator()() const", "main::{lambda#2}::operator()");
	check_short("A::f(int) const::{lambda(auto:1)#1}::operator()<int>(int) const",
		    "A::f::{lambda#1}::operator()<..>");
}

TEST(rust_names_keep_self_type_and_trait)
{
	check_short("<alloc::vec::Vec<T,A> as core::clone::Clone>::clone",
		    "<alloc::vec::Vec<..> as core::clone::Clone>::clone");
	check_short("app::load::{{closure}}", "app::load::{{closure}}");
	check_short("app::load::<u32>::{closure#0}", "app::load::<..>::{closure#0}");
	check_short("core::fmt::num::<impl core::fmt::Display for u32>::fmt",
		    "core::fmt::num::<impl core::fmt::Display for u32>::fmt");
	check_short("<&mut app::Reader<T> as std::io::Read>::read",
		    "<&mut app::Reader<..> as std::io::Read>::read");
	check_short("core::ops::function::FnOnce::call_once{{vtable.shim}}",
		    "core::ops::function::FnOnce::call_once{{vtable.shim}}");
	check_short("app::f::<fn(u8) -> u8>", "app::f::<..>");
}

TEST(odd_brackets_are_copied)
{
	check_short("a<b", "a<b");
	check_short("a(b", "a(b");
	check_short("a>b)", "a>b)");
	check_short("<<<<<<<<<<<<<<<<<<<<<<<<<<<<", "<<<<<<<<<<<<<<<<<<<<<<<<<<<<");
	check_short("operator", "operator");
	check_short(" ", " ");
}

TEST(long_names_are_cut)
{
	char name[4 * FRAME_NAME_BYTES], buf[FRAME_NAME_BYTES];

	memset(name, 'a', sizeof(name));
	name[sizeof(name) - 1] = 0;
	frame_name_short(name, buf);
	CHECK(strlen(buf) < FRAME_NAME_BYTES);
	CHECK_STR_EQ(buf + strlen(buf) - 4, "a...");
	/* never half of a character */
	for (size_t i = 0; i + 2 < sizeof(name); i += 2)
		memcpy(name + i, "\xc3\xa4", 2);
	name[sizeof(name) - 2] = 0;
	name[0] = 'x', name[1] = 'x', name[2] = 'x';
	memmove(name + 3, name + 4, strlen(name + 4) + 1);
	frame_name_short(name, buf);
	CHECK_MEM_EQ(buf + strlen(buf) - 5, "\xc3\xa4...", 5);
}

TEST(any_bytes_are_harmless)
{
	static const char part[][12] = {
		"<",  ">", "(", ")", "{", "}", "[",  "]",    " ",      "operator", "::",    "a",
		"->", "&", "*", ",", "#", "~", "as", "\xc3", " const", "lambda(",  "impl ", "\xff"};
	unsigned seed = 1;

	for (int i = 0; i < 20000; i++) {
		char name[256], buf[FRAME_NAME_BYTES];
		char *exact;

		name[0] = 0;
		for (int k = 0; k < 20; k++) {
			seed = seed * 1103515245 + 12345;
			strcat(name, part[(seed >> 16) % ARRAY_LEN(part)]);
		}
		exact = strdup(name); /* so that a sanitizer sees a byte too far */
		CHECK(exact != NULL);
		frame_name_short(exact, buf);
		CHECK(strlen(buf) < FRAME_NAME_BYTES);
		free(exact);
	}
}
