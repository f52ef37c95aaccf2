/* The harness itself: a failing check must be seen, and a guard buffer must guard. */
#include "harness/test.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* True when touching the byte ends a child with a signal (or with a sanitizer's report). */
static bool read_kills(const unsigned char *byte)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		struct rlimit no_core = {0, 0};
		volatile unsigned char sink;

		setrlimit(RLIMIT_CORE, &no_core);
		signal(SIGSEGV, SIG_DFL); /* not the handler of a sanitizer: no report wanted */
		signal(SIGBUS, SIG_DFL);
		sink = *(const volatile unsigned char *)byte;
		(void)sink;
		_exit(0);
	}
	CHECK(pid > 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	return !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(guard_buf_holds_a_copy_of_the_bytes)
{
	unsigned char *buf = guard_buf_create("hello", 5);

	CHECK_MEM_EQ(buf, "hello", 5);
	guard_buf_destroy(buf, 5);
}

TEST(guard_buf_faults_one_byte_past_the_end)
{
	unsigned char *buf = guard_buf_create("hello", 5);

	CHECK(!read_kills(buf + 4));
	CHECK(read_kills(buf + 5));
	guard_buf_destroy(buf, 5);
}

TEST(guard_buf_of_no_bytes_can_be_passed_but_not_read)
{
	unsigned char *buf = guard_buf_create(NULL, 0);

	CHECK_NOT_NULL(buf);
	CHECK(read_kills(buf));
	guard_buf_destroy(buf, 0);
}

TEST(guard_buf_without_bytes_is_zero)
{
	unsigned char *buf = guard_buf_create(NULL, 9000);

	for (size_t i = 0; i < 9000; i++)
		CHECK_EQ(buf[i], 0);
	guard_buf_destroy(buf, 9000);
}

TEST(checks_pass_on_what_is_true)
{
	char text[] = "same";

	CHECK(1);
	CHECK_EQ(-1, (int64_t)-1);
	CHECK_NE(1u, 2u);
	CHECK_STR_EQ(text, "same");
	CHECK_NULL(NULL);
	CHECK_OK(0);
	CHECK_ERR(-3, 3);
}
