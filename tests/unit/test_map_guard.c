/* Files that are cut short while they are mapped. */
#include "harness/test.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/map_guard.h"

static const unsigned char *map_file(int fd, size_t len)
{
	void *map;

	CHECK_EQ(ftruncate(fd, (off_t)len), 0);
	CHECK_EQ(pwrite(fd, "first", 5, 0), 5);
	CHECK_EQ(pwrite(fd, "last", 4, (off_t)len - 4), 4);
	map = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, 0);
	CHECK(map != MAP_FAILED);
	return map;
}

/* The first test: the handler is installed once per process, and cmocka installs its own before each
 * test. */
TEST(an_unguarded_mapping_still_ends_the_process)
{
	size_t len = 4 * (size_t)sysconf(_SC_PAGESIZE);
	int status = 0, fd = memfd_create("unguarded", MFD_CLOEXEC);
	const unsigned char *map = map_file(fd, len);
	pid_t child;

	CHECK_EQ(ftruncate(fd, 0), 0);
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		struct map_guard g = map_guard_add(map, len);

		map_guard_remove(&g);
		_exit(map[len - 1] ? 1 : 2);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFSIGNALED(status));
	CHECK_EQ(WTERMSIG(status), SIGBUS);
	munmap((void *)(uintptr_t)map, len);
	close(fd);
}

TEST(a_mapping_that_is_cut_short_reads_as_zeros)
{
	size_t len = 10 * (size_t)sysconf(_SC_PAGESIZE);
	int fd = memfd_create("guarded", MFD_CLOEXEC);
	const unsigned char *map = map_file(fd, len);
	struct map_guard g = map_guard_add(map, len);

	CHECK_EQ(map[len - 1], 't');
	CHECK(!map_guard_is_cut(g));
	CHECK_EQ(ftruncate(fd, 100), 0);
	CHECK_EQ(map[len - 1], 0);
	CHECK_EQ(map[len / 2], 0);
	CHECK(map_guard_is_cut(g));
	CHECK_EQ(memcmp(map, "first", 5), 0); /* what is left of the file */
	map_guard_remove(&g);
	CHECK(!map_guard_is_cut(g));
	CHECK_EQ(munmap((void *)(uintptr_t)map, len), 0);
	close(fd);
}

TEST(more_mappings_than_slots_are_no_error)
{
	static const char byte;
	struct map_guard g[MAP_GUARD_MAX + 1];

	for (unsigned i = 0; i <= MAP_GUARD_MAX; i++)
		g[i] = map_guard_add(&byte, 1);
	CHECK_EQ(g[MAP_GUARD_MAX].slot, 0);
	CHECK(!map_guard_is_cut(g[MAP_GUARD_MAX]));
	for (unsigned i = 0; i <= MAP_GUARD_MAX; i++)
		map_guard_remove(&g[i]);
	g[0] = map_guard_add(&byte, 1);
	CHECK(g[0].slot);
	map_guard_remove(&g[0]);
}
