/* harness/test.c - runs the registered tests through cmocka and words the failures. */
#include "harness/test.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct test_case *first;
static struct test_case **end = &first;
static size_t n_tests;

void test_register(struct test_case *t)
{
	*end = t;
	end = &t->next;
	n_tests++;
}

__attribute__((noreturn, format(printf, 2, 3))) static void fail_at(const struct test_location *at,
								    const char *fmt, ...)
{
	char detail[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(detail, sizeof(detail), fmt, ap);
	va_end(ap);
	print_error("CHECK failed: %s\n  %s\n", at->text, detail);
	_fail(at->file, at->line); /* leaves the test by longjmp */
	abort();
}

void test_check(bool ok, const struct test_location *at)
{
	if (!ok)
		fail_at(at, "is false");
}

void test_check_eq(uint64_t a, uint64_t b, bool want_equal, const struct test_location *at)
{
	if ((a == b) != want_equal)
		fail_at(at, "left %" PRId64 " (0x%" PRIx64 "), right %" PRId64 " (0x%" PRIx64 ")",
			(int64_t)a, a, (int64_t)b, b);
}

void test_check_ptr(const void *a, const void *b, bool want_equal, const struct test_location *at)
{
	if ((a == b) != want_equal)
		fail_at(at, "left %p, right %p", a, b);
}

void test_check_str(const char *a, const char *b, const struct test_location *at)
{
	if (!a || !b) {
		if (a != b)
			fail_at(at, "left %s, right %s", a ? a : "(null)", b ? b : "(null)");
	} else if (strcmp(a, b) != 0) {
		fail_at(at, "left \"%s\", right \"%s\"", a, b);
	}
}

void test_check_mem(const void *a, const void *b, size_t len, const struct test_location *at)
{
	const unsigned char *x = a, *y = b;

	for (size_t i = 0; i < len; i++) {
		if (x[i] != y[i])
			fail_at(at, "byte %zu of %zu: left 0x%02x, right 0x%02x", i, len, x[i],
				y[i]);
	}
}

void test_check_result(int got, int want, const struct test_location *at)
{
	if (got != want)
		fail_at(at, "returned %d, expected %d", got, want);
}

static void run_case(void **state)
{
	struct test_case *t = *state;

	t->run();
}

int main(int argc, char **argv)
{
	struct CMUnitTest *tests = calloc(n_tests + 1, sizeof(*tests));
	size_t n = 0;
	int n_failed;

	if (!tests)
		return 1;
	for (struct test_case *t = first; t; t = t->next) {
		tests[n].name = t->name;
		tests[n].test_func = run_case;
		tests[n].initial_state = t;
		n++;
	}
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	n_failed = _cmocka_run_group_tests(argv[0], tests, n, NULL, NULL);
	free(tests);
	return n_failed == 0 ? 0 : 1; /* a count of 256 must not read as success */
}
