/* How much of each mapping was resident, over several readings. */
#include <string.h>

#include "base/units.h"
#include "harness/test.h"
#include "recording/map_residency.h"

static struct map_residency known;

static int add(const char *text)
{
	struct err err = {0};

	return map_residency_add(&known, text, strlen(text), &err);
}

/* What is known of the mapping that a line describes, in KiB. */
static void check(const char *line, uint64_t rss_kib, uint64_t peak_kib)
{
	const char *at = line;
	struct proc_map map;
	uint64_t rss, peak;

	CHECK(proc_maps_next(&at, line + strlen(line), &map));
	map_residency_find(&known, &map, &rss, &peak);
	CHECK_EQ(rss, rss_kib * KIB);
	CHECK_EQ(peak, peak_kib * KIB);
}

static bool is_known(const char *line)
{
	const char *at = line;
	struct proc_map map;
	uint64_t rss, peak;

	CHECK(proc_maps_next(&at, line + strlen(line), &map));
	map_residency_find(&known, &map, &rss, &peak);
	return rss != MAP_RESIDENCY_UNKNOWN && peak != MAP_RESIDENCY_UNKNOWN;
}

TEST(a_reading_without_resident_bytes_changes_nothing)
{
	CHECK_EQ(add("1000-3000 rw-p 0 00:00 0 [heap]\nRss:        8 kB\n"), 1);
	CHECK_EQ(add("1000-3000 rw-p 0 00:00 0 [heap]\n5000-6000 r--p 0 00:00 0\n"), 0);
	CHECK_EQ(add(""), 0);
	check("1000-3000 rw-p 0 00:00 0 [heap]", 8, 8);
	CHECK(!is_known("5000-6000 r--p 0 00:00 0"));
	map_residency_fini(&known);
}

TEST(the_peak_follows_a_mapping_that_grows_and_shrinks)
{
	CHECK_EQ(add("10000-20000 rw-p 0 00:00 0 [heap]\nRss: 40 kB\n"
		     "20000-30000 r-xp 0 00:00 0 /lib/a.so\nRss: 60 kB\n"),
		 1);
	CHECK_EQ(add("10000-18000 rw-p 0 00:00 0 [heap]\nRss: 12 kB\n"
		     "20000-30000 r-xp 0 00:00 0 /lib/a.so\nRss: 64 kB\n"),
		 1);
	check("10000-18000 rw-p 0 00:00 0 [heap]", 12, 32); /* no more than fits */
	check("20000-30000 r-xp 0 00:00 0 /lib/a.so", 64, 64);
	CHECK(!is_known("20000-30000 r-xp 0 00:00 0 /lib/b.so"));
	CHECK(!is_known("20000-30000 r--p 0 00:00 0 /lib/a.so"));
	CHECK(!is_known("30000-40000 r-xp 0 00:00 0 /lib/a.so"));
	check("10000-40000 rw-p 0 00:00 0 [heap]", 12, 32); /* grown since the last reading */
	map_residency_fini(&known);
}

TEST(any_text_is_safe)
{
	CHECK_EQ(add("Rss: 4 kB\n1000-2000 rw-p 0 00:00 0\nRss:\nRss: x kB\nRss: "
		     "99999999999999999999 kB\n"),
		 0);
	CHECK_EQ(add("1000-2000 rw-p 0 00:00 0 \nSize: 4 kB\nRss: 4 kB"), 1);
	check("1000-2000 rw-p 0 00:00 0", 4, 4);
	/* ranges that overlap: the first counts */
	CHECK_EQ(
		add("1000-9000 rw-p 0 00:00 0 \nRss: 8 kB\n2000-3000 rw-p 0 00:00 0 \nRss: 4 kB\n"),
		1);
	CHECK_EQ(known.n, 1u);
	map_residency_fini(&known);
}
