/* Readable names. What is expected is what c++filt, rustfilt and ddemangle print. */
#include "harness/test.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/symbol.h"

static void check(const char *raw, const char *want)
{
	char *got = symbol_demangle(raw);

	if (!want) {
		CHECK_NULL(got);
		return;
	}
	CHECK_NOT_NULL(got);
	CHECK_STR_EQ(got, want);
	free(got);
}

TEST(cpp_names_come_with_parameters)
{
	check("_Z3fooi", "foo(int)");
	check("_ZNSt6vectorIiSaIiEE9push_backERKi",
	      "std::vector<int, std::allocator<int> >::push_back(int const&)");
	check("_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()(int) const");
	check("_Z4fillPKc.cold", "fill(char const*) [clone .cold]");
}

TEST(rust_names_lose_their_hash)
{
	check("_ZN4core3ptr13drop_in_place17h0123456789abcdefE", "core::ptr::drop_in_place");
	check("_ZN60_$LT$alloc..string..String$u20$as$u20$core..fmt..Display$GT$"
	      "3fmt17h0123456789abcd"
	      "efE",
	      "<alloc::string::String as core::fmt::Display>::fmt");
	check("_ZN3app4main28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE",
	      "app::main::{{closure}}");
	check("_RNvCs1234_7mycrate3foo", "mycrate::foo");
	check("_RINvNtC3std3mem8align_ofdE", "std::mem::align_of::<f64>");
	check("_RNCNvC1a1f0", "a::f::{closure#0}");
}

TEST(d_names_are_read)
{
	check("_D8demangle4testFiZv", "demangle.test(int)");
	check("_Dmain", "D main");
}

TEST(other_names_are_not)
{
	check("main", NULL);
	check("", NULL);
	check("_", NULL);
	check("_Z", NULL);
	check("_Zfoo", NULL);
	check("_start", NULL);
	check("__libc_start_main", NULL);
	check("_R", NULL);
	check("_D", NULL);
}

TEST(long_template_names_are_read)
{
	char raw[4096] = "_Z1f", tail[] = "i";
	char *got;

	while (strlen(raw) <
	       3000) /* f(a::b<int>, ...): far beyond libiberty's own limit of 1 KiB */
		strcat(raw, "N1a1bIiEE");
	strcat(raw, tail);
	got = symbol_demangle(raw);
	CHECK_NOT_NULL(got);
	CHECK(strncmp(got, "f(a::b<int>, ", 13) == 0);
	free(got);
}

static void *demangle_deep(void *raw)
{
	free(symbol_demangle(raw));
	return NULL;
}

/* On a stack of the size that threads usually have. */
TEST(deeply_nested_names_do_not_overflow_the_stack)
{
	static char raw[3][4096];
	pthread_t thread;

	strcpy(raw[0], "_Z1f");
	memset(raw[0] + 4, 'P', 4000);
	strcpy(raw[1], "_Z1f");
	for (size_t i = 4; i + 3 < 4000; i += 3)
		memcpy(raw[1] + i, "1aI", 3);
	strcpy(raw[2], "_R");
	memset(raw[2] + 2, 'N', 4000);
	for (int i = 0; i < 3; i++) {
		strcat(raw[i], "i");
		CHECK_EQ(pthread_create(&thread, NULL, demangle_deep, raw[i]), 0);
		CHECK_EQ(pthread_join(thread, NULL), 0);
	}
}

/* Each substitution doubles the text: 40 of them would be 2^40 bytes. */
TEST(exploding_names_are_given_up)
{
	char raw[1024] = "_Z1fN1aIiiEE";

	for (int i = 0; i < 40; i++) {
		char more[32];
		int n = i < 36 ? i : 35;

		more[0] = 0;
		strcat(more, "1bIS");
		more[4] = (char)(n < 10 ? '0' + n : 'A' + n - 10);
		strcpy(more + 5, "_S_E");
		strcat(raw, more);
	}
	free(symbol_demangle(raw));
}
