/* Children that fail are counted for their parent, across fork. */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/test.h"
#include "record/unrecorded.h"

static char line[256];

/* The number of children reported after this call; the note is in line. */
static uint32_t report(uint32_t n_reported, bool is_last)
{
	struct text text = text_make(line, sizeof(line));

	return unrecorded_report(n_reported, is_last, &text);
}

static void fork_one_that_fails(uint32_t error)
{
	pid_t pid = fork();

	if (pid == 0) {
		struct unrecorded *of_parent = unrecorded_take();

		unrecorded_count(of_parent, error);
		_exit(!of_parent || unrecorded_take());
	}
	int status = 1;

	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

TEST(unrecorded_children_are_reported_as_they_double_and_at_the_end)
{
	CHECK(!unrecorded_take());
	unrecorded_share(NULL);
	CHECK(report(0, true) == 0 && !line[0]);
	fork_one_that_fails(0);
	CHECK(report(0, true) == 1);
	CHECK(!strcmp(line, "1 forked child is not recorded, nor what it forked"));
	fork_one_that_fails(EACCES);
	fork_one_that_fails(0);
	CHECK(report(2, false) == 2 && !line[0]);
	CHECK(report(1, false) == 3 && strstr(line, "3 forked children so far are not recorded"));
	CHECK(report(2, true) == 3 && strstr(line, "EACCES: permission denied (errno 13)"));
	CHECK(report(3, true) == 3 && !line[0]);
}

TEST(unrecorded_children_of_a_parent_are_not_those_of_its_recorded_child)
{
	struct unrecorded *of_parent;

	unrecorded_share(unrecorded_take());
	fork_one_that_fails(EACCES);
	of_parent = unrecorded_take();
	CHECK(of_parent && report(0, true) == 0);
	unrecorded_share(of_parent);
	CHECK(report(0, true) == 0);
	unrecorded_count(NULL, EACCES); /* nobody shares anything */
	unrecorded_count(unrecorded_take(), 0);
}
