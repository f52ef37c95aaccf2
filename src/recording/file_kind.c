/* recording/file_kind.c - see file_kind.h. */
#include "recording/file_kind.h"

#include <string.h>

#include "base/bytes.h"

static const struct {
	const char *magic;
	size_t len;
	const char *hint;
} known[] = {
	{"\x1f\x8b", 2, "it is gzip data: unpack it first (gunzip)"},
	{"\x28\xb5\x2f\xfd", 4,
	 "it is zstd data: unpack it first (zstd -d); if it is a heaptrack file, open it with "
	 "heaptrack"},
	{"\xfd"
	 "7zXZ",
	 5, "it is xz data: unpack it first (unxz)"},
	{"BZh", 3, "it is bzip2 data: unpack it first (bunzip2)"},
	{"\x04\x22\x4d\x18", 4, "it is an lz4 frame: unpack it first (lz4 -d)"},
	{"PK\x03\x04", 4, "it is a zip archive: unpack it first (unzip)"},
	{"\x7f"
	 "ELF",
	 4,
	 "it is a program or library: record it with 'memory-profiler-cli run -- PROGRAM' and name "
	 "the "
	 "recording"},
	{"v 1", 3, "it looks like heaptrack data: open it with heaptrack"},
	{"desc:", 5, "it looks like the output of valgrind's massif: use ms_print"},
	{"{", 1, "it looks like JSON text"},
	{"#!", 2, "it is a script"},
};

/* Chunks of bytehound's format: u8 kind, u32 length, and LZ4 data that starts with a literal run
 * of zeros (the tag of its header event). There is no magic number. */
static bool is_bytehound(const uint8_t *data, size_t len)
{
	uint32_t chunk_bytes;

	if (len < 16 || (data[0] != 1 && data[0] != 2))
		return false;
	chunk_bytes = load_le32(data + 1);
	return chunk_bytes > 32 && chunk_bytes < 64u << 20;
}

const char *file_kind_hint(const uint8_t *data, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if (len >= known[i].len && memcmp(data, known[i].magic, known[i].len) == 0)
			return known[i].hint;
	}
	if (is_bytehound(data, len))
		return "it looks like a recording of bytehound or of an older memory-profiler: "
		       "open it with "
		       "that program";
	return "its first bytes are not those of a recording; was the right file named?";
}
