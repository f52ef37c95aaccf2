/* Is somebody writing a file? */
#include "harness/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recording/being_written.h"

static char path[64];
static int writer;

/* A file of a page that is open for writing, and older than a minute. */
static int begin(void)
{
	const struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	int fd;

	strcpy(path, "/tmp/test_being_written_XXXXXX");
	writer = mkstemp(path);
	CHECK(writer >= 0);
	CHECK(ftruncate(writer, 4096) == 0);
	CHECK(futimens(writer, old) == 0);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	return fd;
}

TEST(open_for_writing_counts)
{
	int fd = begin();

	CHECK(being_written(fd));
	close(writer);
	CHECK(!being_written(fd));
	CHECK(!being_written(fd)); /* nothing of the first question is left */
	close(fd);
	unlink(path);
}

TEST(mapped_for_writing_counts)
{
	int fd = begin();
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, writer, 0);

	CHECK(page != MAP_FAILED);
	close(writer); /* the recorder has no descriptor in the program either */
	CHECK(being_written(fd));
	munmap(page, 4096);
	CHECK(!being_written(fd));
	close(fd);
	unlink(path);
}

TEST(open_for_reading_does_not_count)
{
	int fd = begin(), other = open(path, O_RDONLY | O_CLOEXEC);

	close(writer);
	CHECK(!being_written(fd));
	close(other);
	close(fd);
	unlink(path);
}
