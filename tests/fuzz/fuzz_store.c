/* fuzz/fuzz_store.c - stores in which single bytes were changed.
 *
 * Input: 1 byte (bit 0: make the checksums right again), then changes: 3 bytes offset, 1 byte how many
 * bytes (1 to 8), the bytes. They are done to a small sound store; the result is opened and all
 * that can be asked is asked.
 */
#include "harness/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness/store_synth.h"
#include "store/checksum64.h"
#include "store/store_i.h"

#define N_ROWS 4200u

static uint8_t *sound; /* a store */
static size_t sound_bytes;
static char path[64]; /* of a file in memory */
static int fd = -1;

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void begin(void)
{
	char real[] = "/tmp/fuzz_store.XXXXXX";
	FILE *f;
	long size;

	fd = mkstemp(real);
	check(fd >= 0);
	close(fd);
	check(synth_store_write(real, N_ROWS, NULL) == 0);
	f = fopen(real, "re");
	check(f && fseek(f, 0, SEEK_END) == 0);
	size = ftell(f);
	check(size > 0);
	rewind(f);
	sound_bytes = (size_t)size;
	sound = malloc(sound_bytes);
	check(sound && fread(sound, 1, sound_bytes, f) == sound_bytes);
	fclose(f);
	unlink(real);
	fd = memfd_create("store", MFD_CLOEXEC);
	check(fd >= 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
}

static void change(uint8_t *store, const uint8_t *data, size_t left)
{
	while (left >= 5) {
		size_t at = (data[0] | (size_t)data[1] << 8 | (size_t)data[2] << 16) % sound_bytes;
		size_t n = 1 + data[3] % 8;

		data += 4;
		left -= 4;
		for (size_t i = 0; i < n && left > 0; i++, data++, left--)
			store[(at + i) % sound_bytes] = *data;
	}
}

static void fix_checksums(uint8_t *store)
{
	struct store_header h;
	uint64_t n;

	memcpy(&h, store, sizeof(h));
	n = store_blocks_for(h.n_rows);
	if (h.directory_offset < sound_bytes &&
	    n < (sound_bytes - h.directory_offset) /
				    (STORE_N_COLUMNS * sizeof(struct store_entry)) +
			    1)
		h.directory_checksum =
			checksum64_of(store + h.directory_offset,
				      n * STORE_N_COLUMNS * sizeof(struct store_entry));
	h.checksum = checksum64_of(&h, offsetof(struct store_header, checksum));
	memcpy(store, &h, sizeof(h));
}

static void read_rows(const struct store *s)
{
	static uint64_t out[STORE_BLOCK_ROWS];
	uint64_t greatest[STORE_N_COLUMNS];
	size_t n_threads, n_chains;

	store_table(s, STORE_THREADS, &n_threads);
	store_table(s, STORE_CHAINS, &n_chains);
	memset(greatest, 0xff, sizeof(greatest));
	greatest[STORE_STACK] = greatest[STORE_FREE_STACK] = store_n_stacks(s) - 1;
	greatest[STORE_THREAD] = greatest[STORE_FREE_THREAD] = (uint64_t)n_threads - 1;
	greatest[STORE_CHAIN] = n_chains;
	for (uint64_t b = 0; b < store_n_blocks(s); b++) {
		for (unsigned c = 0; c < STORE_N_COLUMNS; c++) {
			uint64_t min = store_block_min(s, c, b), max = store_block_max(s, c, b);
			uint32_t n = store_block_rows(s, b), n_outside = 0;

			check(max <= greatest[c]);
			store_read_block(s, c, b, out);
			for (uint32_t i = 0; i < n; i++)
				n_outside += out[i] < min || out[i] > max;
			check(n_outside == 0);
		}
	}
}

static volatile uint64_t sum; /* of what was read, so that it is read */

static void read_tables(const struct store *s)
{
	size_t n;

	for (uint32_t i = 0; i < store_n_stacks(s); i++) {
		uint32_t node = store_stack(s, i)->node, n_frames = 0;

		for (; node; node = store_node(s, node)->parent) {
			const struct store_code *code = store_code(s, store_node(s, node)->code);

			n_frames += store_node(s, node)->kind == STORE_NODE_FRAME;
			if (code->module != STORE_NO_MODULE)
				sum += strlen(
					store_string(s, store_module(s, code->module)->path, NULL));
		}
		check(n_frames == store_node(s, store_stack(s, i)->node)->n_frames);
	}
	store_table(s, STORE_STRING_ENDS, &n);
	for (uint32_t i = 0; i < n; i++) {
		size_t len;

		check(store_string(s, i, &len)[len] == 0);
	}
	sum += (uint64_t)*store_string(s, store_facts(s)->cmdline, NULL);
	for (unsigned t = 0; t < STORE_N_TABLES; t++) {
		const uint8_t *item = store_table(s, t, &n);

		if (n > 0)
			sum += item[0] + item[n * store_item_bytes[t] - 1];
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	struct err err = {0};
	struct store *s = NULL;
	uint8_t *store;

	if (size_bytes == 0)
		return 0;
	if (fd < 0)
		begin();
	store = malloc(sound_bytes);
	check(store != NULL);
	memcpy(store, sound, sound_bytes);
	change(store, data + 1, size_bytes - 1);
	if (data[0] & 1)
		fix_checksums(store);
	check(pwrite(fd, store, sound_bytes, 0) == (ssize_t)sound_bytes);
	free(store);
	if (store_open(path, &s, &err) < 0) {
		check(err.text[0] != 0);
		return 0;
	}
	read_rows(s);
	read_tables(s);
	store_close(s);
	return 0;
}
