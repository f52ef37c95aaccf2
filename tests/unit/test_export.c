/* Every format on made-up recordings: outputs that refuse, cancelling, options, figures. What the
 * formats' own tools make of them is in tests/e2e/test_export.py. */
#include "harness/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "export/export.h"
#include "export/gzip_out.h"
#include "export/proto.h"
#include "export/slots.h"
#include "export/tree_order.h"
#include "gui/gui_files.h"
#include "query_synth.h"

static struct world world;
static struct store *store;
static struct frames *frames;
static struct filter filter;
static struct query_context context;
static struct export_options options;
static struct query *q;

/* What the server answers for html, made small: the number of matching rows. */
static int answer(void *user, const char *question, FILE *out, struct err *err)
{
	struct query_group total = {0};
	struct query *own = NULL;
	int r = query_create(&context, &filter, &own, err);

	(void)user;
	if (r == 0)
		r = query_total(own, &total, err);
	if (r == 0)
		fprintf(out, "{\"question\":\"%s\",\"rows\":%llu}", question,
			(unsigned long long)total.n_allocs);
	query_destroy(own);
	return r;
}

/* The formats of this build: html is last but one and needs the GUI. */
static bool can_write(const struct export_format *f)
{
	return strcmp(f->name, "html") != 0 || gui_file_find("index.html");
}

static void open_world(size_t n_rows)
{
	struct err err = {0};

	world_make(&world, 4711, n_rows);
	CHECK_OK(world_open(&world, &store, &frames, &err));
	context = (struct query_context){.store = store, .frames = frames, .n_threads = 1};
	filter_init(&filter);
	CHECK_OK(query_create(&context, &filter, &q, &err));
	options = (struct export_options){.context = &context, .filter = &filter, .answer = answer};
}

static void close_world(void)
{
	query_destroy(q);
	filter_fini(&filter);
	frames_close(frames);
	store_close(store);
	world_free(&world);
}

static char *write_to_memory(const struct export_format *f, size_t *len)
{
	struct err err = {0};
	char *text = NULL;
	FILE *out = open_memstream(&text, len);

	CHECK_NOT_NULL(out);
	CHECK_OK(export_write(f, q, &options, out, &err));
	fclose(out);
	return text;
}

TEST(every_format_writes_something_and_twice_the_same)
{
	size_t n;
	const struct export_format *f = export_formats(&n);

	open_world(5000);
	CHECK_EQ(n, 15);
	for (size_t i = 0; i < n; i++) {
		size_t len[2];
		char *text[2];

		if (!can_write(&f[i]))
			continue;
		text[0] = write_to_memory(&f[i], &len[0]);
		text[1] = write_to_memory(&f[i], &len[1]);
		CHECK(len[0] > 100);
		CHECK_EQ(len[0], len[1]);
		CHECK_MEM_EQ(text[0], text[1], len[0]);
		CHECK_PTR_EQ(export_find(f[i].name), &f[i]);
		free(text[0]);
		free(text[1]);
	}
	close_world();
}

TEST(no_rows_are_no_error)
{
	size_t n, len;
	const struct export_format *f = export_formats(&n);
	struct err err = {0};

	open_world(2000);
	query_destroy(q);
	CHECK_EQ(filter_set(&filter, "size_min", "1000000000000", &err), 1);
	CHECK_OK(query_create(&context, &filter, &q, &err));
	for (size_t i = 0; i < n; i++) {
		if (can_write(&f[i]))
			free(write_to_memory(&f[i], &len));
	}
	close_world();
}

TEST(an_output_that_refuses_is_an_error_of_each_format)
{
	size_t n;
	const struct export_format *f = export_formats(&n);

	open_world(5000);
	for (size_t i = 0; i < n; i++) {
		struct err err = {0};
		FILE *out = fopen("/dev/full", "we");

		CHECK_NOT_NULL(out);
		CHECK_ERR(export_write(&f[i], q, &options, out, &err),
			  can_write(&f[i]) ? ERR_IO : ERR_REFUSED);
		CHECK(strstr(err.text, can_write(&f[i]) ? "cannot write the output" : "no GUI"));
		fclose(out);
	}
	close_world();
}

TEST(a_client_that_hung_up_ends_the_work)
{
	size_t n;
	const struct export_format *f = export_formats(&n);
	atomic_bool is_cancelled = true;

	open_world(5000);
	context.cancel = &is_cancelled;
	for (size_t i = 0; i < n; i++) {
		struct err err = {0};
		struct query *own = NULL;
		char *text = NULL;
		size_t len;
		FILE *out = open_memstream(&text, &len);
		int r = query_create(&context, &filter, &own, &err);

		if (r == 0)
			r = export_write(&f[i], own, &options, out, &err);
		CHECK_EQ(r, can_write(&f[i]) ? -ERR_CANCELLED : -ERR_REFUSED);
		query_destroy(own);
		fclose(out);
		free(text);
	}
	close_world();
}

TEST(options_take_what_is_valid_and_name_the_rest)
{
	struct export_options o = {0};
	struct err err = {0};

	CHECK_EQ(export_set(&o, "cost", "temporary", &err), 1);
	CHECK_EQ(o.cost, EXPORT_TEMPORARY);
	CHECK_EQ(export_set(&o, "inverted", "true", &err), 1);
	CHECK(o.is_inverted);
	CHECK_EQ(export_set(&o, "min_share", "0.5%", &err), 1);
	CHECK(o.min_share > 0.0049 && o.min_share < 0.0051);
	CHECK_EQ(export_set(&o, "size_min", "1", &err), 0);
	CHECK_ERR(export_set(&o, "cost", "", &err), ERR_USAGE);
	CHECK_ERR(export_set(&o, "inverted", "maybe", &err), ERR_USAGE);
	CHECK(strstr(err.text, "inverted: 'maybe'"));
	CHECK_ERR(export_set(&o, "min_share", "101", &err), ERR_USAGE);
	CHECK_ERR(export_set(&o, "min_share", "nan", &err), ERR_USAGE);
	CHECK_ERR(export_set(&o, "min_share", "1x", &err), ERR_USAGE);
	CHECK_NULL(export_find("xls"));
	CHECK_STR_EQ(export_find("flamegraph.pl")->name, "collapsed");
	CHECK_STR_EQ(export_find("flamegraph")->name, "flamegraph-svg");
}

TEST(heaptrack_lines_are_the_rows)
{
	size_t len, n_allocated = 0, n_freed = 0;
	char *text, *save = NULL;
	uint64_t now = 0;

	open_world(5000);
	text = write_to_memory(export_find("heaptrack"), &len);
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		n_allocated += line[0] == '+';
		n_freed += line[0] == '-';
		if (line[0] == 'c') {
			uint64_t ms = strtoull(line + 2, NULL, 16);

			CHECK(ms > now || now == 0);
			now = ms;
		}
	}
	CHECK_EQ(n_allocated, world.n_rows);
	for (size_t i = 0; i < world.n_rows; i++)
		n_freed -= world.row[i].free_ns != WORLD_NEVER;
	CHECK_EQ(n_freed, 0);
	free(text);
	close_world();
}

TEST(tree_order_cuts_and_sorts)
{
	struct query_tree tree = {0};
	struct tree_order all, some;
	struct err err = {0};
	uint64_t root;

	open_world(5000);
	CHECK_OK(query_tree(q, QUERY_TOP_DOWN, &tree, &err));
	root = tree.node[0].cost.leaked_bytes;
	CHECK_OK(tree_order(&tree, EXPORT_LEAKED, 0, SIZE_MAX, &all, &err));
	CHECK_EQ(all.n_cut, 0);
	CHECK_EQ(all.cut_cost, 0);
	for (uint32_t i = 0; (i = tree_order_next(&tree, i)) != 0;) {
		uint32_t next = tree.node[i].next_sibling;

		CHECK(tree.node[i].cost.leaked_bytes > 0);
		CHECK(!next || tree.node[next].cost.leaked_bytes <= tree.node[i].cost.leaked_bytes);
	}
	CHECK_OK(tree_order(&tree, EXPORT_LEAKED, 0.01, SIZE_MAX, &some, &err));
	CHECK(some.n_kept < all.n_kept);
	CHECK_EQ(some.n_kept + some.n_cut, all.n_kept);
	CHECK(some.min_cost >= root / 100);
	query_tree_fini(&tree);
	CHECK_OK(query_tree(q, QUERY_TOP_DOWN, &tree, &err));
	CHECK_OK(tree_order(&tree, EXPORT_LEAKED, 0, 20, &some, &err));
	CHECK(some.n_kept <= 20 && some.n_kept > 1);
	query_tree_fini(&tree);
	close_world();
}

TEST(proto_bytes_are_those_of_the_specification)
{
	/* field 1 = 150; field 2 = "testing"; field 3 = {field 1 = 150} */
	static const uint8_t expected[] = {0x08, 0x96, 0x01, 0x12, 0x07, 't',  'e',  's', 't',
					   'i',  'n',  'g',  0x1a, 0x03, 0x08, 0x96, 0x01};
	struct proto p = {0}, inner = {0};
	struct err err = {0};

	proto_u64(&p, 1, 150);
	proto_u64(&p, 9, 0); /* left out */
	proto_bytes(&p, 2, "testing", 7);
	proto_u64(&inner, 1, 150);
	proto_message(&p, 3, &inner);
	CHECK_EQ(p.n, sizeof(expected));
	CHECK_MEM_EQ(p.byte, expected, sizeof(expected));
	proto_clear(&p);
	proto_u64(&p, 1, UINT64_MAX);
	CHECK_EQ(p.n, 11);
	CHECK_OK(proto_check(&p, &err));
	proto_fini(&inner);
	proto_fini(&p);
}

TEST(slots_are_used_again_also_from_the_file)
{
	const uint64_t n = 5ull * SLOTS_CHUNK / 2;
	struct slots s;
	struct err err = {0};
	uint64_t slot, sum = 0;

	slots_init(&s, "/tmp");
	for (uint64_t i = 0; i < n; i++) {
		CHECK_OK(slots_take(&s, &slot, &err));
		CHECK_EQ(slot, i);
	}
	for (uint64_t i = 0; i < n; i++)
		CHECK_OK(slots_give(&s, i, &err));
	CHECK(s.n_spilled > 0);
	for (uint64_t i = 0; i < n; i++) {
		CHECK_OK(slots_take(&s, &slot, &err));
		sum += slot;
	}
	CHECK_EQ(s.n, n); /* none is new */
	CHECK_EQ(sum, n * (n - 1) / 2); /* and none is given out twice */
	slots_fini(&s);
}

TEST(gzip_out_is_read_back_by_zlib)
{
	static char plain[300000], packed[400000], back[sizeof(plain)];
	FILE *out = fmemopen(packed, sizeof(packed), "w"), *gzip = NULL;
	z_stream z = {0};
	struct err err = {0};

	for (size_t i = 0; i < sizeof(plain); i++)
		plain[i] = (char)(i * i >> 7);
	CHECK_OK(gzip_out_open(out, &gzip, &err));
	CHECK_EQ(fwrite(plain, 1, sizeof(plain), gzip), sizeof(plain));
	CHECK_OK(gzip_out_close(gzip, out, &err));
	fclose(out);
	z.next_in = (Bytef *)packed;
	z.avail_in = sizeof(packed);
	z.next_out = (Bytef *)back;
	z.avail_out = sizeof(back);
	CHECK_EQ(inflateInit2(&z, 15 + 16), Z_OK);
	CHECK_EQ(inflate(&z, Z_FINISH), Z_STREAM_END);
	inflateEnd(&z);
	CHECK_MEM_EQ(plain, back, sizeof(plain));
}
