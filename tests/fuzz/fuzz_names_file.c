/* fuzz/fuzz_names_file.c - files of names of any kind.
 *
 * Input: the four counts of the header (2 bytes each: codes, names, texts, bytes of texts), then the
 * body. The rest of the header is made right, so that the checks of the body are reached.
 */
#include "harness/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bytes.h"
#include "harness/store_synth.h"
#include "store/checksum64.h"
#include "store/names_file.h"

#define HEAD_BYTES 8
#define HEADER_BYTES 104 /* of the file; see names_file.c */
#define COUNTS_AT 56
#define BODY_SUM_AT 88
#define SUM_AT 96

static struct store *store;
static char path[64]; /* of a file in memory */
static int fd = -1;
static uint8_t header[HEADER_BYTES]; /* of a sound file */

static void check(bool ok)
{
	if (!ok)
		abort();
}

static bool find_none(void *user, uint32_t code, size_t *n)
{
	(void)user;
	(void)code;
	*n = 0;
	return false;
}

static void begin(void)
{
	const struct names_source none = {.find = find_none};
	char real[] = "/tmp/fuzz_names.XXXXXX";
	FILE *f;

	fd = mkstemp(real);
	check(fd >= 0);
	close(fd);
	check(synth_store_write(real, 10, NULL) == 0);
	check(store_open(real, &store, NULL) == 0);
	check(names_file_write(real, store, &none, NULL) == 0);
	f = fopen(real, "re");
	check(f && fread(header, 1, sizeof(header), f) == sizeof(header));
	fclose(f);
	unlink(real);
	fd = memfd_create("names", MFD_CLOEXEC);
	check(fd >= 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
}

static void put_header(const uint8_t *counts, const uint8_t *body, size_t len)
{
	uint64_t sum;

	for (unsigned i = 0; i < 4; i++) {
		uint64_t n = load_le16(counts + 2 * (size_t)i);

		memcpy(header + COUNTS_AT + 8 * (size_t)i, &n, sizeof(n));
	}
	sum = checksum64_of(body, len);
	memcpy(header + BODY_SUM_AT, &sum, sizeof(sum));
	sum = checksum64_of(header, SUM_AT);
	memcpy(header + SUM_AT, &sum, sizeof(sum));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	struct names_file *f = NULL;
	size_t len = size_bytes - HEAD_BYTES;

	if (size_bytes < HEAD_BYTES)
		return 0;
	if (fd < 0)
		begin();
	put_header(data, data + HEAD_BYTES, len);
	check(ftruncate(fd, 0) == 0);
	check(pwrite(fd, header, sizeof(header), 0) == sizeof(header));
	check(pwrite(fd, data + HEAD_BYTES, len, sizeof(header)) == (ssize_t)len);
	if (names_file_open(path, store, &f, NULL) < 0)
		return 0;
	for (uint32_t code = 0; code < SYNTH_STORE_CODES + 2; code++) {
		size_t n;

		if (!names_file_find(f, code, &n))
			continue;
		check(code < SYNTH_STORE_CODES);
		for (size_t i = 0; i < n; i++) {
			struct frame_names names;

			names_file_get(f, code, i, &names); /* each text lies in the file */
			check(!names.function || strlen(names.function) <= size_bytes);
			check(!names.raw_function || strlen(names.raw_function) <= size_bytes);
			check(!names.source || strlen(names.source) <= size_bytes);
		}
	}
	names_file_close(f);
	return 0;
}
