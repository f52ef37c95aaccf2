/* When the writer reads what is resident, and what it keeps of the text. */
#include <string.h>

#include "base/units.h"
#include "harness/test.h"
#include "record/resident_maps.h"

#define SMAPS                                                                                      \
	"1000-2000 rw-p 00000000 00:00 0                          [heap]\n"                        \
	"Size:                  4 kB\nRss:                   4 kB\nVmFlags: rd wr mr\n"            \
	"7f00-8f00 r-xp 00000000 08:01 77 /lib/Size: 4\nSize: 4 kB\nRss: 0 kB\n"

TEST(mappings_and_their_resident_bytes_are_kept)
{
	static const char expected[] =
		"1000-2000 rw-p 00000000 00:00 0                          [heap]\n"
		"Rss:                   4 kB\n7f00-8f00 r-xp 00000000 08:01 77 /lib/Size: 4\n"
		"Rss: 0 kB\n";
	char out[512];
	size_t len = 0;

	CHECK_EQ(resident_maps_copy(SMAPS, strlen(SMAPS), out, sizeof(out), &len), strlen(SMAPS));
	CHECK(len == strlen(expected) && memcmp(out, expected, len) == 0);
	/* in pieces of any length */
	for (size_t piece = 1; piece < strlen(SMAPS); piece++) {
		char in[512];
		size_t held = 0;

		len = 0;
		for (size_t at = 0; at < strlen(SMAPS); at += piece) {
			size_t n = strlen(SMAPS) - at < piece ? strlen(SMAPS) - at : piece, used;

			memcpy(in + held, &SMAPS[at], n);
			held += n;
			used = resident_maps_copy(in, held, out, sizeof(out), &len);
			held -= used;
			memmove(in, in + used, held);
		}
		CHECK(len == strlen(expected) && memcmp(out, expected, len) == 0);
	}
}

TEST(text_that_does_not_fit_is_cut_between_lines)
{
	char out[70];
	size_t len = 0;

	CHECK_EQ(resident_maps_copy(SMAPS, strlen(SMAPS), out, sizeof(out), &len), strlen(SMAPS));
	CHECK(len <= sizeof(out) && out[len - 1] == '\n');
}

TEST(a_reading_is_due_when_more_is_resident_or_after_a_while)
{
	struct resident_maps m = {0};

	options_active.GATHER_MAPS = true;
	CHECK(!resident_maps_is_due(&m, 0, NS_PER_S)); /* not known */
	CHECK(resident_maps_is_due(&m, 4 * MIB, NS_PER_S));
	m = (struct resident_maps){.last_bytes = 100 * MIB,
				   .most_bytes = 200 * MIB,
				   .last_ns = 100 * NS_PER_S,
				   .took_ns = 4 * NS_PER_MS};
	CHECK(!resident_maps_is_due(&m, 300 * MIB, 100 * NS_PER_S + NS_PER_S / 2)); /* too soon */
	CHECK(resident_maps_is_due(&m, 300 * MIB, 101 * NS_PER_S));
	CHECK(!resident_maps_is_due(&m, 210 * MIB, 101 * NS_PER_S)); /* hardly more than before */
	CHECK(!resident_maps_is_due(&m, 50 * MIB, 101 * NS_PER_S));
	CHECK(resident_maps_is_due(&m, 50 * MIB, 110 * NS_PER_S));
	CHECK(!resident_maps_is_due(&m, 101 * MIB, 110 * NS_PER_S));
	/* 100 MiB took 4 ms: no more than 2500 MiB while the program runs */
	CHECK(resident_maps_is_due(&m, 2400 * MIB, 200 * NS_PER_S));
	CHECK(!resident_maps_is_due(&m, 2600 * MIB, 200 * NS_PER_S));
	/* cheap readings find the peak more closely */
	m.took_ns = NS_PER_MS;
	CHECK(resident_maps_is_due(&m, 210 * MIB, 101 * NS_PER_S));
	CHECK(!resident_maps_is_due(&m, 202 * MIB, 101 * NS_PER_S));
	options_active.GATHER_MAPS = false;
	CHECK(!resident_maps_is_due(&m, 300 * MIB, 200 * NS_PER_S));
	options_active.GATHER_MAPS = true;
}
