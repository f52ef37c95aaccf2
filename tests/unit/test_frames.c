/* Names of frames, and the file that keeps them. */
#include "harness/test.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/store_synth.h"
#include "store/frames.h"
#include "store/names_file.h"
#include "util/text_set.h"

static char path[300], cache[300];
static struct store *store;

static void begin(void)
{
	const char *tmp = getenv("TMPDIR");
	struct err err = {0};
	int fd;

	snprintf(path, sizeof(path), "%s/test_frames.XXXXXX", tmp && tmp[0] ? tmp : "/tmp");
	fd = mkstemp(path);
	CHECK(fd >= 0);
	close(fd);
	snprintf(cache, sizeof(cache), "%.200s.symbols", path);
	CHECK_OK(synth_store_write(path, 10, &err));
	CHECK_OK(store_open(path, &store, &err));
}

static void end(void)
{
	store_close(store);
	unlink(path);
	unlink(cache);
}

/* A resolver that knows: code 1 is an inlined function in an outer one, code 2 an ordinary function,
 * code 3 nothing. It counts what it is asked. */
struct teller {
	unsigned n_calls;
	unsigned n_asked[SYNTH_STORE_CODES];
	bool fails;
};

static int resolve_known(void *user, struct frames *f, const uint32_t *code, size_t n,
			 struct err *err)
{
	struct teller *t = user;

	t->n_calls++;
	if (t->fails)
		return err_set(err, ERR_CANCELLED, "stopped");
	for (size_t i = 0; i < n; i++) {
		char buf[32];
		const struct frame_names inner = {"inner<int>", "_Zinner", "/src/in.h", 7, 3, true};
		const struct frame_names outer = {buf, NULL, "/src/out.c", 70, 0, false};
		const struct frame_names both[] = {inner, outer};
		int r;

		snprintf(buf, sizeof(buf), "function_%u", code[i]);
		t->n_asked[code[i]]++;
		if (code[i] == 3)
			r = frames_put(f, code[i], NULL, 0, err);
		else if (code[i] == 1)
			r = frames_put(f, code[i], both, 2, err);
		else
			r = frames_put(f, code[i], &outer, 1, err);
		memset(buf, 'x', sizeof(buf) - 1); /* texts are copied, or they are wrong now */
		if (r < 0)
			return r;
	}
	return 0;
}

static void check_names(struct frames *f)
{
	const struct frame *frame;
	size_t n = 0;

	frame = frames_of_code(f, 1, &n);
	CHECK_EQ(n, 2);
	CHECK_STR_EQ(frame[0].function, "inner<int>");
	CHECK_STR_EQ(frame[0].raw_function, "_Zinner");
	CHECK_STR_EQ(frame[0].source, "/src/in.h");
	CHECK_EQ(frame[0].line, 7);
	CHECK_EQ(frame[0].column, 3);
	CHECK(frame[0].is_inline);
	CHECK_STR_EQ(frame[1].function, "function_1");
	CHECK_NULL(frame[1].raw_function);
	CHECK(!frame[1].is_inline);
	CHECK_EQ(frame[1].addr, 0x1100);
	CHECK_EQ(frame[1].module_offset, 0x100);
	CHECK_STR_EQ(frame[1].module, "one");
	CHECK_EQ(frame[1].code, 1);
	frame = frames_of_code(f, 3, &n);
	CHECK_EQ(n, 1);
	CHECK_NULL(frame[0].function);
	CHECK_NULL(frame[0].module);
	CHECK_EQ(frame[0].module_offset, 0x9900);
}

static bool append(void *user, const struct frame *frame)
{
	char *text = user;
	size_t len = strlen(text);

	snprintf(text + len, 200 - len, "%s ", frame->function ? frame->function : "?");
	return true;
}

static bool stop_at_once(void *user, const struct frame *frame)
{
	append(user, frame);
	return false;
}

TEST(a_stack_is_named_from_the_inside_out)
{
	struct teller t = {0};
	struct err err = {0};
	struct frames *f = NULL;
	char text[200] = "";

	begin();
	CHECK_OK(frames_open(store, NULL, &f, &err));
	frames_set_resolver(f, resolve_known, &t);
	CHECK_OK(frames_each(f, 2, append, text, &err)); /* nodes 3, 2, 1 */
	CHECK_STR_EQ(text, "? function_2 inner<int> function_1 ");
	text[0] = 0;
	CHECK_OK(frames_each(f, 3, append, text, &err)); /* node 5, then a mark */
	CHECK_STR_EQ(text, "function_2 ");
	text[0] = 0;
	CHECK_OK(frames_each(f, 0, append, text, &err));
	CHECK_STR_EQ(text, "");
	CHECK_OK(frames_each(f, 2, stop_at_once, text, &err));
	CHECK_STR_EQ(text, "? ");
	CHECK_ERR(frames_each(f, SYNTH_STORE_STACKS, append, text, &err), ERR_USAGE);
	CHECK_EQ(t.n_calls, 1);
	check_names(f);
	frames_close(f);
	end();
}

static bool count(void *user, const struct frame *frame)
{
	*(size_t *)user += frame->code == 2;
	return true;
}

TEST(a_deep_stack_is_named_in_full)
{
	enum {
		DEPTH = 5000
	};
	static struct store_node node[DEPTH + 1];
	const struct store_stack stacks[SYNTH_STORE_STACKS] = {{0}, {.node = DEPTH}};
	struct store_writer *w = NULL;
	struct err err = {0};
	struct frames *f = NULL;
	size_t n = 0;

	begin();
	store_close(store);
	for (uint32_t i = 1; i <= DEPTH; i++)
		node[i] = (struct store_node){
			.parent = i - 1, .code = 2, .n_frames = i, .kind = STORE_NODE_FRAME};
	CHECK_OK(store_writer_create(path, &synth_store_identity, &w, &err));
	CHECK_OK(synth_store_put_tables(w, 0, &err));
	CHECK_OK(store_writer_put_table(w, STORE_NODES, node, DEPTH + 1, &err));
	CHECK_OK(store_writer_put_table(w, STORE_STACKS, stacks, SYNTH_STORE_STACKS, &err));
	CHECK_OK(store_writer_commit(w, 0, &err));
	store_writer_destroy(w);
	CHECK_OK(store_open(path, &store, &err));
	CHECK_OK(frames_open(store, NULL, &f, &err));
	CHECK_OK(frames_each(f, 1, count, &n, &err));
	CHECK_EQ(n, DEPTH);
	frames_close(f);
	end();
}

TEST(each_code_is_asked_for_once)
{
	static const uint32_t twice[] = {2, 1, 2, 1, 77};
	struct teller t = {0};
	struct err err = {0};
	struct frames *f = NULL;

	begin();
	CHECK_OK(frames_open(store, NULL, &f, &err));
	frames_set_resolver(f, resolve_known, &t);
	CHECK_OK(frames_need(f, twice, 5, &err));
	CHECK_OK(frames_need(f, twice, 5, &err));
	CHECK_OK(frames_need_all(f, &err));
	CHECK_EQ(t.n_asked[0], 0);
	CHECK_EQ(t.n_asked[1], 1);
	CHECK_EQ(t.n_asked[2], 1);
	CHECK_EQ(t.n_asked[3], 1);
	CHECK_EQ(t.n_calls, 2);
	frames_close(f);
	end();
}

TEST(names_are_found_in_the_cache_next_time)
{
	struct teller t = {0}, later = {0};
	struct err err = {0};
	struct frames *f = NULL;
	uint32_t one = 1;

	begin();
	CHECK_OK(frames_open(store, cache, &f, &err));
	frames_set_resolver(f, resolve_known, &t);
	CHECK_OK(frames_need(f, &one, 1, &err));
	frames_close(f);
	CHECK_EQ(access(cache, F_OK), 0);
	/* the second run adds to the first */
	CHECK_OK(frames_open(store, cache, &f, &err));
	frames_set_resolver(f, resolve_known, &later);
	CHECK_OK(frames_need_all(f, &err));
	CHECK_EQ(later.n_asked[1], 0);
	CHECK_EQ(later.n_asked[2], 1);
	CHECK_EQ(later.n_asked[3], 1);
	frames_close(f);
	/* the third has all, also that nothing is known of code 3, and needs nobody */
	later = (struct teller){0};
	CHECK_OK(frames_open(store, cache, &f, &err));
	frames_set_resolver(f, resolve_known, &later);
	CHECK_OK(frames_need_all(f, &err));
	CHECK_EQ(later.n_calls, 0);
	check_names(f);
	frames_close(f);
	CHECK_OK(frames_open(store, cache, &f, &err));
	check_names(f);
	frames_close(f);
	/* unless frames_forget() was called */
	CHECK_OK(frames_open(store, cache, &f, &err));
	frames_set_resolver(f, resolve_known, &later);
	frames_forget(f);
	CHECK_OK(frames_need_all(f, &err));
	CHECK_EQ(later.n_asked[1], 1);
	frames_close(f);
	end();
}

TEST(without_a_resolver_there_are_addresses)
{
	struct teller t = {0};
	struct err err = {0};
	struct frames *f = NULL;
	const struct frame *frame;
	size_t n = 0;

	begin();
	CHECK_OK(frames_open(store, cache, &f, &err));
	CHECK_OK(frames_need_all(f, &err));
	frame = frames_of_code(f, 2, &n);
	CHECK_EQ(n, 1);
	CHECK_NULL(frame->function);
	CHECK_EQ(frame->module_offset, 0x200);
	CHECK_STR_EQ(frame->module, "a longer string");
	/* which does not keep a resolver from being asked */
	frames_set_resolver(f, resolve_known, &t);
	CHECK_OK(frames_need_all(f, &err));
	check_names(f);
	CHECK_NULL(frame->function); /* what was borrowed stays as it was */
	frames_close(f);
	end();
}

TEST(a_resolver_that_fails_can_be_asked_again)
{
	struct teller t = {.fails = true};
	struct err err = {0};
	struct frames *f = NULL;
	size_t n = 0;

	begin();
	CHECK_OK(frames_open(store, cache, &f, &err));
	frames_set_resolver(f, resolve_known, &t);
	CHECK_ERR(frames_need_all(f, &err), ERR_CANCELLED);
	CHECK_NULL(frames_of_code(f, 1, &n)->function);
	CHECK_EQ(n, 1);
	t.fails = false;
	CHECK_OK(frames_need_all(f, &err));
	check_names(f);
	frames_close(f);
	end();
}

/* ---- the file ---- */

static uint8_t *read_cache(size_t *len)
{
	uint8_t *data = malloc(1 << 16);
	FILE *file = fopen(cache, "re");

	CHECK_NOT_NULL(data);
	CHECK_NOT_NULL(file);
	*len = fread(data, 1, 1 << 16, file);
	fclose(file);
	return data;
}

static void write_cache(const uint8_t *data, size_t len)
{
	FILE *file = fopen(cache, "we");

	CHECK_NOT_NULL(file);
	CHECK_EQ(fwrite(data, 1, len, file), len);
	fclose(file);
}

TEST(a_damaged_cache_is_made_anew)
{
	struct teller t = {0};
	struct err err = {0};
	struct frames *f = NULL;
	uint8_t *data;
	size_t len = 0;

	begin();
	CHECK_OK(frames_open(store, cache, &f, &err));
	frames_set_resolver(f, resolve_known, &t);
	CHECK_OK(frames_need_all(f, &err));
	frames_close(f);
	data = read_cache(&len);
	for (size_t i = 0; i < len; i++) {
		struct names_file *file = NULL;

		data[i] ^= 0x41;
		write_cache(data, len);
		CHECK(names_file_open(cache, store, &file, &err) < 0);
		data[i] ^= 0x41;
		write_cache(data, i);
		CHECK(names_file_open(cache, store, &file, &err) < 0);
	}
	t = (struct teller){0};
	CHECK_OK(frames_open(store, cache, &f, &err));
	frames_set_resolver(f, resolve_known, &t);
	CHECK_OK(frames_need_all(f, &err));
	CHECK_EQ(t.n_asked[1], 1);
	frames_close(f);
	CHECK_OK(frames_open(store, cache, &f, &err));
	check_names(f);
	frames_close(f);
	free(data);
	end();
}

TEST(a_cache_of_another_store_is_not_used)
{
	struct store_identity other_identity = synth_store_identity;
	struct store_writer *w = NULL;
	struct names_file *file = NULL;
	struct teller t = {0};
	struct err err = {0};
	struct frames *f = NULL;

	begin();
	CHECK_OK(frames_open(store, cache, &f, &err));
	frames_set_resolver(f, resolve_known, &t);
	CHECK_OK(frames_need_all(f, &err));
	frames_close(f);
	store_close(store);
	other_identity.changed_ns++;
	CHECK_OK(store_writer_create(path, &other_identity, &w, &err));
	CHECK_OK(synth_store_put_tables(w, 0, &err));
	CHECK_OK(store_writer_commit(w, 0, &err));
	store_writer_destroy(w);
	CHECK_OK(store_open(path, &store, &err));
	CHECK_ERR(names_file_open(cache, store, &file, &err), ERR_FORMAT);
	end();
}

static void make_growing_store(uint64_t changed_ns, size_t n_codes, uint64_t step)
{
	struct store_identity identity = synth_store_identity;
	struct store_code code[8] = {{.module = STORE_NO_MODULE}};
	struct store_writer *w = NULL;
	struct err err = {0};

	for (size_t i = 1; i < n_codes; i++)
		code[i] = (struct store_code){.addr = step * i, .module = STORE_NO_MODULE};
	identity.changed_ns = changed_ns;
	CHECK_OK(store_writer_create(path, &identity, &w, &err));
	CHECK_OK(synth_store_put_tables(w, 0, &err));
	CHECK_OK(store_writer_put_table(w, STORE_CODES, code, n_codes, &err));
	CHECK_OK(store_writer_commit(w, 0, &err));
	store_writer_destroy(w);
	CHECK_OK(store_open(path, &store, &err));
}

TEST(names_of_a_store_that_grows_stay)
{
	struct names_file *file = NULL;
	struct teller t = {0};
	struct err err = {0};
	struct frames *f = NULL;
	size_t n = 0;

	begin();
	store_close(store);
	make_growing_store(STORE_GROWING_NS | 1, 4, 100);
	CHECK_OK(frames_open(store, cache, &f, &err));
	frames_set_resolver(f, resolve_known, &t);
	CHECK_OK(frames_need_all(f, &err));
	frames_save(f);
	store_close(store);
	make_growing_store(STORE_GROWING_NS | 2, 6, 100);
	CHECK_OK(names_file_open(cache, store, &file, &err));
	CHECK(names_file_find(file, 1, &n));
	CHECK(n > 0);
	CHECK(!names_file_find(file, 5, &n));
	names_file_close(file);
	store_close(store);
	make_growing_store(3, 6, 100); /* it has ended: what is to be found may be better */
	CHECK_ERR(names_file_open(cache, store, &file, &err), ERR_FORMAT);
	store_close(store);
	make_growing_store(STORE_GROWING_NS | 4, 6, 200); /* not the same one */
	CHECK_ERR(names_file_open(cache, store, &file, &err), ERR_FORMAT);
	frames_close(f);
	end();
}

TEST(a_cache_that_cannot_be_written_does_no_harm)
{
	struct teller t = {0};
	struct err err = {0};
	struct frames *f = NULL;

	begin();
	CHECK_OK(frames_open(store, "/nonexistent/folder/x.symbols", &f, &err));
	frames_set_resolver(f, resolve_known, &t);
	CHECK_OK(frames_need_all(f, &err));
	check_names(f);
	frames_close(f);
	end();
}

TEST(texts_are_kept_once)
{
	struct text_set *set = NULL;
	struct err err = {0};
	char buf[32];

	CHECK_OK(text_set_create(true, &set, &err));
	for (unsigned round = 0; round < 2; round++) {
		for (uint32_t i = 1; i < 5000; i++) {
			uint32_t number = 0;

			snprintf(buf, sizeof(buf), "text %u", i);
			CHECK_OK(text_set_add(set, buf, &number, &err));
			CHECK_EQ(number, i);
			CHECK_STR_EQ(text_set_get(set, i), buf);
		}
	}
	CHECK_EQ(text_set_count(set), 5000);
	CHECK_STR_EQ(text_set_get(set, 0), "");
	text_set_destroy(set);
}
