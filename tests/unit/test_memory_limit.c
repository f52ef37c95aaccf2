/* Limits of control groups, in folders as the kernel shows them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/test.h"
#include "record/memory_limit.h"

static char root[64];

static void put(const char *folder, const char *file, const char *content)
{
	char path[512];
	FILE *out;

	snprintf(path, sizeof(path), "mkdir -p %s%s", root, folder);
	CHECK_EQ(system(path), 0);
	snprintf(path, sizeof(path), "%s%s/%s", root, folder, file);
	out = fopen(path, "w");
	CHECK_NOT_NULL(out);
	fputs(content, out);
	fclose(out);
}

static void begin(void)
{
	strcpy(root, "/tmp/mp-limit-XXXXXX");
	CHECK_NOT_NULL(mkdtemp(root));
}

static void end(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", root);
	CHECK_EQ(system(command), 0);
}

TEST(least_of_the_groups_above_counts)
{
	begin();
	put("/a/b", "memory.max", "max\n");
	put("/a", "memory.max", "4096000\n");
	CHECK_EQ(memory_limit_read("0::/a/b\n", root), 4096000);
	CHECK_EQ(memory_limit_read("0::/a", root), 4096000);
	CHECK_EQ(memory_limit_read("0::/b\n", root), 0);
	put("/a/b", "memory.max", "8192\n");
	CHECK_EQ(memory_limit_read("1:name=systemd:/x\n0::/a/b\n", root), 8192);
	end();
}

/* A container whose group the host calls something else. */
TEST(group_that_is_not_there_has_the_limit_at_the_top)
{
	begin();
	put("", "memory.max", "12345\n");
	CHECK_EQ(memory_limit_read("0::/docker/0123abcd\n", root), 12345);
	CHECK_EQ(memory_limit_read("0::/\n", root), 12345);
	end();
}

TEST(version_1_has_a_hierarchy_for_memory)
{
	const char *groups = "5:cpu,cpuacct:/c\n4:pids,memory:/m/n\n0::/u\n";

	begin();
	put("/u", "memory.max", "1\n");
	put("/memory/m/n", "memory.limit_in_bytes", "9223372036854771712\n");
	CHECK_EQ(memory_limit_read(groups, root), 0);
	put("/memory/m", "memory.limit_in_bytes", "314572800\n");
	CHECK_EQ(memory_limit_read(groups, root), 314572800);
	end();
}

TEST(nonsense_is_no_limit)
{
	begin();
	put("/a", "memory.max", "lots\n");
	CHECK_EQ(memory_limit_read("0::/a\n", root), 0);
	CHECK_EQ(memory_limit_read("", root), 0);
	CHECK_EQ(memory_limit_read("\n:\n::\n0::a\n4:memory\n", root), 0);
	end();
}
