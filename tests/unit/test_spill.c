/* The array that moves to a file. */
#include "harness/test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "util/spill.h"

#define KIB 1024u
#define MIB (1024u * KIB)

static const char *folder(void)
{
	const char *path = getenv("TMPDIR");

	return path && path[0] ? path : "/tmp";
}

static uint64_t rss_bytes(void)
{
	unsigned long size = 0, pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	CHECK_NOT_NULL(f);
	CHECK_EQ(fscanf(f, "%lu %lu", &size, &pages), 2);
	fclose(f);
	return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void fill(struct spill *s, size_t from, size_t to)
{
	uint8_t *p = spill_data(s);

	for (size_t i = from; i < to; i++)
		p[i] = (uint8_t)(i * 31 ^ i >> 8);
}

static size_t n_wrong(struct spill *s, size_t from, size_t to)
{
	const uint8_t *p = spill_data(s);
	size_t n = 0;

	for (size_t i = from; i < to; i++)
		n += p[i] != (uint8_t)(i * 31 ^ i >> 8);
	return n;
}

static size_t n_not_zero(struct spill *s, size_t from, size_t to)
{
	const uint8_t *p = spill_data(s);
	size_t n = 0;

	for (size_t i = from; i < to; i++)
		n += p[i] != 0;
	return n;
}

TEST(bytes_survive_growing_and_the_move_to_the_file)
{
	struct err err = {0};
	struct spill *s = NULL;
	size_t size = 0;

	CHECK_OK(spill_create(folder(), 64 * KIB, &s, &err));
	CHECK_NULL(spill_data(s));
	for (size_t next = 1000; next < 4 * MIB; next += next / 2 + 77) {
		CHECK_OK(spill_resize(s, next, &err));
		CHECK_EQ(spill_size(s), next);
		CHECK_EQ(spill_is_file(s), next > 64 * KIB);
		CHECK_EQ(n_wrong(s, 0, size), 0);
		CHECK_EQ(n_not_zero(s, size, next), 0);
		fill(s, size, next);
		size = next;
	}
	CHECK(spill_is_file(s));
	spill_destroy(s);
}

TEST(bytes_that_are_written_are_there_in_memory_and_in_a_file)
{
	static const size_t budget[] = {0, 10 * MIB};

	for (size_t i = 0; i < 2; i++) {
		struct err err = {0};
		struct spill *s = NULL;

		CHECK_OK(spill_create(folder(), budget[i], &s, &err));
		CHECK_OK(spill_resize(s, MIB, &err));
		CHECK_OK(spill_write(s, 4095, "abcd", 4, &err));
		CHECK_EQ(memcmp((char *)spill_data(s) + 4095, "abcd", 4), 0);
		memcpy((char *)spill_data(s) + 5000, "efgh", 4);
		CHECK_OK(spill_write(s, MIB - 2, "yz", 2, &err));
		CHECK_EQ(memcmp((char *)spill_data(s) + 4095, "abcd", 5), 0);
		CHECK_EQ(memcmp((char *)spill_data(s) + 5000, "efgh", 4), 0);
		CHECK_EQ(memcmp((char *)spill_data(s) + MIB - 2, "yz", 2), 0);
		spill_destroy(s);
	}
}

TEST(bytes_that_were_cut_off_come_back_as_zero)
{
	static const size_t budget[] = {0, 10 * MIB};

	for (size_t i = 0; i < 2; i++) {
		struct err err = {0};
		struct spill *s = NULL;

		CHECK_OK(spill_create(folder(), budget[i], &s, &err));
		CHECK_OK(spill_resize(s, 3 * MIB, &err));
		CHECK_EQ(spill_is_file(s), budget[i] == 0);
		fill(s, 0, 3 * MIB);
		CHECK_OK(spill_resize(s, 100001, &err));
		CHECK_OK(spill_resize(s, 3 * MIB, &err));
		CHECK_EQ(n_wrong(s, 0, 100001), 0);
		CHECK_EQ(n_not_zero(s, 100001, 3 * MIB), 0);
		CHECK_OK(spill_resize(s, 0, &err));
		CHECK_NULL(spill_data(s));
		CHECK_OK(spill_resize(s, 100, &err));
		CHECK_EQ(n_not_zero(s, 0, 100), 0);
		spill_destroy(s);
	}
}

TEST(trimming_gives_memory_back_and_keeps_the_bytes)
{
	struct err err = {0};
	struct spill *s = NULL;
	uint64_t before, filled, trimmed;

	CHECK_OK(spill_create(folder(), 0, &s, &err));
	CHECK_OK(spill_resize(s, 64 * MIB, &err));
	before = rss_bytes();
	fill(s, 0, 64 * MIB);
	filled = rss_bytes();
	CHECK(filled > before + 60 * MIB);
	spill_trim_part(s, 5, 32 * MIB);
	CHECK(rss_bytes() < filled - 30 * MIB);
	spill_trim(s);
	trimmed = rss_bytes();
	CHECK(trimmed < filled - 60 * MIB);
	CHECK_EQ(n_wrong(s, 0, 64 * MIB), 0);
	spill_destroy(s);
}

TEST(trimming_leaves_memory_alone)
{
	struct err err = {0};
	struct spill *s = NULL;

	CHECK_OK(spill_create(folder(), MIB, &s, &err));
	CHECK_OK(spill_resize(s, MIB, &err));
	fill(s, 0, MIB);
	spill_trim(s);
	spill_trim_part(s, 0, MIB);
	CHECK_EQ(n_wrong(s, 0, MIB), 0);
	spill_destroy(s);
}

TEST(a_limit_on_files_is_an_error_and_changes_nothing)
{
	struct rlimit old, limit;
	struct err err = {0};
	struct spill *s = NULL;

	signal(SIGXFSZ, SIG_IGN);
	CHECK_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
	limit = (struct rlimit){MIB, old.rlim_max};
	CHECK_OK(spill_create(folder(), 64 * KIB, &s, &err));
	CHECK_OK(spill_resize(s, 60 * KIB, &err));
	fill(s, 0, 60 * KIB);
	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
	CHECK_ERR(spill_resize(s, 2 * MIB, &err), ERR_IO);
	CHECK_NOT_NULL(strstr(err.text, folder()));
	CHECK_EQ(spill_size(s), 60 * KIB);
	CHECK(!spill_is_file(s));
	CHECK_EQ(n_wrong(s, 0, 60 * KIB), 0);
	CHECK_OK(spill_resize(s, 512 * KIB, &err));
	fill(s, 0, 512 * KIB);
	CHECK_ERR(spill_resize(s, 2 * MIB, &err), ERR_IO);
	CHECK_EQ(n_wrong(s, 0, 512 * KIB), 0);
	CHECK_OK(spill_resize(s, 600 * KIB, &err));
	CHECK_EQ(n_not_zero(s, 512 * KIB, 600 * KIB), 0);
	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &old), 0);
	spill_destroy(s);
}

TEST(a_missing_folder_is_named)
{
	struct err err = {0};
	struct spill *s = NULL;

	CHECK_OK(spill_create("/nonexistent/folder", 4096, &s, &err));
	CHECK_OK(spill_resize(s, 4096, &err));
	CHECK_ERR(spill_resize(s, 4097, &err), ERR_IO);
	CHECK_NOT_NULL(strstr(err.text, "/nonexistent/folder"));
	spill_destroy(s);
}
