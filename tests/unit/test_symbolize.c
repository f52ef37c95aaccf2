/* Names for the codes of a store, with a copy of this very program as the module. */
#include "harness/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "open/symbolize.h"
#include "store/store_write.h"

extern char __executable_start; /* of the linker: address 0 of the ELF file */

__attribute__((noinline)) int symbolize_first(int n);
__attribute__((noinline)) int symbolize_second(int n);

int symbolize_first(int n)
{
	return n * 3 + 1;
}

int symbolize_second(int n)
{
	return n * 5 + 2;
}

static uint64_t after(int (*f)(int))
{
	return (uint64_t)((uintptr_t)f - (uintptr_t)&__executable_start) + 1;
}

static int copy_program(const char *to)
{
	char command[700];

	snprintf(command, sizeof(command), "cp /proc/%d/exe '%s'", getpid(), to);
	return system(command);
}

/* One module, which lies at address 0, and a code in each of the two functions. */
static int write_store(const char *path, const char *module_path, struct err *err)
{
	static const struct store_identity identity = {{7}, 1, 1};
	static const struct store_node nodes[] = {{0}};
	static const struct store_stack stacks[] = {{0}};
	static const struct store_thread threads[] = {{.tid = 1}};
	static const struct store_bucket buckets[16] = {{0}};
	const struct store_facts facts = {0};
	const struct store_module module = {.base = 0, .path = 1};
	const struct store_code codes[] = {{.module = STORE_NO_MODULE},
					   {.addr = after(symbolize_first), .module = 0},
					   {.addr = after(symbolize_second), .module = 0}};
	char bytes[600] = "";
	const uint64_t ends[] = {0, 1 + strlen(module_path)};
	struct store_writer *w = NULL;
	const struct {
		enum store_table table;
		const void *item;
		size_t n;
	} all[] = {
		{STORE_FACTS, &facts, 1},
		{STORE_STRING_BYTES, bytes, 2 + strlen(module_path)},
		{STORE_STRING_ENDS, ends, 2},
		{STORE_MODULES, &module, 1},
		{STORE_THREADS, threads, 1},
		{STORE_CODES, codes, ARRAY_LEN(codes)},
		{STORE_NODES, nodes, 1},
		{STORE_STACKS, stacks, 1},
		{STORE_BUCKETS, buckets, ARRAY_LEN(buckets)},
	};
	int r = store_writer_create(path, &identity, &w, err);

	snprintf(bytes + 1, sizeof(bytes) - 1, "%s", module_path);
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(all); i++)
		r = store_writer_put_table(w, all[i].table, all[i].item, all[i].n, err);
	if (r == 0)
		r = store_writer_commit(w, 0, err);
	store_writer_destroy(w);
	return r;
}

static const char *name_of(struct frames *f, uint32_t code)
{
	struct err err = {0};
	size_t n;

	CHECK_OK(frames_need(f, &code, 1, &err));
	return frames_of_code(f, code, &n)->function;
}

/* Opening a module anew for each lot of names made naming a large program 30 times dearer. So a
 * module that is open needs its file no more. */
TEST(symbolize_opens_a_module_once)
{
	char folder[] = "/tmp/test_symbolize.XXXXXX", module[100], path[100];
	const char *debug_path[] = {module};
	struct symbolize_options options = {.debug_path = debug_path, .n_debug_paths = 1};
	struct symbolize *s = NULL;
	struct frames *frames = NULL;
	struct store *store = NULL;
	struct err err = {0};

	CHECK(mkdtemp(folder));
	snprintf(module, sizeof(module), "%s/program", folder);
	snprintf(path, sizeof(path), "%s/store", folder);
	CHECK_EQ(copy_program(module), 0);
	CHECK_EQ(symbolize_first(symbolize_second(1)), 22);
	CHECK_OK(write_store(path, module, &err));
	CHECK_OK(store_open(path, &store, &err));
	CHECK_OK(frames_open(store, NULL, &frames, &err));
	CHECK_OK(symbolize_create("/nonexistent", store, &options, &s, &err));
	frames_set_resolver(frames, symbolize_resolve, s);
	CHECK_STR_EQ(name_of(frames, 1), "symbolize_first");
	CHECK_EQ(unlink(module), 0);
	CHECK_STR_EQ(name_of(frames, 2), "symbolize_second");
	frames_close(frames);
	symbolize_destroy(s);
	store_close(store);
	unlink(path);
	rmdir(folder);
}
