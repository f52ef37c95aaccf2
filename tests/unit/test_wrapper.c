/* Commands that start the program that is meant. */
#include "harness/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/wrapper.h"

TEST(the_name_of_the_file_decides)
{
	CHECK(wrapper_is_one("/usr/bin/env"));
	CHECK(wrapper_is_one("bash"));
	CHECK(!wrapper_is_one("/usr/bin/python3"));
	CHECK(!wrapper_is_one("/env/app"));
	CHECK(wrapper_clears_environment("/usr/bin/sudo"));
	CHECK(!wrapper_clears_environment("su"));
}

static size_t find(const char *command)
{
	char text[128], *argv[16], *at;
	size_t n = 0;

	snprintf(text, sizeof(text), "%s", command);
	for (char *word = strtok_r(text, " ", &at); word; word = strtok_r(NULL, " ", &at))
		argv[n++] = word;
	argv[n] = NULL;
	return wrapper_find_program(argv);
}

TEST(the_program_of_sudo_is_behind_its_options)
{
	CHECK_EQ(find("sudo app -u x"), 1u);
	CHECK_EQ(find("sudo -u me app"), 3u);
	CHECK_EQ(find("sudo -ume app"), 2u);
	CHECK_EQ(find("sudo -nu me A=b app"), 4u);
	CHECK_EQ(find("sudo -En --user=me -- app"), 4u);
	CHECK_EQ(find("doas -n -u me app"), 4u);
	CHECK_EQ(find("sudo -l"), 0u);
	CHECK_EQ(find("sudo -u"), 0u);
	CHECK_EQ(find("sudo"), 0u);
}

TEST(variables_of_the_recorder_go_in_front_of_the_program)
{
	char sudo[] = "sudo", n[] = "-n", app[] = "app", x[] = "x";
	char *argv[] = {sudo, n, app, x, NULL};
	char **out = NULL;
	struct err err = {0};
	size_t at = 3, n_set = 0;

	setenv("MEMORY_PROFILER_OUTPUT", "a b.dat", 1);
	setenv("OTHER", "1", 1);
	CHECK_OK(wrapper_add_environment(argv, 2, &out, &err));
	CHECK_STR_EQ(out[0], "sudo");
	CHECK_STR_EQ(out[1], "-n");
	CHECK_STR_EQ(out[2], "env");
	for (; strchr(out[at], '='); at++) {
		CHECK(strncmp(out[at], "OTHER=", 6) != 0);
		n_set += strcmp(out[at], "MEMORY_PROFILER_OUTPUT=a b.dat") == 0;
	}
	CHECK_EQ(n_set, 1u);
	CHECK_STR_EQ(out[at], "app");
	CHECK_STR_EQ(out[at + 1], "x");
	CHECK(!out[at + 2]);
	free(out);
}
