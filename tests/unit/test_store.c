/* Writing stores and reading them back, also damaged ones. */
#include "harness/test.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/store_synth.h"
#include "store/checksum64.h"
#include "store/store_i.h"

static char folder[256];
static char path[300];

/* A folder of its own for each test, so that a file that is left over is seen. */
static void make_folder(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(folder, sizeof(folder), "%s/test_store.XXXXXX", tmp && tmp[0] ? tmp : "/tmp");
	CHECK_NOT_NULL(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/app.dat.store", folder);
}

static unsigned n_files(void)
{
	DIR *d = opendir(folder);
	struct dirent *e;
	unsigned n = 0;

	CHECK_NOT_NULL(d);
	while ((e = readdir(d)) != NULL)
		n += e->d_name[0] != '.' || strlen(e->d_name) > 2;
	closedir(d);
	return n;
}

static void remove_folder(void)
{
	unlink(path);
	CHECK_EQ(rmdir(folder), 0); /* nothing else was left */
}

static size_t n_wrong_values(const struct store *s, unsigned c, uint64_t block)
{
	uint64_t out[STORE_BLOCK_ROWS], min = UINT64_MAX, max = 0;
	uint32_t n = store_block_rows(s, block);
	size_t n_wrong = 0;

	store_read_block(s, c, block, out);
	for (uint32_t i = 0; i < n; i++) {
		n_wrong += out[i] != synth_store_value(c, block * STORE_BLOCK_ROWS + i);
		min = out[i] < min ? out[i] : min;
		max = out[i] > max ? out[i] : max;
	}
	return n_wrong + (min != store_block_min(s, c, block)) +
	       (max != store_block_max(s, c, block));
}

static size_t n_wrong_rows(const struct store *s)
{
	size_t n_wrong = 0;

	for (unsigned c = 0; c < STORE_N_COLUMNS; c++) {
		for (uint64_t b = 0; b < store_n_blocks(s); b++)
			n_wrong += n_wrong_values(s, c, b);
	}
	return n_wrong;
}

TEST(rows_come_back_for_every_count)
{
	static const uint64_t counts[] = {0, 1, 100, 4095, 4096, 4097, 50000};

	make_folder();
	for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
		struct err err = {0};
		struct store *s = NULL;

		CHECK_OK(synth_store_write(path, counts[i], &err));
		CHECK_EQ(n_files(), 1);
		CHECK_OK(store_open(path, &s, &err));
		CHECK_EQ(store_n_rows(s), counts[i]);
		CHECK(store_has_rows(s));
		CHECK_EQ(store_n_blocks(s), (counts[i] + 4095) / 4096);
		CHECK_EQ(n_wrong_rows(s), 0);
		for (uint64_t row = 0; row < counts[i]; row += 1 + counts[i] / 50)
			CHECK_EQ(store_value(s, STORE_ADDR, row),
				 synth_store_value(STORE_ADDR, row));
		CHECK_EQ(store_value(s, STORE_ADDR, counts[i]), 0);
		store_close(s);
	}
	remove_folder();
}

TEST(tables_and_strings_come_back)
{
	struct err err = {0};
	struct store *s = NULL;
	size_t n = 0;

	make_folder();
	CHECK_OK(synth_store_write(path, 5000, &err));
	CHECK_OK(store_open(path, &s, &err));
	CHECK_MEM_EQ(store_identity(s), &synth_store_identity, sizeof(synth_store_identity));
	CHECK_EQ(store_facts(s)->n_rows, 5000);
	CHECK_MEM_EQ(store_table(s, STORE_NODES, &n), synth_store_nodes, sizeof(synth_store_nodes));
	CHECK_EQ(n, ARRAY_LEN(synth_store_nodes));
	store_table(s, STORE_REGIONS, &n); /* never given */
	CHECK_EQ(n, 0);
	CHECK_EQ(store_n_stacks(s), SYNTH_STORE_STACKS);
	CHECK_EQ(store_node(s, store_stack(s, 3)->node)->parent, 4);
	CHECK_EQ(store_code(s, 2)->addr, 0x2200);
	CHECK_STR_EQ(store_string(s, store_module(s, 1)->path, &n), "a longer string");
	CHECK_EQ(n, 15);
	CHECK_STR_EQ(store_string(s, 0, &n), "");
	CHECK_EQ(n, 0);
	CHECK_STR_EQ(store_string(s, store_thread(s, 1)->name, NULL), "two");
	CHECK_EQ(store_chain(s, 0)->length, 2);
	CHECK_STR_EQ(store_end_name(store_node(s, 5)->end), "no_info");
	CHECK_STR_EQ(store_end_name(200), "unknown");
	store_close(s);
	remove_folder();
}

TEST(blocks_may_come_in_any_order_and_again)
{
	enum {
		N_ROWS = 300 * 4096 - 5,
		N_BLOCKS = 300
	};
	static uint64_t other[STORE_BLOCK_ROWS];
	struct store_writer *w = NULL;
	struct err err = {0};
	struct store *s = NULL;

	make_folder();
	CHECK_OK(store_writer_create(path, &synth_store_identity, &w, &err));
	for (uint32_t i = 0; i < STORE_BLOCK_ROWS; i++)
		other[i] = hash_mix64(i) % 2;
	for (uint64_t b = N_BLOCKS; b-- > 0;) {
		for (unsigned c = 0; c < STORE_N_COLUMNS; c++) {
			/* first something else: wide, constant, or as it will be */
			if (b % 3 == 1 && b + 1 < N_BLOCKS)
				CHECK_OK(store_writer_put_block(w, c, b, other, 4096, &err));
			CHECK_OK(synth_store_put_block(w, c, b, N_ROWS, &err));
		}
	}
	for (uint64_t b = 0; b < N_BLOCKS; b += 7)
		CHECK_OK(synth_store_put_block(w, STORE_LIFETIME_NS, b, N_ROWS, &err));
	CHECK_OK(synth_store_put_tables(w, N_ROWS, &err));
	CHECK_OK(store_writer_commit(w, N_ROWS, &err));
	CHECK_ERR(store_writer_commit(w, N_ROWS, &err), ERR_REFUSED);
	store_writer_destroy(w);
	CHECK_OK(store_open(path, &s, &err));
	CHECK_EQ(n_wrong_rows(s), 0);
	store_close(s);
	remove_folder();
}

TEST(nothing_is_seen_before_the_commit_and_nothing_remains_without)
{
	struct store_writer *w = NULL;
	struct err err = {0};

	make_folder();
	CHECK_OK(store_writer_create(path, &synth_store_identity, &w, &err));
	CHECK_OK(synth_store_put_block(w, STORE_ADDR, 0, 4096, &err));
	CHECK(access(path, F_OK) != 0);
	store_writer_destroy(w);
	CHECK_EQ(n_files(), 0);
	remove_folder();
}

TEST(a_missing_block_is_an_error)
{
	struct store_writer *w = NULL;
	struct err err = {0};

	make_folder();
	CHECK_OK(store_writer_create(path, &synth_store_identity, &w, &err));
	for (unsigned c = 0; c < STORE_N_COLUMNS; c++) {
		if (c != STORE_THREAD)
			CHECK_OK(synth_store_put_block(w, c, 0, 10, &err));
	}
	CHECK_OK(synth_store_put_tables(w, 10, &err));
	CHECK_ERR(store_writer_commit(w, 10, &err), ERR_FORMAT);
	store_writer_destroy(w);
	CHECK_EQ(n_files(), 0);
	remove_folder();
}

TEST(a_full_disk_is_an_error_that_names_the_store)
{
	struct rlimit old, limit;
	struct err err = {0};

	make_folder();
	signal(SIGXFSZ, SIG_IGN);
	CHECK_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
	limit = (struct rlimit){1024 * 1024, old.rlim_max};
	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
	CHECK_ERR(synth_store_write(path, 1000000, &err), ERR_IO);
	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &old), 0);
	CHECK_NOT_NULL(strstr(err.text, path));
	CHECK_EQ(n_files(), 0);
	remove_folder();
}

/* ---- damage ---- */

static uint8_t *read_whole(size_t *len)
{
	FILE *f = fopen(path, "re");
	uint8_t *data;
	long size;

	CHECK_NOT_NULL(f);
	CHECK_EQ(fseek(f, 0, SEEK_END), 0);
	size = ftell(f);
	CHECK(size > 0);
	rewind(f);
	data = malloc((size_t)size);
	CHECK_NOT_NULL(data);
	CHECK_EQ(fread(data, 1, (size_t)size, f), (size_t)size);
	fclose(f);
	*len = (size_t)size;
	return data;
}

static void write_whole(const uint8_t *data, size_t len)
{
	FILE *f = fopen(path, "we");

	CHECK_NOT_NULL(f);
	CHECK_EQ(fwrite(data, 1, len, f), len);
	CHECK_EQ(fclose(f), 0);
}

/* Makes checksums right again, so that the checks after them are reached. */
static void fix_checksums(uint8_t *data, size_t len)
{
	struct store_header *h = (struct store_header *)(void *)data;
	uint64_t n = (h->n_rows + 4095) / 4096 * STORE_N_COLUMNS * sizeof(struct store_entry);

	if (h->directory_offset < len && n <= len - h->directory_offset)
		h->directory_checksum = checksum64_of(data + h->directory_offset, n);
	h->checksum = checksum64_of(h, offsetof(struct store_header, checksum));
}

/* Opens what may be damaged and reads all of it; all indices must be good. */
static int read_all(void)
{
	struct err err = {0};
	struct store *s = NULL;
	uint64_t out[STORE_BLOCK_ROWS], sum = 0;
	size_t n_bad = 0, n = 0, n_threads = 0, n_chains = 0;
	int r = store_open(path, &s, &err);

	if (r < 0) {
		CHECK(err.text[0] != 0);
		return r;
	}
	store_table(s, STORE_THREADS, &n_threads);
	store_table(s, STORE_CHAINS, &n_chains);
	for (uint64_t b = 0; b < store_n_blocks(s); b++) {
		for (unsigned c = 0; c < STORE_N_COLUMNS; c++) {
			store_read_block(s, c, b, out);
			for (uint32_t i = 0; i < store_block_rows(s, b); i++) {
				n_bad += out[i] < store_block_min(s, c, b) ||
					 out[i] > store_block_max(s, c, b);
				if (c == STORE_STACK || c == STORE_FREE_STACK)
					n_bad += out[i] >= store_n_stacks(s);
				if (c == STORE_THREAD || c == STORE_FREE_THREAD)
					n_bad += out[i] >= n_threads;
				if (c == STORE_CHAIN)
					n_bad += out[i] > n_chains;
			}
		}
	}
	for (uint32_t i = 0; i < store_n_stacks(s); i++) {
		uint32_t node = store_stack(s, i)->node;

		for (; node; node = store_node(s, node)->parent) {
			const struct store_code *code = store_code(s, store_node(s, node)->code);

			if (code->module != STORE_NO_MODULE)
				sum += (uint8_t)*store_string(
					s, store_module(s, code->module)->path, NULL);
		}
	}
	store_table(s, STORE_STRING_ENDS, &n);
	for (uint32_t i = 0; i < n; i++)
		sum += strlen(store_string(s, i, NULL));
	store_close(s);
	CHECK_EQ(n_bad, 0);
	CHECK_NE(sum, 0);
	return 0;
}

TEST(what_is_no_store_is_refused)
{
	uint8_t page[8192] = "MPSTORE";
	struct err err = {0};
	struct store *s = NULL;

	make_folder();
	CHECK_ERR(store_open(path, &s, &err), ERR_IO);
	CHECK_ERR(store_open(folder, &s, &err), ERR_FOREIGN);
	write_whole(page, 0);
	CHECK_ERR(store_open(path, &s, &err), ERR_FORMAT);
	write_whole(page, 100);
	CHECK_ERR(store_open(path, &s, &err), ERR_FORMAT);
	write_whole(page, sizeof(page));
	CHECK_ERR(store_open(path, &s, &err), ERR_VERSION); /* version 0 */
	page[8] = STORE_VERSION;
	write_whole(page, sizeof(page));
	CHECK_ERR(store_open(path, &s, &err), ERR_VERSION); /* all sizes 0 */
	memset(page, 0, sizeof(page));
	write_whole(page, sizeof(page));
	CHECK_ERR(store_open(path, &s, &err), ERR_FORMAT);
	CHECK_NOT_NULL(strstr(err.text, path));
	CHECK_NULL(s);
	remove_folder();
}

TEST(a_cut_store_is_refused)
{
	struct err err = {0};
	uint8_t *data;
	size_t len = 0;

	make_folder();
	CHECK_OK(synth_store_write(path, 5000, &err));
	data = read_whole(&len);
	for (size_t cut = 0; cut < len; cut += cut < 5000 ? 61 : 997) {
		write_whole(data, cut);
		CHECK(read_all() < 0);
	}
	write_whole(data, len);
	CHECK_OK(read_all());
	free(data);
	remove_folder();
}

/* What the kernel does when somebody cuts the file: the rest of the page reads as zeroes. The cut may be in
 * the middle of an entry of the directory. */
TEST(a_store_that_is_cut_while_it_is_open_gives_values)
{
	struct store *s = NULL;
	struct err err = {0};
	uint64_t out[STORE_BLOCK_ROWS], sum = 0;
	const struct store_header *h;
	uint8_t *data, *zeroes;
	size_t len = 0;
	int fd;

	make_folder();
	CHECK_OK(synth_store_write(path, 5000, &err));
	data = read_whole(&len);
	zeroes = calloc(1, len);
	h = (const struct store_header *)(const void *)data;
	fd = open(path, O_WRONLY);
	CHECK(fd >= 0);
	CHECK_OK(store_open(path, &s, &err));
	for (size_t cut = len; cut-- > h->directory_offset;) {
		CHECK_EQ(pwrite(fd, zeroes, len - cut, (off_t)cut), (ssize_t)(len - cut));
		if ((cut - h->directory_offset) % 4 != 0)
			continue;
		for (unsigned c = 0; c < STORE_N_COLUMNS; c++) {
			for (uint64_t block = 0; block < store_n_blocks(s); block++) {
				store_read_block(s, c, block, out);
				sum += out[0];
			}
		}
	}
	CHECK(sum > 0);
	store_close(s);
	close(fd);
	free(zeroes);
	free(data);
	remove_folder();
}

TEST(flipped_bytes_never_harm)
{
	unsigned n_opened = 0, n_refused = 0;
	struct err err = {0};
	uint8_t *good, *data;
	size_t len = 0;

	make_folder();
	CHECK_OK(synth_store_write(path, 5000, &err));
	good = read_whole(&len);
	data = malloc(len);
	CHECK_NOT_NULL(data);
	for (uint64_t i = 0; i < 1500; i++) {
		const struct store_header *h = (const struct store_header *)(const void *)good;
		uint64_t x = hash_mix64(i + 1);
		size_t from = i % 3 == 0 ? 0 : i % 3 == 1 ? h->directory_offset : 4096;
		size_t to = i % 3 == 0 ? sizeof(*h) : len;

		memcpy(data, good, len);
		for (unsigned k = 0; k < 1 + i % 3; k++)
			data[from + (x >> (8 * k)) % (to - from)] ^= (uint8_t)(1 + x % 255);
		if (i % 2)
			fix_checksums(data, len);
		write_whole(data, len);
		if (read_all() < 0)
			n_refused++;
		else
			n_opened++;
	}
	CHECK(n_opened > 50); /* or the test tests nothing */
	CHECK(n_refused > 50);
	free(good);
	free(data);
	remove_folder();
}

/* Changes one field of a table, with right checksums; it must be noticed. */
static void check_refused(enum store_table table, size_t item, size_t field, uint32_t value)
{
	size_t len = 0;
	uint8_t *data = read_whole(&len);
	const struct store_header *h = (const struct store_header *)(const void *)data;
	size_t at = h->table[table].offset + item * h->item_bytes[table] + field;
	uint32_t old;

	memcpy(&old, data + at, sizeof(old));
	CHECK_NE(old, value);
	memcpy(data + at, &value, sizeof(value));
	fix_checksums(data, len);
	write_whole(data, len);
	CHECK_ERR(read_all(), ERR_FORMAT);
	memcpy(data + at, &old, sizeof(old));
	fix_checksums(data, len);
	write_whole(data, len);
	CHECK_OK(read_all());
	free(data);
}

TEST(references_that_lead_nowhere_are_refused)
{
	struct err err = {0};

	make_folder();
	CHECK_OK(synth_store_write(path, 100, &err));
	check_refused(STORE_FACTS, 0, offsetof(struct store_facts, n_rows), 99);
	check_refused(STORE_FACTS, 0, offsetof(struct store_facts, recorder), 4);
	check_refused(STORE_STRING_ENDS, 1, 0, 3);
	check_refused(STORE_STRING_ENDS, 1, 0, 0);
	check_refused(STORE_STRING_ENDS, 3, 0, 1000);
	check_refused(STORE_MODULES, 0, offsetof(struct store_module, path), 4);
	check_refused(STORE_MODULES, 1, offsetof(struct store_module, build_id), 4);
	check_refused(STORE_THREADS, 2, offsetof(struct store_thread, name), 4);
	check_refused(STORE_CODES, 1, offsetof(struct store_code, module), 2);
	check_refused(STORE_NODES, 2, offsetof(struct store_node, parent), 2);
	check_refused(STORE_NODES, 2, offsetof(struct store_node, code), 4);
	check_refused(STORE_NODES, 2, offsetof(struct store_node, code), 0);
	check_refused(STORE_NODES, 2, offsetof(struct store_node, n_frames), 3);
	check_refused(STORE_NODES, 0, offsetof(struct store_node, n_frames), 1);
	check_refused(STORE_STACKS, 4, offsetof(struct store_stack, node), 6);
	check_refused(STORE_CALLS, 0, offsetof(struct store_call, stack), 5);
	check_refused(STORE_CALLS, 0, offsetof(struct store_call, thread), 3);
	check_refused(STORE_NOTES, 0, offsetof(struct store_note, text), 4);
	remove_folder();
}

TEST(columns_that_lead_out_of_tables_are_refused)
{
	static const struct {
		enum store_column c;
		uint64_t value;
	} cases[] = {{STORE_STACK, SYNTH_STORE_STACKS},
		     {STORE_FREE_STACK, SYNTH_STORE_STACKS},
		     {STORE_THREAD, SYNTH_STORE_THREADS},
		     {STORE_FREE_THREAD, SYNTH_STORE_THREADS},
		     {STORE_CHAIN, SYNTH_STORE_CHAINS + 1}};

	make_folder();
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct store_writer *w = NULL;
		struct store *s = NULL;
		struct err err = {0};

		CHECK_OK(store_writer_create(path, &synth_store_identity, &w, &err));
		for (unsigned c = 0; c < STORE_N_COLUMNS; c++)
			CHECK_OK(synth_store_put_block(w, c, 0, 1, &err));
		CHECK_OK(store_writer_put_block(w, cases[i].c, 0, &cases[i].value, 1, &err));
		CHECK_OK(synth_store_put_tables(w, 1, &err));
		CHECK_OK(store_writer_commit(w, 1, &err));
		store_writer_destroy(w);
		CHECK_ERR(store_open(path, &s, &err), ERR_FORMAT);
	}
	remove_folder();
}

TEST(a_limit_on_address_space_does_not_matter)
{
	struct rlimit old, limit;
	struct err err = {0};
	struct store *s = NULL;
	unsigned long pages = 0;
	struct stat st;
	FILE *f;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || CONFIG_CHECKS > 1
	return; /* sanitizers need more address space than they could be given */
#endif
	make_folder();
	CHECK_OK(synth_store_write(path, 3000000, &err));
	CHECK_EQ(stat(path, &st), 0);
	f = fopen("/proc/self/statm", "re");
	CHECK_NOT_NULL(f);
	CHECK_EQ(fscanf(f, "%lu", &pages), 1);
	fclose(f);
	CHECK_EQ(getrlimit(RLIMIT_AS, &old), 0);
	limit = (struct rlimit){pages * 4096ull + (uint64_t)st.st_size / 2, old.rlim_max};
	CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
	CHECK_OK(store_open(path, &s, &err));
	CHECK_EQ(n_wrong_rows(s), 0);
	store_close(s);
	CHECK_EQ(setrlimit(RLIMIT_AS, &old), 0);
	remove_folder();
}
