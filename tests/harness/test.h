/* harness/test.h - unit tests that register themselves, on top of cmocka.
 *
 * A test is TEST(claim) { ... }; its name states what must hold. Tests of all linked files run in
 * the order of definition; main() is in the harness. An argument selects tests by name, with
 * wildcards: ./test_cursor 'uleb*'.
 * A failed CHECK ends its test at once (longjmp: destructors after it do not run) with file and line.
 * CHECKs belong to the test's own thread; a helper thread reports back to it.
 */
#ifndef HARNESS_TEST_H
#define HARNESS_TEST_H

#include "harness/guard.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct test_case {
	const char *name;
	void (*run)(void);
	struct test_case *next; /* in order of registration */
};

void test_register(struct test_case *t);

#define TEST(claim)                                                                                \
	static void test_run_##claim(void);                                                        \
	__attribute__((constructor)) static void test_register_##claim(void)                       \
	{                                                                                          \
		static struct test_case t = {#claim, test_run_##claim, NULL};                      \
		test_register(&t);                                                                 \
	}                                                                                          \
	static void test_run_##claim(void)

/* Where a check stands and what it says. */
struct test_location {
	const char *file;
	int line;
	const char *text;
};
#define TEST_LOCATION(text) (&(const struct test_location){__FILE__, __LINE__, text})

void test_check(bool ok, const struct test_location *at);
void test_check_eq(uint64_t a, uint64_t b, bool want_equal, const struct test_location *at);
void test_check_ptr(const void *a, const void *b, bool want_equal, const struct test_location *at);
void test_check_str(const char *a, const char *b, const struct test_location *at);
void test_check_mem(const void *a, const void *b, size_t len, const struct test_location *at);
void test_check_result(int got, int want, const struct test_location *at);

#define CHECK(cond) test_check(!!(cond), TEST_LOCATION(#cond))

/* Integers of any type; signed ones are compared by value after extension to 64 bits. */
#define CHECK_EQ(a, b)                                                                             \
	test_check_eq((uint64_t)(a), (uint64_t)(b), true, TEST_LOCATION(#a " == " #b))
#define CHECK_NE(a, b)                                                                             \
	test_check_eq((uint64_t)(a), (uint64_t)(b), false, TEST_LOCATION(#a " != " #b))

#define CHECK_PTR_EQ(a, b) test_check_ptr((a), (b), true, TEST_LOCATION(#a " == " #b))
#define CHECK_NULL(p) test_check_ptr((p), NULL, true, TEST_LOCATION(#p " == NULL"))
#define CHECK_NOT_NULL(p) test_check_ptr((p), NULL, false, TEST_LOCATION(#p " != NULL"))

#define CHECK_STR_EQ(a, b) test_check_str((a), (b), TEST_LOCATION(#a " == " #b))
#define CHECK_MEM_EQ(a, b, len) test_check_mem((a), (b), (len), TEST_LOCATION(#a " == " #b))

/* For functions that return 0 or -ERR_x: it succeeded; it failed with exactly this code. */
#define CHECK_OK(expr) test_check_result((expr), 0, TEST_LOCATION(#expr))
#define CHECK_ERR(expr, code) test_check_result((expr), -(int)(code), TEST_LOCATION(#expr))

#endif
