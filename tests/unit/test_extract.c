/* Names of embedded files are made harmless and distinct; only whole files are written. */
#include "harness/test.h"

#include <string.h>

#include "recording_synth.h"
#include "rewrite/extract.h"

static const char *safe(const char *path)
{
	static char buf[EXTRACT_PATH_BYTES];

	extract_safe_path(path, strlen(path), "file_1", buf);
	return buf;
}

TEST(paths_become_relative)
{
	CHECK_STR_EQ(safe("/usr/lib/libc.so.6"), "usr/lib/libc.so.6");
	CHECK_STR_EQ(safe("usr//lib/./x"), "usr/lib/x");
	CHECK_STR_EQ(safe("linux-vdso.so.1"), "linux-vdso.so.1");
}

TEST(nothing_leads_out)
{
	CHECK_STR_EQ(safe("../../etc/passwd"), "_/_/etc/passwd");
	CHECK_STR_EQ(safe("/a/.."), "a/_");
	CHECK_STR_EQ(safe("/a/..b/...c"), "a/..b/...c");
	CHECK_STR_EQ(safe(""), "file_1");
	CHECK_STR_EQ(safe("///./"), "file_1");
}

TEST(control_characters_are_replaced)
{
	CHECK_STR_EQ(safe("/a\nb\033[2J/\x7f"), "a_b_[2J/_");
	CHECK_STR_EQ(safe("/\xff\xc3\xa4\xc2\x9b"), "_\xc3\xa4_");
}

TEST(long_names_are_cut)
{
	char path[3 * EXTRACT_PATH_BYTES];
	const char *result;

	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = 0;
	CHECK(strlen(safe(path)) < 256);
	for (size_t i = 0; i < sizeof(path) - 1; i += 3)
		path[i] = '/';
	result = safe(path);
	CHECK(strlen(result) < EXTRACT_PATH_BYTES / 2);
	CHECK(result[0] == 'x');
}

static struct synth s;

static void put_file(uint32_t id, const char *path, const char *content, bool is_whole)
{
	uint8_t buf[512], data[256] = {0};
	struct field_writer w = field_writer_make(buf, sizeof(buf));
	size_t len = strlen(content);

	field_put_u64(&w, FILE_ID, id);
	field_put_text(&w, FILE_PATH, path);
	field_put_u64(&w, FILE_SIZE, len);
	field_put_u64(&w, FILE_KIND, 1);
	synth_chunk(&s, CHUNK_FILE, 0, buf, w.len, w.len);
	store_le32(data, id);
	memcpy(data + 16, content, len);
	synth_chunk(&s, CHUNK_FILE_DATA, 0, data, 16 + len, len);
	store_le64(data + 8, len);
	if (is_whole)
		synth_chunk(&s, CHUNK_FILE_DATA, 0, data, 16, 0);
}

static unsigned n_outcomes[3];

static void on_file(void *user, const struct extract_file *f)
{
	(void)user;
	n_outcomes[f->outcome]++;
}

static void check_content(const char *folder, const char *name, const char *want)
{
	char path[256], text[64] = "";
	FILE *in;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	in = fopen(path, "r");
	CHECK_NOT_NULL(in);
	text[fread(text, 1, sizeof(text) - 1, in)] = 0;
	fclose(in);
	CHECK_STR_EQ(text, want);
	CHECK_EQ(unlink(path), 0);
}

TEST(equal_names_get_distinct_files)
{
	char folder[] = "/tmp/test_extract.XXXXXX", path[256];
	const struct extract_options options = {.folder = folder, .on_file = on_file};
	struct recording *r = NULL;
	struct err err = {0};

	CHECK_NOT_NULL(mkdtemp(folder));
	synth_begin(&s, 0);
	put_file(1, "/lib/x.so", "first", true);
	put_file(2, "/lib/x.so", "second", true);
	put_file(3, "lib/./x.so", "third", true);
	put_file(4, "/lib/x.so/y", "in a folder that is a file", true);
	put_file(5, "/lib", "a file that is a folder", true);
	put_file(6, "/lib/cut", "half", false);
	synth_end(&s, END_BY_EXIT);
	CHECK_OK(recording_open(synth_save(&s), &r, &err));
	CHECK_OK(extract_run(r, &options, &err));
	CHECK_EQ(n_outcomes[EXTRACT_WRITTEN], 5);
	CHECK_EQ(n_outcomes[EXTRACT_INCOMPLETE], 1);
	CHECK_OK(extract_run(r, &options, &err)); /* again: nothing is touched */
	CHECK_EQ(n_outcomes[EXTRACT_WRITTEN], 5);
	CHECK_EQ(n_outcomes[EXTRACT_EXISTS], 5);
	recording_close(r);
	synth_fini(&s);
	check_content(folder, "lib/x.so", "first");
	check_content(folder, "lib/x.so.1", "second");
	check_content(folder, "lib/x.so.2", "third");
	check_content(folder, "lib_x.so_y.1", "in a folder that is a file");
	check_content(folder, "lib.1", "a file that is a folder");
	snprintf(path, sizeof(path), "%s/lib", folder);
	CHECK_EQ(rmdir(path), 0);
	CHECK_EQ(rmdir(folder), 0);
}
